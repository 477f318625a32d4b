// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/server/fixture.hh"
#include "lib/store/tables.h"

#include <catch2/catch.hpp>

#include <algorithm>

using dns::message;
using dns::question;

static const uint8_t full_bitmap[16] = { 255, 255, 255, 255, 255, 255, 255, 255,
					 255, 255, 255, 255, 255, 255, 255, 255 };

static bytes all_ones()
{
	return { full_bitmap, full_bitmap + 16 };
}

// ---- what a bitmap zone answers ----

TEST_CASE("a listed /25 is answered with its bitmap and the TTL of the zone", "[server][answer]")
{
	decision server;
	message reply = server.ask("0.2.0.192.bl6.example.", dns::AAAA);
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.has(dns::QR));
	CHECK(reply.has(dns::AA));
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].owner == "0.2.0.192.bl6.example.");
	CHECK(reply.answer[0].type == dns::AAAA);
	CHECK(reply.answer[0].ttl == 2100);
	bytes expected(16, 0);
	expected[0] = 0x40;
	expected[15] = 0x01;
	CHECK(reply.answer[0].rdata == expected);
	CHECK(reply.authority.empty());
	CHECK(reply.additional.empty());
}

struct node_case {
	const char *name;
	uint16_t type;
	unsigned rcode;
	size_t answers;
	const char *why;
};

static std::ostream &operator<<(std::ostream &out, const node_case &c)
{
	return out << c.name << " " << c.type << ": " << c.why;
}

TEST_CASE("names exist, are empty or do not exist as RFC 1034, 4592 and 8020 say",
	  "[server][answer]")
{
	auto c = GENERATE(values<node_case>({
		{ "0.2.0.192", dns::A, dns::NOERROR, 0, "the name has AAAA only" },
		{ "1.2.0.192", dns::AAAA, dns::NXDOMAIN, 0, "the other half of the /24" },
		{ "2.0.192", dns::AAAA, dns::NOERROR, 0, "an empty non-terminal" },
		{ "0.192", dns::AAAA, dns::NOERROR, 0, "an empty non-terminal above" },
		{ "192", dns::AAAA, dns::NOERROR, 0, "the highest empty non-terminal" },
		{ "19", dns::AAAA, dns::NXDOMAIN, 0, "begins like a name but is not above one" },
		{ "3.0.192", dns::AAAA, dns::NXDOMAIN, 0, "nothing below" },
		{ "10", dns::AAAA, dns::NXDOMAIN, 0, "nothing below" },
		{ "zzz", dns::AAAA, dns::NXDOMAIN, 0, "behind the last key" },
		{ "0.02.0.192", dns::AAAA, dns::NXDOMAIN, 0, "not canonical" },
		{ "junk.2.0.192", dns::AAAA, dns::NXDOMAIN, 0, "no wildcard there" },
		{ "x.0.2.0.192", dns::AAAA, dns::NXDOMAIN, 0, "below a bitmap" },
		{ "0.100.51.198", dns::AAAA, dns::NOERROR, 1, "wildcard of a /24" },
		{ "junk.100.51.198", dns::AAAA, dns::NOERROR, 1, "wildcards match any label" },
		{ "a.b.100.51.198", dns::AAAA, dns::NOERROR, 1, "wildcards match any depth" },
		{ "0.100.51.198", dns::TXT, dns::NOERROR, 0, "a wildcard has AAAA only" },
		{ "*.100.51.198", dns::AAAA, dns::NOERROR, 1, "the wildcard's own name" },
		{ "x.*.100.51.198", dns::AAAA, dns::NXDOMAIN, 0, "below the wildcard's own name" },
		{ "100.51.198", dns::AAAA, dns::NOERROR, 0, "a wildcard's parent is empty" },
		{ "1.7.0.203", dns::AAAA, dns::NOERROR, 1, "wildcard of a /16" },
		{ "7.0.203", dns::AAAA, dns::NOERROR, 1, "one label below *.0.203" },
		{ "1.2.3.77", dns::AAAA, dns::NOERROR, 1, "wildcard of a /8" },
		{ "0.cc.aabb.0db8.2001.ip6", dns::AAAA, dns::NOERROR, 1, "an IPv6 /57" },
		{ "ip6", dns::AAAA, dns::NOERROR, 0, "an empty non-terminal" },
		{ "0.2.0.192.sub", dns::AAAA, dns::NOERROR, 1, "a sub-zone" },
		{ "sub", dns::AAAA, dns::NOERROR, 0, "a sub-zone's apex" },
		{ "ns1", dns::A, dns::NOERROR, 1, "a static name" },
		{ "ns1", dns::TXT, dns::NOERROR, 0, "a static name without that type" },
		{ "x.ns1", dns::A, dns::NXDOMAIN, 0, "below a static name" },
	}));
	CAPTURE(c);
	decision server;
	message reply = server.ask(std::string(c.name) + ".bl6.example.", c.type);
	CHECK(reply.rcode == c.rcode);
	CHECK(reply.answer.size() == c.answers);
	CHECK(reply.has(dns::AA));
	REQUIRE(reply.authority.size() == (c.answers == 0 ? 1 : 0));
	if (c.answers == 0) {
		CHECK(reply.authority[0].owner == "bl6.example.");
		CHECK(reply.authority[0].type == dns::SOA);
		CHECK(reply.authority[0].ttl == 600); // MINIMUM, less than the SOA's own 3600
		CHECK(reply.authority[0].target == "ns1.bl6.example.");
	}
}

TEST_CASE("a wildcard's answer has the name that was asked", "[server][answer]")
{
	decision server;
	message reply = server.ask("1.7.0.203.bl6.example.", dns::AAAA);
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].owner == "1.7.0.203.bl6.example.");
	CHECK(reply.answer[0].rdata == all_ones());
}

TEST_CASE("the apex has its SOA with its own TTL", "[server][answer]")
{
	decision server;
	message reply = server.ask("bl6.example.", dns::SOA);
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].ttl == 3600);
	CHECK(reply.answer[0].target == "ns1.bl6.example.");
	CHECK(server.ask("bl6.example.", dns::TXT).answer.size() == 1);
	CHECK(server.ask("bl6.example.", dns::AAAA).authority.size() == 1);
}

TEST_CASE("NS come with the addresses of those that are names of the zone", "[server][answer]")
{
	decision server;
	message reply = server.ask("bl6.example.", dns::NS);
	REQUIRE(reply.answer.size() == 3);
	std::vector<std::string> glue;
	for (const dns::record &rr : reply.additional)
		glue.push_back(rr.owner + (rr.type == dns::A ? " A" : " AAAA"));
	std::sort(glue.begin(), glue.end());
	CHECK(glue == std::vector<std::string>{ "ns1.bl6.example. A", "ns1.bl6.example. AAAA",
						"ns2.bl6.example. A" });
}

TEST_CASE("ANY gets one RRset", "[server][answer]")
{
	decision server;
	CHECK(server.ask("0.2.0.192.bl6.example.", dns::ANY).answer.size() == 1);
	CHECK(server.ask("2.0.192.bl6.example.", dns::ANY).answer.empty());
	message reply = server.ask("bl6.example.", dns::ANY);
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].type == dns::SOA);
}

TEST_CASE("the question comes back byte for byte and is matched without case", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.100.51.198.bL6.eXaMpLe.";
	asked.type = dns::AAAA;
	bytes wire = dns::query(asked);
	message reply(server.make(wire));
	CHECK(reply.answer.size() == 1);
	CHECK(reply.question == bytes(wire.begin() + 12, wire.end()));
	asked.name = "NS1.BL6.example.";
	asked.type = dns::A;
	CHECK(server.ask(asked).answer.size() == 1);
	asked.name = "0.CC.AaBb.0DB8.2001.IP6.BL6.EXAMPLE.";
	asked.type = dns::AAAA;
	CHECK(server.ask(asked).answer.size() == 1);
}

TEST_CASE("owner names are pointers to the question", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.BL6.example.";
	asked.type = dns::AAAA;
	// 12 of header, the question, and 2 + 2 + 2 + 4 + 2 + 16 of answer.
	CHECK(server.ask(asked).size() == dns::query(asked).size() + 28);
	asked.name = "1.2.0.192.BL6.example.";
	// The SOA: owner and the apex of both its names are pointers.
	CHECK(server.ask(asked).size() ==
	      dns::query(asked).size() + 2 + 10 + (4 + 2) + (11 + 2) + 20);
}

TEST_CASE("the zone with the longest name answers", "[server][answer]")
{
	tmpdir directory;
	store_options outer;
	outer.serial = 1;
	write_store(directory.file("outer.mdb"), outer);
	store_options inner;
	inner.apex = "100.51.198.bl6.example.";
	inner.serial = 2;
	write_store(directory.file("inner.mdb"), inner);
	decision server(
		"zone:\n  - domain: bl6.example.\n    store: " + directory.file("outer.mdb") +
			"\n  - domain: 100.51.198.bl6.example.\n    store: " +
			directory.file("inner.mdb") + "\n",
		directory);
	CHECK(server.ask("0.2.0.192.bl6.example.", dns::AAAA).answer.size() == 1);
	CHECK(server.ask("0.100.51.198.bl6.example.", dns::AAAA).rcode == dns::NXDOMAIN);
	message reply = server.ask("0.2.0.192.100.51.198.bl6.example.", dns::AAAA);
	CHECK(reply.answer.size() == 1);
	CHECK(server.counted(COUNTERS_FACE_QUERIES, 0) == 1);
	CHECK(server.counted(COUNTERS_FACE_QUERIES, 1) == 2);
}

TEST_CASE("the DS of a zone is its parent's to answer, where that is served too",
	  "[server][answer]")
{
	tmpdir directory;
	store_options outer;
	outer.is_signed = true;
	write_store(directory.file("outer.mdb"), outer);
	store_options inner = outer;
	inner.apex = "100.51.198.bl6.example.";
	write_store(directory.file("inner.mdb"), inner);
	decision server(
		"zone:\n  - domain: bl6.example.\n    store: " + directory.file("outer.mdb") +
			"\n  - domain: 100.51.198.bl6.example.\n    store: " +
			directory.file("inner.mdb") + "\n",
		directory);
	question asked;
	asked.name = "100.51.198.BL6.example.";
	asked.type = dns::DS;
	asked.edns_payload = 1232;
	asked.edns_flags = 0x8000;
	for (const bytes &wire :
	     { server.make(dns::query(asked)), server.make_long(dns::query(asked)) }) {
		message reply(wire);
		REQUIRE_FALSE(reply.authority.empty());
		CHECK(reply.authority[0].owner == "bl6.example.");
	}
	CHECK(server.counted(COUNTERS_FACE_QUERIES, 0) == 2);
	// Without a parent here, and below the apex, it is as any other type.
	CHECK(server.ask("bl6.example.", dns::DS).authority[0].owner == "bl6.example.");
	CHECK(server.ask("0.2.0.192.100.51.198.bl6.example.", dns::DS).authority[0].owner ==
	      "100.51.198.bl6.example.");
	CHECK(server.ask("100.51.198.bl6.example.", dns::A).authority[0].owner ==
	      "100.51.198.bl6.example.");
}

// ---- EDNS ----

TEST_CASE("no OPT is answered with no OPT", "[server][answer]")
{
	decision server;
	CHECK_FALSE(server.ask("0.2.0.192.bl6.example.", dns::AAAA).has_opt);
	CHECK_FALSE(server.ask("other.example.", dns::AAAA).has_opt);
}

TEST_CASE("an OPT is answered with our payload and DO as it was", "[server][answer]")
{
	auto edns_flags = GENERATE(0x0000, 0x8000, 0xffff, 0x7fff);
	CAPTURE(edns_flags);
	decision server;
	question asked;
	asked.name = GENERATE(as<std::string>{}, "0.2.0.192.bl6.example.", "9.bl6.example.",
			      "other.example.");
	asked.type = dns::AAAA;
	asked.edns_payload = 4096;
	asked.edns_flags = static_cast<uint16_t>(edns_flags);
	message reply = server.ask(asked);
	REQUIRE(reply.has_opt);
	CHECK(reply.payload == 1232);
	CHECK(reply.edns_version == 0);
	CHECK(reply.edns_flags == (edns_flags & 0x8000));
}

TEST_CASE("unknown EDNS options are ignored", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1232;
	asked.edns_options = { 0xfd, 0xe9, 0, 3, 1, 2, 3, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.answer.size() == 1);
	CHECK(reply.options.empty());
}

TEST_CASE("an EDNS version above 0 gets BADVERS and no answer", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1232;
	asked.edns_version = static_cast<uint8_t>(GENERATE(1, 2, 255));
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::BADVERS);
	CHECK(reply.answer.empty());
	CHECK(reply.edns_version == 0);
	CHECK(reply.qname == asked.name);
	CHECK(server.counted(COUNTERS_SERVER_BADVERS) == 1);
}

static bytes with_additional(const question &asked, unsigned count, const bytes &records)
{
	bytes wire = dns::query(asked);
	wire[11] = static_cast<uint8_t>(count);
	dns::append(wire, records);
	return wire;
}

/* RFC 6891 section 7: so that the client can tell that EDNS is known here. */
static void check_formerr_with_opt(const message &reply)
{
	CHECK(reply.rcode == dns::FORMERR);
	CHECK(reply.has_opt);
}

TEST_CASE("malformed EDNS gets FORMERR", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1232;
	bytes opt = dns::opt(asked);
	question plain = asked;
	plain.edns_payload = -1;

	SECTION("two OPTs")
	{
		CHECK(message(server.make(with_additional(asked, 2, opt))).rcode == dns::FORMERR);
	}
	SECTION("an OPT whose owner is not the root")
	{
		bytes named = { 1, 'a' };
		dns::append(named, opt);
		CHECK(message(server.make(with_additional(plain, 1, named))).rcode == dns::FORMERR);
	}
	SECTION("an option longer than the OPT")
	{
		asked.edns_options = { 0, 10, 0, 9, 1, 2, 3 };
		check_formerr_with_opt(message(server.make(dns::query(asked))));
	}
	SECTION("half the head of an option")
	{
		asked.edns_options = { 0, 10, 0 };
		check_formerr_with_opt(message(server.make(dns::query(asked))));
	}
	CHECK(server.counted(COUNTERS_SERVER_FORMERR) == 1);
}

TEST_CASE("what is in the OPT of another EDNS version is not looked at", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1232;
	asked.edns_version = 1;
	asked.edns_options = { 0, 10, 0 };
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::BADVERS);
	CHECK(server.counted(COUNTERS_SERVER_BADVERS) == 1);
}

TEST_CASE("an EDNS payload of less than 512 means 512, one of 1 too", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = GENERATE(0, 1, 2, 255, 511);
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.has_opt);
}

// ---- size ----

TEST_CASE("what does not fit is the question alone with TC, and fits over TCP", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "many.bl6.example."; // 20 strings of 200 bytes
	asked.type = dns::TXT;
	asked.edns_payload = GENERATE(-1, 0, 512, 1232, 4096);
	message reply = server.ask(asked);
	CHECK(reply.has(dns::TC));
	CHECK(reply.has(dns::AA));
	CHECK(reply.answer.empty());
	CHECK(reply.authority.empty());
	CHECK(reply.has_opt == (asked.edns_payload >= 0));
	CHECK(server.counted(COUNTERS_FACE_TRUNCATED) == 1);

	message whole = server.ask(asked, true);
	CHECK_FALSE(whole.has(dns::TC));
	CHECK(whole.answer.size() == 20);
}

TEST_CASE("the smaller of the client's payload and ours is the limit, and never less than 512",
	  "[server][answer]")
{
	auto payload = GENERATE(0, 100, 511, 512, 898, 899, 900, 1231, 1232, 1233, 65535);
	CAPTURE(payload);
	decision server;
	question asked;
	asked.name = "twelve.bl6.example."; // 4 strings: 12 + 24 + 4 * (12 + 201) + 11 is 899
	asked.type = dns::TXT;
	asked.edns_payload = payload;
	message reply = server.ask(asked);
	bool fits = payload >= 899;
	CHECK(reply.has(dns::TC) == !fits);
	CHECK(reply.answer.size() == (fits ? 4 : 0));
}

TEST_CASE("glue that does not fit is left out without TC", "[server][answer]")
{
	store_options options;
	options.more_ns = 10;
	decision server(options);
	message reply = server.ask("bl6.example.", dns::NS);
	CHECK_FALSE(reply.has(dns::TC));
	CHECK(reply.answer.size() == 13);
	CHECK(reply.additional.size() < 23);
	question asked;
	asked.name = "bl6.example.";
	asked.type = dns::NS;
	CHECK(server.ask(asked, true).additional.size() == 23);
}

// ---- what is not answered ----

TEST_CASE("responses and packets shorter than a header get no answer", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.flags = dns::QR | dns::RD;
	CHECK(server.make(dns::query(asked)).empty());
	bytes wire = dns::query(question{ "0.2.0.192.bl6.example." });
	for (size_t size = 0; size < 12; size++)
		CHECK(server.make(bytes(wire.begin(), wire.begin() + static_cast<long>(size)))
			      .empty());
	CHECK(server.counted(COUNTERS_SERVER_DROPPED) == 13);
}

// Header of the query, no question, no more.
static void check_bare_formerr(const bytes &wire)
{
	decision server;
	message reply(server.make(wire));
	CHECK(reply.rcode == dns::FORMERR);
	CHECK(reply.id == 0x1234);
	CHECK(reply.question.empty());
	CHECK(reply.size() == 12);
}

TEST_CASE("no question and two questions get FORMERR", "[server][answer]")
{
	bytes wire = dns::query(question{ "0.2.0.192.bl6.example.", dns::AAAA });
	SECTION("QDCOUNT 0 and nothing else")
	{
		wire[5] = 0;
		check_bare_formerr(bytes(wire.begin(), wire.begin() + 12));
	}
	SECTION("QDCOUNT 0 and a question all the same")
	{
		wire[5] = 0;
		check_bare_formerr(wire);
	}
	SECTION("QDCOUNT 2 with two questions")
	{
		bytes second(wire.begin() + 12, wire.end());
		dns::append(wire, second);
		wire[5] = 2;
		check_bare_formerr(wire);
	}
	SECTION("QDCOUNT 2 with one question")
	{
		wire[5] = 2;
		check_bare_formerr(wire);
	}
	SECTION("QDCOUNT 65535")
	{
		wire[4] = wire[5] = 255;
		check_bare_formerr(wire);
	}
}

TEST_CASE("bytes behind the last record get FORMERR", "[server][answer]")
{
	decision server;
	bytes wire = dns::query(question{ "0.2.0.192.bl6.example.", dns::AAAA });
	wire.push_back(0);
	CHECK(message(server.make(wire)).rcode == dns::FORMERR);
}

TEST_CASE("opcodes other than QUERY get NOTIMP with that opcode", "[server][answer]")
{
	auto opcode = GENERATE(range(1, 16));
	CAPTURE(opcode);
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.flags = static_cast<uint16_t>(opcode << 11);
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::NOTIMP);
	CHECK((reply.flags >> 11 & 15) == static_cast<unsigned>(opcode));
}

TEST_CASE("types that are no data are refused or not implemented", "[server][answer]")
{
	decision server;
	uint16_t transfer = GENERATE(as<uint16_t>{}, dns::AXFR, dns::IXFR);
	CHECK(server.ask("bl6.example.", transfer).rcode == dns::REFUSED);
	uint16_t meta = GENERATE(as<uint16_t>{}, dns::OPT, 128, 249, dns::TSIG, dns::MAILB, 254);
	CHECK(server.ask("bl6.example.", meta).rcode == dns::NOTIMP);
}

static void check_refused(const std::string &name, uint16_t qclass, int ede)
{
	decision server;
	question asked;
	asked.name = name;
	asked.type = dns::AAAA;
	asked.qclass = qclass;
	asked.edns_payload = 1232;
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::REFUSED);
	CHECK_FALSE(reply.has(dns::AA));
	CHECK(reply.answer.empty());
	CHECK(reply.authority.empty());
	CHECK(reply.ede() == ede);
	CHECK(server.counted(COUNTERS_SERVER_REFUSED) == 1);
}

TEST_CASE("class ANY is answered from class IN, without AA", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	message one = server.ask(asked);
	asked.qclass = 255;
	message any = server.ask(asked);
	CHECK(any.rcode == dns::NOERROR);
	CHECK_FALSE(any.has(dns::AA));
	REQUIRE(any.answer.size() == 1);
	CHECK(any.answer[0].rclass == 1);
	CHECK(any.answer[0].rdata == one.answer[0].rdata);
	asked.name = "0.9.9.9.bl6.example.";
	any = server.ask(asked);
	CHECK(any.rcode == dns::NXDOMAIN);
	CHECK_FALSE(any.has(dns::AA));
	CHECK(any.authority.size() == 1);
	asked.name = "elsewhere.example.";
	CHECK(server.ask(asked).rcode == dns::REFUSED);
	asked.name = "bl6.example.";
	asked.type = dns::AXFR;
	CHECK(server.ask(asked, true).rcode == dns::REFUSED);
}

TEST_CASE("a transfer of a zone that is not ours gets NOTAUTH, Not Authoritative",
	  "[server][answer]")
{
	auto type = GENERATE(as<uint16_t>{}, dns::AXFR, dns::IXFR);
	auto name = GENERATE(as<std::string>{}, "elsewhere.example.", "example.", ".");
	decision server;
	question asked;
	asked.name = name;
	asked.type = type;
	asked.edns_payload = 1232;
	message reply = server.ask(asked, true);
	CHECK(reply.rcode == dns::NOTAUTH);
	CHECK_FALSE(reply.has(dns::AA));
	CHECK(reply.ede() == 20);
	CHECK(server.counted(COUNTERS_SERVER_REFUSED) == 1);
}

TEST_CASE("another class gets REFUSED without AA", "[server][answer]")
{
	check_refused("0.2.0.192.bl6.example.", GENERATE(as<uint16_t>{}, 0, 3, 4, 254), -1);
}

TEST_CASE("a name of no zone of ours gets REFUSED, Not Authoritative", "[server][answer]")
{
	check_refused(GENERATE(as<std::string>{}, ".", "example.", "xbl6.example.",
			       "bl6.example.org.", "bl6."),
		      1, 20);
}

TEST_CASE("RD comes back, CD, RA, AD and Z never do", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.flags = static_cast<uint16_t>(
		GENERATE(0, int(dns::RD), int(dns::CD), dns::RD | dns::CD, 0x07ff & ~15));
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::NOERROR);
	CHECK((reply.flags & dns::RD) == (asked.flags & dns::RD));
	CHECK((reply.flags & (dns::CD | dns::RA | dns::AD | dns::TC | 0x40)) == 0);
}

// ---- stores that cannot be answered from ----

TEST_CASE("a zone without a store gets SERVFAIL and says not ready", "[server][answer]")
{
	tmpdir directory;
	decision server("zone:\n  - domain: bl6.example.\n    store: " +
				directory.file("absent.mdb") + "\n",
			directory);
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.edns_payload = 1232;
	message reply = server.ask(asked);
	CHECK(reply.rcode == dns::SERVFAIL);
	CHECK_FALSE(reply.has(dns::AA));
	CHECK(reply.ede() == 14);
	CHECK(server.counted(COUNTERS_FACE_SERVFAIL) == 1);
}

TEST_CASE("an expired store is answered with SERVFAIL from that second on", "[server][answer]")
{
	store_options options;
	options.expires_s = 5000;
	decision server(options);
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1232;
	CHECK(server.ask(asked, false, 4999).answer.size() == 1);
	message reply = server.ask(asked, false, 5000);
	CHECK(reply.rcode == dns::SERVFAIL);
	CHECK(reply.ede() == 24); // Invalid Data
	CHECK(reply.answer.empty());
}

static int damage_record(writer *w, void *)
{
	dnsblv6_labels owner = labels("0.2.0.192");
	dnsblv6_key key;
	int ret = dnsblv6_key_from_labels(owner.wire, owner.size, &key);
	const uint8_t damaged[] = { 1, 2, 3 };
	return ret != 0 ? ret
			: writer_put(w, STORE_RECORDS, key.bytes, key.size, damaged,
				     sizeof(damaged));
}

TEST_CASE("a damaged record is SERVFAIL, and other names are answered", "[server][answer]")
{
	decision server;
	catalog_deinit(&server.catalog);
	REQUIRE(writer_run(server.path().c_str(), &zone_store, damage_record, nullptr) == 0);
	tmpdir directory;
	decision reopened("zone:\n  - domain: bl6.example.\n    store: " + server.path() + "\n",
			  directory);
	const zone &zone = reopened.catalog.zones[0];
	CHECK(reopened.ask("0.100.51.198.bl6.example.", dns::AAAA).answer.size() == 1);
	CHECK(zone.failed_count == 0);
	CHECK(reopened.ask("0.2.0.192.bl6.example.", dns::AAAA).rcode == dns::SERVFAIL);
	CHECK(zone.failed_count == 1);
}

// ---- any bytes ----

static std::vector<bytes> sample_queries()
{
	std::vector<bytes> out;
	question asked;
	for (const char *name : { "0.2.0.192.bl6.example.", "1.2.0.192.BL.example.", "bl6.example.",
				  "many.bl6.example." }) {
		asked.name = name;
		asked.type = dns::AAAA;
		asked.edns_payload = -1;
		out.push_back(dns::query(asked));
		asked.type = dns::TXT;
		asked.edns_payload = 1232;
		asked.edns_options = { 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
		out.push_back(dns::query(asked));
	}
	return out;
}

// Silence, or a well-formed response to that very query.
static void check_reply(decision &server, const bytes &wire)
{
	bytes out = server.make(wire);
	if (wire.size() < 12 || (wire[2] & 0x80) != 0) {
		CHECK(out.empty());
		return;
	}
	REQUIRE_FALSE(out.empty());
	message reply(out);
	CHECK(reply.id == wire[0] * 256U + wire[1]);
	CHECK(reply.has(dns::QR));
	CHECK(out.size() <= 1232);
	bool is_echo =
		reply.question.empty() ||
		(wire.size() >= 12 + reply.question.size() &&
		 std::equal(reply.question.begin(), reply.question.end(), wire.begin() + 12));
	CHECK(is_echo);
}

TEST_CASE("every cut of a query gets a well-formed response or silence", "[server][answer]")
{
	decision server;
	for (const bytes &wire : sample_queries()) {
		for (size_t size = 0; size <= wire.size(); size++)
			check_reply(server,
				    bytes(wire.begin(), wire.begin() + static_cast<long>(size)));
	}
}

TEST_CASE("every value of every byte gets a well-formed response or silence", "[server][answer]")
{
	decision server;
	for (const bytes &wire : sample_queries()) {
		for (size_t at = 0; at < wire.size(); at++) {
			for (unsigned value = 0; value < 256; value++) {
				bytes changed = wire;
				changed[at] = static_cast<uint8_t>(value);
				check_reply(server, changed);
			}
		}
	}
}

TEST_CASE("compression in the question is FORMERR, loops and all", "[server][answer]")
{
	decision server;
	bytes wire = dns::query(question{ "0.2.0.192.bl6.example.", dns::AAAA });
	uint8_t target = static_cast<uint8_t>(GENERATE(0, 4, 12, 13, 14, 255));
	bytes pointed(wire.begin(), wire.begin() + 12);
	dns::append(pointed, { 1, 'a', 0xc0, target, 0, 28, 0, 1 });
	CAPTURE(int(target));
	CHECK(message(server.make(pointed)).rcode == dns::FORMERR);
}

TEST_CASE("a name of 255 octets is a name, one of 256 is FORMERR", "[server][answer]")
{
	decision server;
	// ".bl6.example." is 13 octets on the wire, so 242 are left for labels.
	std::string filler;
	for (int i = 0; i < 3; i++)
		filler += std::string(63, 'a') + ".";
	std::string longest = filler + std::string(49, 'b') + ".bl6.example.";
	REQUIRE(dns::name(longest).size() == 255);
	CHECK(server.ask(longest, dns::AAAA).rcode == dns::NXDOMAIN);
	std::string below_wildcard = filler + std::string(36, 'b') + ".100.51.198.bl6.example.";
	REQUIRE(dns::name(below_wildcard).size() < 256);
	CHECK(server.ask(below_wildcard, dns::AAAA).answer.size() == 1);

	std::string too_long = filler + std::string(50, 'b') + ".bl6.example.";
	CHECK(server.ask(too_long, dns::AAAA).rcode == dns::FORMERR);
}

TEST_CASE("names of any bytes are looked up and not found", "[server][answer]")
{
	decision server;
	bytes wire = dns::query(question{ "xxxx.2.0.192.bl6.example.", dns::AAAA });
	for (unsigned value = 0; value < 256; value++) {
		for (size_t i = 13; i < 17; i++)
			wire[i] = static_cast<uint8_t>(value);
		CHECK(message(server.make(wire)).rcode == dns::NXDOMAIN);
	}
}

TEST_CASE("a query of many records is answered or FORMERR, never more memory", "[server][answer]")
{
	decision server;
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	unsigned count = GENERATE(1U, 20U, 200U, 255U);
	bytes records;
	for (unsigned i = 0; i < count; i++)
		dns::append(records, { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0 });
	bytes out = server.make(with_additional(asked, count, records));
	REQUIRE_FALSE(out.empty());
	message reply(out);
	CHECK((reply.rcode == dns::NOERROR || reply.rcode == dns::FORMERR));
}

TEST_CASE("each kind of answer is counted at its zone", "[server][answer][counters]")
{
	decision server;
	server.ask("0.2.0.192.bl6.example.", dns::AAAA);
	server.ask("0.2.0.192.bl6.example.", dns::A);
	server.ask("9.bl6.example.", dns::A);
	server.ask("bl6.example.", dns::AXFR);
	question asked;
	asked.name = "1.2.0.192.bl.example.";
	server.ask(asked, true);
	CHECK(server.counted(COUNTERS_FACE_QUERIES) == 4);
	CHECK(server.counted(COUNTERS_FACE_NOERROR) == 1);
	CHECK(server.counted(COUNTERS_FACE_NODATA) == 1);
	CHECK(server.counted(COUNTERS_FACE_NXDOMAIN) == 1);
	CHECK(server.counted(COUNTERS_FACE_REFUSED) == 1);
	CHECK(server.counted(COUNTERS_FACE_TCP) == 0);
	CHECK(server.counted(COUNTERS_FACE_QUERIES, 1) == 1);
	CHECK(server.counted(COUNTERS_FACE_NOERROR, 1) == 1);
	CHECK(server.counted(COUNTERS_FACE_TCP, 1) == 1);
	CHECK(server.counted(COUNTERS_SERVER_QUERIES) == 5);
}
