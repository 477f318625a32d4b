// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/mail-proxy/setup/proxysetup.h"
#include "tests/lib/parsed.hh"

#include <catch2/catch.hpp>

#include <string>

namespace
{

using parsed = parsed_as<proxysetup, proxysetup_parse, proxysetup_deinit>;

std::string reason_of(const std::string &text)
{
	const parsed file(text);
	return file.status == 0 ? "" : file.error.reason;
}

const std::string LISTEN = "listener:\n  - listen: 127.0.0.1@25\n";
const std::string HOP = "    next-hop: 127.0.0.1@10025\n";

} // namespace

TEST_CASE("listeners are read with what is usual", "[mail-proxy][setup]")
{
	const parsed file(LISTEN + HOP +
			  "  - listen: 127.0.0.1@110\n    protocol: pop3\n    next-hop: /run/pop3\n"
			  "  - listen: 127.0.0.1@10025\n    mode: filter\n"
			  "    next-hop: 127.0.0.1@10026\n"
			  "  - listen: \"::@2525\"\n    mode: transparent\n    proxy-to: v2\n");
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	REQUIRE(file.setup.listener_count == 4);
	const proxysetup_listener *listeners = file.setup.listeners;
	CHECK(listeners[0].speech == PROXY_SMTP);
	CHECK(listeners[0].mode == PROXY_PLAIN);
	CHECK(listeners[0].tls == PROXY_TLS_PASS);
	CHECK(std::string(listeners[0].next_hop.text) == "127.0.0.1@10025");
	CHECK(listeners[1].speech == PROXY_POP3);
	CHECK(std::string(listeners[1].next_hop.text) == "/run/pop3");
	CHECK(listeners[2].tls == PROXY_TLS_NONE);
	CHECK(listeners[3].proxy_to == 2);
	CHECK(file.setup.proxy.processes > 0);
}

TEST_CASE("what does not go together is refused", "[mail-proxy][setup]")
{
	CHECK(reason_of("proxy:\n    processes: 1\n") == "no listener is given");
	CHECK(reason_of(LISTEN).find("\"next-hop\" is not given") != std::string::npos);
	CHECK(reason_of(LISTEN + HOP + "    mode: transparent\n").find("own destination") !=
	      std::string::npos);
	CHECK(reason_of(LISTEN + HOP + "    tls: own\n").find("\"certificates\"") !=
	      std::string::npos);
	CHECK(reason_of(LISTEN + HOP + "    mode: filter\n    protocol: pop3\n")
		      .find("SMTP and LMTP") != std::string::npos);
	CHECK(reason_of(LISTEN + HOP + "  - listen: 127.0.0.1@25\n" + HOP) ==
	      "place is given twice");
	CHECK_FALSE(reason_of(LISTEN + HOP + "    protocol: imap\n").empty());
	CHECK_FALSE(reason_of(LISTEN + HOP + "scan:\n    on-found: reject\n").empty());
}
