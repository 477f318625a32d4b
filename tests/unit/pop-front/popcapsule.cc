// SPDX-License-Identifier: GPL-3.0-or-later
// A session on its way from an edge to a worker: whole, or refused.
#include "integration/mail/pop-front/handover/popcapsule.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using bytes = std::vector<uint8_t>;
using capsule_pointer = std::unique_ptr<popcapsule>;

template <size_t Size> void fill(char (&text)[Size], const std::string &value)
{
	if (value.size() >= Size)
		throw std::runtime_error("too long: " + value);
	memset(text, 0, Size);
	memcpy(text, value.data(), value.size());
}

dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip result = {};
	if (dnsblv6_ip_parse(text.c_str(), &result) != 0)
		throw std::runtime_error("no address: " + text);
	return result;
}

// A session as an edge hands it over.
capsule_pointer logged_in()
{
	auto c = std::make_unique<popcapsule>();
	c->facts.id = 0x5f0c3a9b1e42;
	c->facts.client_ip = ip("192.0.2.7");
	c->facts.local_ip = ip("2001:db8::25");
	c->facts.client_port = 40112;
	c->facts.local_port = 995;
	c->facts.refused_count = 1;
	c->facts.accepted_at_ms = -1;
	c->facts.has_verdict = true;
	c->facts.action = JUDGE_PREPEND;
	c->facts.verdict = DNSBLV6_UNKNOWN;
	c->facts.score = -5;
	c->facts.bytes_in = 1;
	c->facts.bytes_out = UINT64_MAX;
	c->facts.waited_ms = 2000;
	c->facts.dns_ms = 31;
	c->facts.dialogue_ms = 77;
	c->facts.edge_cpu_us = 3;
	c->queued_at_us = UINT64_MAX - 1;
	c->dialogue.state = POP3_AT_LOGIN_ASKED;
	fill(c->dialogue.user, "J\xc3\xbcrgen@example.org");
	c->dialogue.way = POP3_WAY_PLAIN;
	c->dialogue.is_tls = true;
	c->dialogue.is_utf8 = true;
	c->dialogue.login_count = 1;
	c->dialogue.error_count = 2;
	c->dialogue.command_count = 7;
	c->ticket.made_us = 4711;
	memset(c->ticket.sum, 0x5a, sizeof(c->ticket.sum));
	fill(c->mailbox, "j\xc3\xbcrgen@example.org");
	fill(c->zones, "bl6.example,bl.example");
	fill(c->tls, "TLSv1.3");
	const std::string unread("STAT\r\nLI\0\xff", 10);
	memcpy(c->unread, unread.data(), unread.size());
	c->unread_size = unread.size();
	return c;
}

capsule_pointer in_the_clear()
{
	auto c = std::make_unique<popcapsule>();
	c->facts.client_ip = ip("127.0.0.1");
	c->facts.local_ip = ip("127.0.0.1");
	c->facts.is_exempt = true;
	c->dialogue.state = POP3_AT_LOGIN_ASKED;
	c->dialogue.way = POP3_WAY_SCRAM;
	c->dialogue.is_challenged = true;
	fill(c->mailbox, "a@b");
	return c;
}

capsule_pointer longest()
{
	auto c = logged_in();
	fill(c->dialogue.user, std::string(SASL_TEXT_MAX, 'u'));
	fill(c->mailbox, std::string(USERS_ENTRY_SIZE - 1, 'm'));
	fill(c->zones, std::string(JUDGE_ZONES_MAX, 'z'));
	fill(c->tls, std::string(POPCAPSULE_TLS_MAX, 't'));
	c->unread_size = POPCAPSULE_UNREAD_MAX;
	memset(c->unread, 0xff, POPCAPSULE_UNREAD_MAX);
	return c;
}

int try_encode(const popcapsule &of)
{
	bytes out(HANDOVER_SIZE_MAX);
	size_t size = 0;
	return popcapsule_encode(&of, out.data(), &size);
}

bytes encode(const popcapsule &of)
{
	bytes out(HANDOVER_SIZE_MAX);
	size_t size = 0;
	REQUIRE(popcapsule_encode(&of, out.data(), &size) == 0);
	REQUIRE(size <= out.size());
	out.resize(size);
	return out;
}

int decode(const bytes &from, popcapsule *ret_capsule)
{
	const guarded input(from);
	return popcapsule_decode(input.data(), input.size(), ret_capsule);
}

int status_of(const bytes &from)
{
	const auto out = std::make_unique<popcapsule>();
	return decode(from, out.get());
}

// All was zero before its members were set, on both ways.
void check_round_trip(const popcapsule &sent)
{
	const auto found = std::make_unique<popcapsule>();
	memset(found.get(), 0xff, sizeof(*found));
	const bytes wire = encode(sent);
	REQUIRE(decode(wire, found.get()) == 0);
	CHECK(memcmp(found.get(), &sent, sizeof(sent)) == 0);
	CHECK(encode(*found) == wire);
}

// CRC-32 the slow way, so that the code's own does not prove itself.
bytes sealed(bytes wire)
{
	for (unsigned i = 0; i < 4; i++)
		wire[8 + i] = static_cast<uint8_t>(wire.size() >> (24 - 8 * i));
	memset(&wire[12], 0, 4);
	uint32_t sum = 0xffffffff;
	for (const uint8_t byte : wire) {
		sum ^= byte;
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
	}
	for (unsigned i = 0; i < 4; i++)
		wire[12 + i] = static_cast<uint8_t>(~sum >> (24 - 8 * i));
	return wire;
}

} // namespace

TEST_CASE("every member of a popcapsule comes out as it went in", "[pop][popcapsule]")
{
	check_round_trip(*logged_in());
	check_round_trip(*in_the_clear());
}

TEST_CASE("the longest popcapsule has room", "[pop][popcapsule]")
{
	check_round_trip(*longest());
}

TEST_CASE("any valid session goes to a worker and is the same there", "[pop][popcapsule]")
{
	const auto seed = RANDOM_SEED(200);
	CAPTURE(seed);
	std::mt19937_64 random(seed);
	const auto below = [&](uint64_t count) { return random() % count; };
	const auto word = [&](size_t most, size_t least = 0) {
		std::string made(least + below(most - least + 1), ' ');
		for (char &c : made)
			c = static_cast<char>('!' + below('~' - '!'));
		return made;
	};
	auto c = std::make_unique<popcapsule>();
	auto &facts = c->facts;
	for (uint8_t *ip : { facts.client_ip.bytes, facts.local_ip.bytes })
		for (size_t i = 0; i < sizeof(facts.client_ip.bytes); i++)
			ip[i] = static_cast<uint8_t>(random());
	facts.id = random();
	facts.client_port = static_cast<uint16_t>(random());
	facts.local_port = static_cast<uint16_t>(random());
	facts.refused_count = static_cast<unsigned>(random());
	facts.accepted_at_ms = static_cast<int64_t>(random());
	facts.is_exempt = below(2) != 0;
	facts.has_verdict = !facts.is_exempt && below(2) != 0;
	facts.action = static_cast<judge_action>(below(JUDGE_PREPEND + 1));
	facts.verdict = static_cast<dnsblv6_verdict>(below(DNSBLV6_DEFER + 1));
	facts.score = static_cast<int>(random());
	for (uint64_t *number :
	     { &facts.bytes_in, &facts.bytes_out, &facts.waited_ms, &facts.dns_ms,
	       &facts.dialogue_ms, &facts.edge_cpu_us, &c->queued_at_us })
		*number = random();
	auto &dialogue = c->dialogue;
	dialogue.state = POP3_AT_LOGIN_ASKED;
	dialogue.way = GENERATE(POP3_WAY_USER, POP3_WAY_APOP, POP3_WAY_PLAIN, POP3_WAY_SCRAM);
	fill(dialogue.user, word(SASL_TEXT_MAX, 1));
	dialogue.is_challenged = dialogue.way == POP3_WAY_SCRAM && below(2) != 0;
	dialogue.is_utf8 = below(2) != 0;
	dialogue.login_count = static_cast<unsigned>(below(1000));
	dialogue.error_count = dialogue.login_count + static_cast<unsigned>(below(1000));
	dialogue.command_count = static_cast<unsigned>(below(1000000));
	dialogue.is_tls = below(2) != 0;
	fill(c->tls, dialogue.is_tls ? word(POPCAPSULE_TLS_MAX, 1) : "");
	fill(c->mailbox, word(USERS_ENTRY_SIZE - 1, 1));
	fill(c->zones, word(JUDGE_ZONES_MAX));
	c->unread_size = below(POPCAPSULE_UNREAD_MAX + 1);
	for (size_t i = 0; i < c->unread_size; i++)
		c->unread[i] = static_cast<uint8_t>(random());
	check_round_trip(*c);
}

// ---- what is refused ----

TEST_CASE("a popcapsule that is cut anywhere, or longer, is refused", "[pop][popcapsule]")
{
	const bytes wire = encode(GENERATE(true, false) ? *logged_in() : *in_the_clear());
	unsigned refused = 0;
	for (size_t size = 0; size < wire.size(); size++)
		refused += status_of({ wire.begin(), wire.begin() + static_cast<long>(size) }) ==
			   SEAL_EBAD;
	CHECK(refused == wire.size());
	bytes longer = wire;
	longer.push_back(0);
	CHECK(status_of(longer) == SEAL_EBAD);
}

TEST_CASE("a popcapsule with the right sum that is cut, or longer, is refused", "[pop][popcapsule]")
{
	const bytes wire = encode(*logged_in());
	unsigned refused = 0;
	for (size_t size = 16; size < wire.size(); size++)
		refused += status_of(sealed(
				   { wire.begin(), wire.begin() + static_cast<long>(size) })) ==
			   SEAL_EVALUE;
	CHECK(refused == wire.size() - 16);
	bytes longer = wire;
	longer.push_back(0);
	CHECK(status_of(sealed(longer)) == SEAL_EVALUE);
	CHECK(status_of(sealed(wire)) == 0);
}

TEST_CASE("a popcapsule of which any byte is altered is refused", "[pop][popcapsule]")
{
	bytes wire = encode(GENERATE(true, false) ? *logged_in() : *in_the_clear());
	const auto out = std::make_unique<popcapsule>();
	unsigned accepted = 0;
	for (uint8_t &byte : wire) {
		const uint8_t right = byte;
		for (unsigned other = 0; other < 256; other++) {
			byte = static_cast<uint8_t>(other);
			accepted += other != right &&
				    popcapsule_decode(wire.data(), wire.size(), out.get()) == 0;
		}
		byte = right;
	}
	CHECK(accepted == 0);
	CHECK(status_of(wire) == 0);
}

TEST_CASE("a popcapsule of another version says so, another magic is none", "[pop][popcapsule]")
{
	bytes wire = encode(*logged_in());
	wire[5]++;
	CHECK(status_of(sealed(wire)) == SEAL_EVERSION);
	wire[5]--;
	wire[6] = 1;
	CHECK(status_of(sealed(wire)) == SEAL_EVALUE);
	wire[6] = 0;
	wire[0]++;
	CHECK(status_of(sealed(wire)) == SEAL_EBAD);
}

TEST_CASE("any byte of a popcapsule with the right sum is refused, or comes back as it is",
	  "[pop][popcapsule]")
{
	const bytes wire = encode(GENERATE(true, false) ? *logged_in() : *in_the_clear());
	const auto out = std::make_unique<popcapsule>();
	unsigned different = 0;
	unsigned accepted = 0;
	for (size_t i = 16; i < wire.size(); i++) {
		for (const int other : { 0x00, 0x01, 0x1f, 0x20, 0x7f, 0x80, 0xff, wire[i] ^ 1 }) {
			bytes changed = wire;
			changed[i] = static_cast<uint8_t>(other);
			changed = sealed(changed);
			if (popcapsule_decode(changed.data(), changed.size(), out.get()) != 0)
				continue;
			accepted++;
			different += encode(*out) != changed;
		}
	}
	CHECK(different == 0);
	CHECK(accepted > 0);
}

TEST_CASE("what no edge makes is no popcapsule", "[pop][popcapsule]")
{
	using change = void (*)(popcapsule &);
	const change changed = GENERATE(
		as<change>(), [](popcapsule &c) { c.unread_size = POPCAPSULE_UNREAD_MAX + 1; },
		[](popcapsule &c) { c.mailbox[0] = '\0'; },
		[](popcapsule &c) { memset(c.mailbox, 'm', sizeof(c.mailbox)); },
		[](popcapsule &c) { c.mailbox[1] = '\n'; },
		[](popcapsule &c) { c.mailbox[1] = '\x7f'; },
		[](popcapsule &c) { memset(c.zones, 'z', sizeof(c.zones)); },
		[](popcapsule &c) { c.zones[3] = '\r'; },
		[](popcapsule &c) { c.zones[3] = '\x80'; },
		[](popcapsule &c) { memset(c.tls, 't', sizeof(c.tls)); },
		[](popcapsule &c) { c.tls[0] = '\x1f'; }, [](popcapsule &c) { c.tls[0] = '\0'; },
		[](popcapsule &c) { c.dialogue.is_tls = false; },
		[](popcapsule &c) { c.facts.is_exempt = true; },
		[](popcapsule &c) {
			c.facts.action = static_cast<judge_action>(JUDGE_PREPEND + 1);
		},
		[](popcapsule &c) {
			c.facts.verdict = static_cast<dnsblv6_verdict>(DNSBLV6_DEFER + 1);
		},
		[](popcapsule &c) { c.dialogue.state = POP3_AT_TRANSACTION; },
		[](popcapsule &c) { c.dialogue.state = POP3_AT_START; },
		[](popcapsule &c) { c.dialogue.state = POP3_STATE_COUNT; },
		[](popcapsule &c) { c.dialogue.way = 0; },
		[](popcapsule &c) { c.dialogue.way = 3; },
		[](popcapsule &c) { c.dialogue.way = 16; },
		[](popcapsule &c) { c.dialogue.user[0] = '\0'; },
		[](popcapsule &c) { c.dialogue.user[1] = '\xff'; },
		[](popcapsule &c) { memset(c.dialogue.user, 'u', sizeof(c.dialogue.user)); },
		[](popcapsule &c) { c.dialogue.is_challenged = true; },
		[](popcapsule &c) { c.dialogue.login_count = 3; },
		[](popcapsule &c) { c.dialogue.command_count = 1000000001; },
		[](popcapsule &c) { c.dialogue.octets = 1; });
	const auto c = logged_in();
	CHECK(try_encode(*c) == 0);
	changed(*c);
	CHECK(try_encode(*c) == SEAL_EVALUE);
}
