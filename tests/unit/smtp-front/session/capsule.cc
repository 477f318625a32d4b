// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/smtp-front/handover/capsule.h"

#include "tests/lib/guarded.hh"

#include <arpa/inet.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using bytes = std::vector<uint8_t>;
using capsule_pointer = std::unique_ptr<capsule>;

static capsule_pointer empty_capsule()
{
	return std::make_unique<capsule>();
}

static bytes encode(const capsule &of)
{
	bytes out(CAPSULE_SIZE_MAX);
	size_t size = 0;
	REQUIRE(capsule_encode(&of, out.data(), &size) == 0);
	REQUIRE(size <= out.size());
	out.resize(size);
	return out;
}

static int decode(const bytes &from, capsule *ret_capsule)
{
	const guarded input(from);
	return capsule_decode(input.data(), input.size(), ret_capsule);
}

static int status_of(const bytes &from)
{
	const auto out = empty_capsule();
	return decode(from, out.get());
}

template <size_t Size> static void set(char (&text)[Size], const std::string &value)
{
	if (value.size() >= Size)
		throw std::runtime_error("too long: " + value);
	memcpy(text, value.c_str(), value.size() + 1);
}

static dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip result = {};
	if (dnsblv6_ip_parse(text.c_str(), &result) != 0)
		throw std::runtime_error("no address: " + text);
	return result;
}

// A session as an edge hands it over.
static capsule_pointer trusted()
{
	auto c = empty_capsule();
	c->kind = CAPSULE_TRUSTED;
	c->facts.id = 0x5f0c3a9b1e42;
	c->facts.client_ip = ip("192.0.2.7");
	c->facts.client_port = 40112;
	c->facts.local_ip = ip("192.0.2.25");
	c->facts.local_port = 25;
	c->facts.accepted_at_ms = -1;
	c->queued_at_us = UINT64_MAX;
	c->facts.waited_ms = 2000;
	c->facts.dns_ms = 31;
	c->facts.dialogue_ms = 77;
	c->facts.bytes_in = 1;
	c->facts.bytes_out = 2;
	c->facts.edge_cpu_us = 3;
	c->facts.refused_count = 4;
	c->facts.is_xclient = true;
	c->facts.has_verdict = true;
	c->facts.action = JUDGE_PREPEND;
	c->facts.verdict = DNSBLV6_UNKNOWN;
	c->facts.score = -5;
	set(c->zones, "bl6.example,bl.example");
	set(c->header, "score=-5 zones=bl6.example,bl.example");
	set(c->tls_protocol, "TLSv1.3");
	set(c->tls_cipher, "TLS_AES_256_GCM_SHA384");
	set(c->tls_sni, "mx.example.org");
	c->dialogue.state = DIALOGUE_AT_RCPT_ASKED;
	set(c->dialogue.helo, "mail.example.net");
	c->dialogue.is_esmtp = true;
	c->dialogue.is_tls = true;
	set(c->dialogue.envelope.sender, "mary@example.net");
	c->dialogue.envelope.size_bytes = UINT64_MAX;
	c->dialogue.envelope.body = ENVELOPE_8BITMIME;
	c->dialogue.envelope.is_utf8 = true;
	c->dialogue.envelope.ret = ENVELOPE_RET_FULL;
	set(c->dialogue.envelope.envid, "QQ+2B314159");
	c->dialogue.recipient_count = 1;
	c->dialogue.refused_count = 2;
	c->dialogue.mail_count = 3;
	c->dialogue.error_count = 4;
	c->dialogue.command_count = 5;
	c->dialogue.junk_count = 2;
	set(c->recipient.address, "jürgen@example.org");
	c->recipient.notify = ENVELOPE_NOTIFY_SUCCESS | ENVELOPE_NOTIFY_DELAY;
	set(c->recipient.orcpt, "rfc822;john@example.org");
	const std::string unread = std::string("RCPT TO:<a@example.org>\r\n\0\xff", 27);
	memcpy(c->unread, unread.data(), unread.size());
	c->unread_size = unread.size();
	return c;
}

static capsule_pointer connected()
{
	auto c = empty_capsule();
	c->kind = CAPSULE_CONNECTED;
	c->facts.client_ip = ip("2001:db8::7");
	c->facts.local_ip = ip("2001:db8::25");
	c->facts.has_verdict = true;
	return c;
}

// ---- the vectors of CAPSULE.md ----

struct sample {
	std::string name;
	std::map<std::string, std::string> fields;
	bytes wire;
};

static void add_hex(const std::string &line, bytes *ret_wire)
{
	std::istringstream groups(line);
	for (std::string group; groups >> group;) {
		for (size_t i = 0; i < group.size(); i += 2)
			ret_wire->push_back(
				static_cast<uint8_t>(std::stoul(group.substr(i, 2), nullptr, 16)));
	}
}

static std::vector<sample> samples()
{
	std::ifstream in("integration/mail/smtp-front/CAPSULE.md");
	std::vector<sample> found;
	bool is_inside = false;
	bool is_hex = false;
	for (std::string line; std::getline(in, line);) {
		if (line == "```vectors" || (is_inside && line == "```")) {
			is_inside = line != "```";
		} else if (is_inside && line.rfind("vector ", 0) == 0) {
			found.push_back({ line.substr(7), {}, {} });
			is_hex = false;
		} else if (is_inside && line == "  bytes") {
			is_hex = true;
		} else if (is_inside && is_hex) {
			add_hex(line, &found.back().wire);
		} else if (is_inside && !line.empty()) {
			const auto blank = line.find(' ', 2);
			found.back().fields[line.substr(2, blank - 2)] = line.substr(blank + 1);
		}
	}
	if (found.empty())
		throw std::runtime_error("no vectors: run in the top directory");
	return found;
}

// Fields that were read, so that one that nobody knows is noticed.
class fields
{
      public:
	explicit fields(std::map<std::string, std::string> values) : values_(std::move(values))
	{
	}
	std::string text(const std::string &name)
	{
		const auto at = values_.find(name);
		if (at == values_.end())
			return "";
		std::string value = at->second;
		values_.erase(at);
		return value;
	}
	template <typename Number> void number(const std::string &name, Number &ret, int base = 10)
	{
		const auto value = text(name);
		if (!value.empty())
			ret = static_cast<Number>(std::stoull(value, nullptr, base));
	}
	bool empty() const
	{
		return values_.empty();
	}

      private:
	std::map<std::string, std::string> values_;
};

static std::string unescaped(const std::string &text)
{
	std::string out;
	for (size_t i = 0; i < text.size(); i++) {
		if (text[i] == '\\')
			out += text[++i] == 'r' ? '\r' : '\n';
		else
			out += text[i];
	}
	return out;
}

static void read_place(const std::string &text, dnsblv6_ip &ret_ip, uint16_t &ret_port)
{
	const auto blank = text.find(' ');
	ret_ip = ip(text.substr(0, blank));
	ret_port = static_cast<uint16_t>(std::stoul(text.substr(blank + 1)));
}

static void read_numbers(fields &f, capsule &c)
{
	int kind = 0;
	int action = 0;
	int verdict = 0;
	f.number("kind", kind);
	f.number("action", action);
	f.number("verdict", verdict);
	c.kind = static_cast<capsule_kind>(kind);
	c.facts.action = static_cast<judge_action>(action);
	c.facts.verdict = static_cast<dnsblv6_verdict>(verdict);
	f.number("session", c.facts.id, 16);
	f.number("accepted-ms", c.facts.accepted_at_ms);
	f.number("queued-us", c.queued_at_us);
	f.number("waited-ms", c.facts.waited_ms);
	f.number("dns-ms", c.facts.dns_ms);
	f.number("dialogue-ms", c.facts.dialogue_ms);
	f.number("bytes-in", c.facts.bytes_in);
	f.number("bytes-out", c.facts.bytes_out);
	f.number("cpu-us", c.facts.edge_cpu_us);
	f.number("refused", c.facts.refused_count);
	f.number("score", c.facts.score);
	f.number("notify", c.recipient.notify);
}

static void read_dialogue(fields &f, dialogue &d)
{
	int state = 0;
	int body = 0;
	int ret = 0;
	f.number("state", state);
	f.number("body", body);
	f.number("ret", ret);
	d.state = static_cast<dialogue_state>(state);
	d.envelope.body = static_cast<envelope_body>(body);
	d.envelope.ret = static_cast<envelope_ret>(ret);
	f.number("recipients", d.recipient_count);
	f.number("recipients-refused", d.refused_count);
	f.number("mails", d.mail_count);
	f.number("errors", d.error_count);
	f.number("commands", d.command_count);
	f.number("junk", d.junk_count);
	f.number("size-said", d.envelope.size_bytes);
	set(d.helo, f.text("helo"));
	set(d.envelope.sender, f.text("sender"));
	set(d.envelope.envid, f.text("envid"));
}

static void read_flags(fields &f, capsule &c)
{
	const auto flags = " " + f.text("flags") + " ";
	const auto has = [&](const char *flag) {
		return flags.find(std::string(" ") + flag + " ") != std::string::npos;
	};
	c.facts.is_xclient = has("xclient");
	c.facts.is_exempt = has("exempt");
	c.facts.has_verdict = has("verdict");
	c.dialogue.is_esmtp = has("esmtp");
	c.dialogue.is_tls = has("tls");
	c.dialogue.envelope.is_utf8 = has("utf8");
}

static capsule_pointer capsule_of(const sample &from)
{
	auto c = empty_capsule();
	fields f(from.fields);
	read_numbers(f, *c);
	read_dialogue(f, c->dialogue);
	read_flags(f, *c);
	read_place(f.text("client"), c->facts.client_ip, c->facts.client_port);
	read_place(f.text("local"), c->facts.local_ip, c->facts.local_port);
	set(c->recipient.address, f.text("recipient"));
	set(c->recipient.orcpt, f.text("orcpt"));
	set(c->tls_protocol, f.text("tls-protocol"));
	set(c->tls_cipher, f.text("tls-cipher"));
	set(c->tls_sni, f.text("tls-sni"));
	set(c->zones, f.text("zones"));
	set(c->header, f.text("header"));
	const auto unread = unescaped(f.text("unread"));
	memcpy(c->unread, unread.data(), unread.size());
	c->unread_size = unread.size();
	REQUIRE(f.empty());
	return c;
}

TEST_CASE("a capsule is what CAPSULE.md says, in both directions", "[front][capsule]")
{
	for (const auto &s : samples()) {
		CAPTURE(s.name);
		const auto wanted = capsule_of(s);
		CHECK(encode(*wanted) == s.wire);
		const auto found = empty_capsule();
		REQUIRE(decode(s.wire, found.get()) == 0);
		CHECK(memcmp(found.get(), wanted.get(), sizeof(capsule)) == 0);
	}
	CHECK(samples().size() == 3);
}

// ---- there and back ----

TEST_CASE("every member of a capsule comes out as it went in", "[front][capsule]")
{
	const auto sent = trusted();
	const auto found = empty_capsule();
	REQUIRE(decode(encode(*sent), found.get()) == 0);
	// Both were zero before their members were set.
	CHECK(memcmp(found.get(), sent.get(), sizeof(capsule)) == 0);
	CHECK(encode(*found) == encode(*sent));
}

TEST_CASE("withheld offers are kept, and a capsule that uses one is refused", "[front][capsule]")
{
	const auto sent = trusted();
	auto &envelope = sent->dialogue.envelope;
	const unsigned withheld = GENERATE(1U, 2U, 4U, 7U);
	sent->dialogue.withheld = withheld;
	envelope.body = ENVELOPE_8BITMIME;
	envelope.ret = ENVELOPE_RET_FULL;
	bytes wire(CAPSULE_SIZE_MAX);
	size_t size = 0;
	envelope.is_utf8 = true;
	CHECK(capsule_encode(sent.get(), wire.data(), &size) == SEAL_EVALUE);
	envelope = {};
	sent->recipient = {};
	set(sent->recipient.address, "john@example.org");
	const auto found = empty_capsule();
	REQUIRE(decode(encode(*sent), found.get()) == 0);
	CHECK(found->dialogue.withheld == withheld);
	sent->recipient.notify = ENVELOPE_NOTIFY_NEVER;
	CHECK(capsule_encode(sent.get(), wire.data(), &size) ==
	      ((withheld & ENVELOPE_EXTENSION_DSN) != 0 ? SEAL_EVALUE : 0));
}

TEST_CASE("a connection of which nothing was said is a capsule too", "[front][capsule]")
{
	const auto sent = connected();
	const auto found = empty_capsule();
	REQUIRE(decode(encode(*sent), found.get()) == 0);
	CHECK(memcmp(found.get(), sent.get(), sizeof(capsule)) == 0);
}

TEST_CASE("the longest capsule has room", "[front][capsule]")
{
	const auto c = trusted(); // texts get longer only
	const std::string domain = std::string(63, 'd') + "." + std::string(63, 'e') + "." +
				   std::string(63, 'f') + ".";
	set(c->dialogue.helo, std::string(255, 'h'));
	set(c->dialogue.envelope.sender, std::string(60, 's') + "@" + domain.substr(0, 190));
	set(c->dialogue.envelope.envid, std::string(100, 'e'));
	set(c->recipient.address, std::string(60, 'r') + "@" + domain.substr(0, 190));
	set(c->recipient.orcpt, "rfc822;" + std::string(493, 'o'));
	set(c->tls_protocol, std::string(15, 'p'));
	set(c->tls_cipher, std::string(63, 'c'));
	set(c->tls_sni, std::string(255, 's'));
	set(c->zones, std::string(JUDGE_ZONES_MAX, 'z'));
	set(c->header, std::string(JUDGE_HEADER_MAX, 'h'));
	c->unread_size = CAPSULE_UNREAD_MAX;
	memset(c->unread, 0xff, CAPSULE_UNREAD_MAX);
	const auto found = empty_capsule();
	REQUIRE(decode(encode(*c), found.get()) == 0);
	CHECK(memcmp(found.get(), c.get(), sizeof(capsule)) == 0);
}

// ---- what is refused ----

TEST_CASE("a capsule that is cut anywhere is refused", "[front][capsule]")
{
	const auto wire = encode(GENERATE(true, false) ? *trusted() : *connected());
	for (size_t size = 0; size < wire.size(); size++) {
		CAPTURE(size);
		CHECK(status_of(bytes(wire.begin(), wire.begin() + static_cast<long>(size))) ==
		      SEAL_EBAD);
	}
	auto longer = wire;
	longer.push_back(0);
	CHECK(status_of(longer) == SEAL_EBAD);
	longer.resize(CAPSULE_SIZE_MAX + 1);
	CHECK(status_of(longer) == SEAL_EBAD);
}

TEST_CASE("a capsule of which any single bit is altered is refused", "[front][capsule]")
{
	auto wire = encode(GENERATE(true, false) ? *trusted() : *connected());
	const auto out = empty_capsule();
	unsigned accepted = 0;
	for (size_t i = 0; i < wire.size() * 8; i++) {
		wire[i / 8] ^= static_cast<uint8_t>(1u << i % 8);
		accepted += capsule_decode(wire.data(), wire.size(), out.get()) == 0;
		wire[i / 8] ^= static_cast<uint8_t>(1u << i % 8);
	}
	CHECK(accepted == 0);
	CHECK(status_of(wire) == 0);
}

// CRC-32 the slow way, so that the code's own does not prove itself.
static void sign(bytes &wire)
{
	memset(&wire[12], 0, 4);
	uint32_t sum = 0xffffffff;
	for (const uint8_t byte : wire) {
		sum ^= byte;
		for (int i = 0; i < 8; i++)
			sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
	}
	sum = ~sum;
	for (unsigned i = 0; i < 4; i++)
		wire[12 + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
}

TEST_CASE("a capsule of another version is told from a damaged one", "[front][capsule]")
{
	auto wire = encode(*trusted());
	wire[5] = 2;
	CHECK(status_of(wire) == SEAL_EBAD);
	sign(wire);
	CHECK(status_of(wire) == SEAL_EVERSION);
}

TEST_CASE("a signed capsule with a state that no edge reaches is refused", "[front][capsule]")
{
	struct change {
		size_t offset;
		uint8_t value;
	};
	const auto [offset, value] = GENERATE(
		change{ 7, 3 }, change{ 7, 2 }, change{ 7, 0 }, change{ 6, 1 }, change{ 60, 1 },
		change{ 63, 0x5e + 64 }, change{ 63, 0x7e - 32 + 32 }, change{ 63, 0x1d },
		change{ 63, 0x17 }, change{ 136, 5 }, change{ 137, 4 }, change{ 138, 5 },
		change{ 138, 3 }, change{ 138, 13 }, change{ 138, 255 }, change{ 139, 2 },
		change{ 140, 3 }, change{ 141, 3 }, change{ 141, 16 }, change{ 142, 1 },
		change{ 143, 1 }, change{ 144, 255 }, change{ 164, 1 }, change{ 167, 6 },
		change{ 176, 1 }, change{ 184, 1 }, change{ 192, 255 }, change{ 193, 17 },
		change{ 194, 0 }, change{ 194, '\n' }, change{ 194, ' ' });
	CAPTURE(offset, value);
	auto wire = encode(*trusted());
	REQUIRE(wire[offset] != value);
	wire[offset] = value;
	sign(wire);
	CHECK(status_of(wire) == SEAL_EVALUE);
}

TEST_CASE("any byte that is altered and signed gives what an edge could have made, or nothing",
	  "[front][capsule]")
{
	const auto whole = encode(*trusted());
	const auto out = empty_capsule();
	for (size_t i = 16; i < whole.size(); i++) {
		for (const int value : { 0, 1, 0x0a, 0x20, 0x40, 0x7f, 0x80, 0xff }) {
			auto wire = whole;
			wire[i] = static_cast<uint8_t>(value);
			sign(wire);
			if (capsule_decode(wire.data(), wire.size(), out.get()) == 0 &&
			    encode(*out) != wire)
				FAIL("byte " << i << " is " << value);
		}
	}
	SUCCEED();
}

// And nothing is written.
static void check_refused(const capsule &of)
{
	bytes out(CAPSULE_SIZE_MAX, 0x5a);
	const auto untouched = out;
	size_t size = 77;
	CHECK(capsule_encode(&of, out.data(), &size) == SEAL_EVALUE);
	CHECK(size == 77);
	CHECK(out == untouched);
}

TEST_CASE("what no edge makes is not encoded", "[front][capsule]")
{
	const auto c = trusted();
	SECTION("unread bytes beyond the room for them")
	{
		c->unread_size = CAPSULE_UNREAD_MAX + 1;
		check_refused(*c);
	}
	SECTION("a text without an end")
	{
		memset(c->header, 'x', sizeof(c->header));
		check_refused(*c);
	}
	SECTION("a header with a line feed")
	{
		set(c->header, "score=1\nX-Other: 1");
		check_refused(*c);
	}
	SECTION("a dialogue that waits for nothing")
	{
		c->dialogue.state = DIALOGUE_AT_RCPT;
		check_refused(*c);
	}
	SECTION("a recipient that is no address")
	{
		set(c->recipient.address, "john @example.org");
		check_refused(*c);
	}
	SECTION("a recipient in UTF-8 without SMTPUTF8")
	{
		c->dialogue.envelope.is_utf8 = false;
		check_refused(*c);
	}
	SECTION("facts of TLS without TLS")
	{
		c->dialogue.is_tls = false;
		check_refused(*c);
	}
	SECTION("no kind")
	{
		c->kind = static_cast<capsule_kind>(0);
		check_refused(*c);
	}
}

TEST_CASE("parts of a verdict that there is not are not encoded", "[front][capsule]")
{
	const auto c = trusted();
	c->facts.has_verdict = false;
	check_refused(*c);
}

TEST_CASE("a connection on which something was said is no connected capsule", "[front][capsule]")
{
	const auto c = connected();
	SECTION("HELO")
	{
		c->dialogue.state = DIALOGUE_AT_HELO;
		set(c->dialogue.helo, "mail.example.net");
		check_refused(*c);
	}
	SECTION("TLS")
	{
		c->dialogue.is_tls = true;
		check_refused(*c);
	}
	SECTION("bytes")
	{
		c->unread_size = 1;
		check_refused(*c);
	}
	SECTION("a recipient")
	{
		set(c->recipient.address, "john@example.org");
		check_refused(*c);
	}
}
