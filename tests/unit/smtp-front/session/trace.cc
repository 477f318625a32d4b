// SPDX-License-Identifier: GPL-3.0-or-later
// The Received header.
#include "integration/mail/smtp-front/worker/trace.h"

#include "lib/smtp/envelope.h"
#include "tests/lib/has.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>

namespace
{

struct trace simple(const char *ip = "192.0.2.7")
{
	struct trace trace = {};
	trace.helo = "mail.example.net";
	REQUIRE(dnsblv6_ip_parse(ip, &trace.facts.client_ip) == 0);
	trace.hostname = "mx.example.org";
	trace.tls_protocol = "";
	trace.tls_cipher = "";
	trace.is_esmtp = true;
	trace.facts.id = 0x5f0c3a9b1e42;
	trace.mail_number = 2;
	trace.now_s = 1795322574;
	return trace;
}

std::string made(const struct trace &trace)
{
	char text[TRACE_MAX];
	const size_t size = trace_make(&trace, text);
	REQUIRE(size < sizeof(text));
	REQUIRE(size == std::strlen(text));
	return text;
}

} // namespace

TEST_CASE("a header says from whom, by whom, with what, for whom and when", "[front][trace]")
{
	struct trace trace = simple();
	trace.recipient = "john@example.org";
	CHECK(made(trace) == "Received: from mail.example.net ([192.0.2.7])\r\n"
			     "\tby mx.example.org (smtp-front) with ESMTP id 5f0c3a9b1e42.2\r\n"
			     "\tfor <john@example.org>;\r\n"
			     "\tSun, 22 Nov 2026 04:42:54 +0000\r\n");
}

TEST_CASE("of several recipients none is named", "[front][trace]")
{
	CHECK(made(simple("2001:db8::7")) ==
	      "Received: from mail.example.net ([IPv6:2001:db8::7])\r\n"
	      "\tby mx.example.org (smtp-front) with ESMTP id 5f0c3a9b1e42.2;\r\n"
	      "\tSun, 22 Nov 2026 04:42:54 +0000\r\n");
}

TEST_CASE("TLS is told with its protocol and cipher", "[front][trace]")
{
	struct trace trace = simple();
	trace.tls_protocol = "TLSv1.3";
	trace.tls_cipher = "TLS_AES_256_GCM_SHA384";
	CHECK(has(made(trace), "\r\n\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384)\r\n"));
	CHECK(has(made(trace), "with ESMTPS id"));
}

TEST_CASE("the protocol is one of RFC 3848 and RFC 6531", "[front][trace]")
{
	struct trace trace = simple();
	trace.is_esmtp = false;
	CHECK(has(made(trace), " with SMTP id"));
	trace.is_utf8 = true;
	CHECK(has(made(trace), " with UTF8SMTP id"));
	trace.tls_protocol = "TLSv1.2";
	CHECK(has(made(trace), " with UTF8SMTPS id"));
}

TEST_CASE("the longest texts fit, in lines that RFC 5322 allows", "[front][trace]")
{
	struct trace trace = simple("2001:db8:1111:2222:3333:4444:5555:6666");
	const std::string helo(ENVELOPE_HELO_MAX, 'h');
	const std::string hostname(253, 'm');
	const std::string cipher(64, 'c');
	const std::string recipient(ENVELOPE_ADDRESS_MAX, 'r');
	trace.helo = helo.c_str();
	trace.hostname = hostname.c_str();
	trace.tls_protocol = "TLSv1.3";
	trace.tls_cipher = cipher.c_str();
	trace.recipient = recipient.c_str();
	trace.facts.id = UINT64_MAX;
	trace.mail_number = 4294967295U;
	const std::string text = made(trace);
	for (const std::string *part : { &helo, &hostname, &cipher, &recipient })
		CHECK(has(text, *part));
	for (size_t at = 0; at < text.size();) {
		const size_t end = text.find("\r\n", at);
		REQUIRE(end != std::string::npos);
		CHECK(end - at <= 998);
		at = end + 2;
	}
}
