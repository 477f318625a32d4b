// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/server/fixture.hh"
#include "lib/store/tables.h"

#include <catch2/catch.hpp>

#include <algorithm>

using dns::message;
using dns::question;

static std::string nibbles(const std::string &address, unsigned count = 32)
{
	in6_addr raw = {};
	REQUIRE(inet_pton(AF_INET6, address.c_str(), &raw) == 1);
	std::string out;
	for (unsigned i = 0; i < count; i++) {
		unsigned at = count - 1 - i;
		unsigned nibble = raw.s6_addr[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15;
		out += "0123456789abcdef"[nibble];
		out += '.';
	}
	return out;
}

// What is said: "127.0.0.2" of each A, the text of each TXT, sorted.
static std::vector<std::string> said(const message &reply)
{
	std::vector<std::string> out;
	for (const dns::record &rr : reply.answer) {
		if (rr.type == dns::A && rr.rdata.size() == 4)
			out.push_back(std::to_string(rr.rdata[0]) + "." +
				      std::to_string(rr.rdata[1]) + "." +
				      std::to_string(rr.rdata[2]) + "." +
				      std::to_string(rr.rdata[3]));
		else
			out.emplace_back(rr.rdata.begin() + 1, rr.rdata.end());
	}
	std::sort(out.begin(), out.end());
	return out;
}

using strings = std::vector<std::string>;

TEST_CASE("a listed address has the A and the TXT of its list", "[server][classic]")
{
	decision server;
	message a = server.ask("1.2.0.192.bl.example.", dns::A);
	CHECK(a.rcode == dns::NOERROR);
	CHECK(a.has(dns::AA));
	CHECK(said(a) == strings{ "127.0.0.2" });
	CHECK(a.answer[0].owner == "1.2.0.192.bl.example.");
	CHECK(a.answer[0].ttl == 2100);
	message txt = server.ask("1.2.0.192.bl.example.", dns::TXT);
	CHECK(said(txt) == strings{ "see https://bl.example/?ip=192.0.2.1" });
	CHECK(said(server.ask("1.2.0.192.bl.example.", dns::ANY)) == strings{ "127.0.0.2" });
}

TEST_CASE("an address that is not listed is NXDOMAIN with the SOA of the classic zone",
	  "[server][classic]")
{
	decision server;
	message reply = server.ask("2.2.0.192.bl.example.", dns::A);
	CHECK(reply.rcode == dns::NXDOMAIN);
	REQUIRE(reply.authority.size() == 1);
	CHECK(reply.authority[0].owner == "bl.example.");
	CHECK(reply.authority[0].type == dns::SOA);
	CHECK(reply.authority[0].ttl == 600);
}

TEST_CASE("several values of one address are one RRset of distinct data and the least TTL",
	  "[server][classic]")
{
	decision server;
	message a = server.ask("127.2.0.192.bl.example.", dns::A);
	CHECK(said(a) == strings{ "127.0.0.4", "127.0.0.5" });
	for (const dns::record &rr : a.answer)
		CHECK(rr.ttl == 300);
	message txt = server.ask("127.2.0.192.bl.example.", dns::TXT);
	CHECK(said(txt) == strings{ "a", "b" });
	CHECK(txt.answer[0].ttl == 400); // the value of 300 seconds has no text
}

struct classic_case {
	const char *name;
	uint16_t type;
	unsigned rcode;
	strings data;
	const char *why;
};

static std::ostream &operator<<(std::ostream &out, const classic_case &c)
{
	return out << c.name << " " << c.type << ": " << c.why;
}

TEST_CASE("classic names exist where something in their prefix is listed", "[server][classic]")
{
	auto c = GENERATE(values<classic_case>({
		{ "1.2.0.192", dns::AAAA, dns::NOERROR, {}, "A and TXT only" },
		{ "9.100.51.198", dns::A, dns::NOERROR, { "127.0.0.3" }, "a segment in a block" },
		{ "9.100.51.198", dns::TXT, dns::NOERROR, {}, "a value without text" },
		{ "8.100.51.198", dns::A, dns::NOERROR, { "127.0.0.2" }, "the rest of the block" },
		{ "255.100.51.198", dns::A, dns::NOERROR, { "127.0.0.2" }, "its other half" },
		{ "1.9.0.203", dns::A, dns::NOERROR, { "127.0.0.2" }, "a wildcard of a /16" },
		{ "1.2.3.77", dns::A, dns::NOERROR, { "127.0.0.2" }, "a wildcard of a /8" },
		{ "2.3.77", dns::A, dns::NOERROR, {}, "a /24 inside a listed /8" },
		{ "77", dns::A, dns::NOERROR, {}, "the listed /8 itself" },
		{ "2.0.192", dns::A, dns::NOERROR, {}, "a /24 with a listed address" },
		{ "0.192", dns::A, dns::NOERROR, {}, "a /16 with one" },
		{ "192", dns::A, dns::NOERROR, {}, "a /8 with one" },
		{ "3.0.192", dns::A, dns::NXDOMAIN, {}, "a /24 with none" },
		{ "193", dns::A, dns::NXDOMAIN, {}, "a /8 with none" },
		{ "9", dns::A, dns::NXDOMAIN, {}, "neither 9/8 nor a nibble 9" },
		{ "2", dns::A, dns::NOERROR, {}, "no 2/8, but nibbles below 2000::/4" },
		{ "01.2.0.192", dns::A, dns::NXDOMAIN, {}, "not canonical" },
		{ "256.2.0.192", dns::A, dns::NXDOMAIN, {}, "not an octet" },
		{ "x.1.2.0.192", dns::A, dns::NXDOMAIN, {}, "below an address" },
		{ "0.2.0.192.x", dns::A, dns::NXDOMAIN, {}, "not an address" },
		{ "_dnsblv6", dns::TXT, dns::NXDOMAIN, {}, "static names are the bitmap zone's" },
		{ "ns1", dns::A, dns::NXDOMAIN, {}, "static names are the bitmap zone's" },
		{ "ip6", dns::A, dns::NXDOMAIN, {}, "names of the bitmap zone" },
		{ "0.cc.aabb.0db8.2001.ip6",
		  dns::AAAA,
		  dns::NXDOMAIN,
		  {},
		  "names of the bitmap zone" },
		{ "2.0.0.127", dns::A, dns::NOERROR, { "127.0.0.2" }, "the test point" },
		{ "1.0.0.127", dns::A, dns::NXDOMAIN, {}, "the other test point" },
		{ "127.4.0.127", dns::A, dns::NXDOMAIN, {}, "a canary's bits are no listing" },
		{ "4.0.127", dns::A, dns::NXDOMAIN, {}, "a canary's block is empty" },
		{ "0.127", dns::A, dns::NOERROR, {}, "above the test point" },
		{ "5.2.0.192.sub", dns::A, dns::NOERROR, { "127.0.0.3" }, "a sub-zone" },
		{ "1.2.0.192.sub", dns::A, dns::NXDOMAIN, {}, "listed at the apex, not there" },
		{ "5.2.0.192", dns::A, dns::NXDOMAIN, {}, "listed there, not at the apex" },
		{ "sub", dns::A, dns::NOERROR, {}, "a sub-zone's apex" },
		{ "127.4.0.127.sub", dns::A, dns::NXDOMAIN, {}, "a canary's bits, of a sub-zone" },
		{ "4.0.127.sub", dns::A, dns::NXDOMAIN, {}, "its block is empty there too" },
		{ "0.192.sub", dns::A, dns::NOERROR, {}, "something is listed below" },
		{ "1.192.sub", dns::A, dns::NXDOMAIN, {}, "nothing is" },
		{ "er", dns::A, dns::NOERROR, {}, "above a sub-zone" },
		{ "deep.er", dns::A, dns::NOERROR, {}, "a sub-zone of two labels" },
		{ "9.9.9.9.deep.er", dns::A, dns::NOERROR, { "127.0.0.3" }, "an address there" },
		{ "9.9.9.9.er", dns::A, dns::NXDOMAIN, {}, "an address above it" },
	}));
	CAPTURE(c);
	decision server;
	message reply = server.ask(std::string(c.name) + ".bl.example.", c.type);
	CHECK(reply.rcode == c.rcode);
	CHECK(said(reply) == c.data);
	CHECK(reply.authority.size() == (c.data.empty() ? 1 : 0));
}

TEST_CASE("an IPv6 address is 32 nibbles, and its /64 is listed or not as segments say",
	  "[server][classic]")
{
	decision server;
	auto ask = [&](const std::string &name, uint16_t type) {
		return server.ask(name + "bl.example.", type);
	};
	CHECK(said(ask(nibbles("2001:db8:aabb:cc00::1"), dns::A)) == strings{ "127.0.0.2" });
	CHECK(said(ask(nibbles("2001:db8:aabb:cc00::1"), dns::TXT)) ==
	      strings{ "see https://bl.example/?ip=2001:db8:aabb:cc00::1" });
	CHECK(ask(nibbles("2001:db8:aabb:cc01::1"), dns::A).rcode == dns::NXDOMAIN);
	CHECK(said(ask(nibbles("2001:bad:1:2:3:4:5:6"), dns::A)) == strings{ "127.0.0.2" });
	// Of 2001:db8:aabb:cc05::/64 one address alone is listed.
	CHECK(said(ask(nibbles("2001:db8:aabb:cc05::1"), dns::A)) ==
	      strings{ "127.0.0.4", "127.0.0.5" });
	CHECK(ask(nibbles("2001:db8:aabb:cc05::"), dns::A).rcode == dns::NXDOMAIN);
	CHECK(ask(nibbles("2001:db8:aabb:cc05::2"), dns::A).rcode == dns::NXDOMAIN);
}

TEST_CASE("every name above a listed IPv6 address is empty and its neighbour does not exist",
	  "[server][classic]")
{
	decision server;
	auto count = GENERATE(range(1U, 32U));
	CAPTURE(count);
	auto rcode = [&](const std::string &address) {
		return server.ask(nibbles(address, count) + "bl.example.", dns::A).rcode;
	};
	CHECK(rcode("2001:db8:aabb:cc00::1") == dns::NOERROR);
	CHECK(rcode("2001:db8:aabb:cc05::1") == dns::NOERROR);
	CHECK(rcode("2001:bad:1:2:3:4:5:6") == dns::NOERROR);
	// The last nibble of the name turned: listed only where a neighbour is.
	if (count >= 17)
		CHECK(rcode("2001:db8:aabb:cc05:ffff:ffff:ffff:ffff") == dns::NXDOMAIN);
	if (count == 16)
		CHECK(rcode("2001:db8:aabb:cc06::") == dns::NXDOMAIN);
	if (count >= 12 && count < 16)
		CHECK(rcode("2001:db8:aabc::") == dns::NXDOMAIN);
	CHECK(rcode("3001:db8::") == dns::NXDOMAIN);
}

TEST_CASE("an IPv4-mapped name is the IPv4 address", "[server][classic]")
{
	decision server;
	CHECK(said(server.ask(nibbles("::ffff:192.0.2.1") + "bl.example.", dns::A)) ==
	      strings{ "127.0.0.2" });
	CHECK(said(server.ask(nibbles("::ffff:192.0.2.1") + "bl.example.", dns::TXT)) ==
	      strings{ "see https://bl.example/?ip=192.0.2.1" });
	CHECK(server.ask(nibbles("::ffff:192.0.2.2") + "bl.example.", dns::A).rcode ==
	      dns::NXDOMAIN);
	auto count = GENERATE(range(1U, 32U));
	CAPTURE(count);
	CHECK(server.ask(nibbles("::ffff:192.0.2.1", count) + "bl.example.", dns::A).rcode ==
	      dns::NOERROR);
	if (count >= 25)
		CHECK(server.ask(nibbles("::ffff:1.1.1.1", count) + "bl.example.", dns::A).rcode ==
		      dns::NXDOMAIN);
}

TEST_CASE("a 6to4 name has the values of both its addresses", "[server][classic]")
{
	decision server;
	// 2002:c000:201::/64 is listed with one value, 192.0.2.1 with another.
	CHECK(said(server.ask(nibbles("2002:c000:201::7") + "bl.example.", dns::A)) ==
	      strings{ "127.0.0.2", "127.0.0.3" });
	CHECK(said(server.ask(nibbles("2002:c000:201::7") + "bl.example.", dns::TXT)) ==
	      strings{ "see https://bl.example/?ip=192.0.2.1" });

	message both = server.ask(nibbles("2002:c000:201::7") + "bl.example.", dns::A);
	for (const dns::record &rr : both.answer)
		CHECK(rr.ttl == 900); // the lesser of the two
	// 192.0.2.127 is listed, 2002:c000:27f::/48 is not.
	CHECK(said(server.ask(nibbles("2002:c000:27f:1:2:3:4:5") + "bl.example.", dns::A)) ==
	      strings{ "127.0.0.4", "127.0.0.5" });
	CHECK(server.ask(nibbles("2002:c000:202::1") + "bl.example.", dns::A).rcode ==
	      dns::NXDOMAIN);
	auto count = GENERATE(range(1U, 32U));
	CAPTURE(count);
	CHECK(server.ask(nibbles("2002:c000:27f:1:2:3:4:5", count) + "bl.example.", dns::A).rcode ==
	      dns::NOERROR);
}

TEST_CASE("the apex of a classic zone has the SOA and the NS of the store", "[server][classic]")
{
	decision server;
	message soa = server.ask("bl.example.", dns::SOA);
	REQUIRE(soa.answer.size() == 1);
	CHECK(soa.answer[0].owner == "bl.example.");
	CHECK(soa.answer[0].target == "ns1.bl6.example.");
	CHECK(soa.answer[0].ttl == 3600);
	message ns = server.ask("bl.example.", dns::NS);
	CHECK(ns.answer.size() == 3);
	CHECK(server.ask("bl.example.", dns::TXT).answer.size() == 1);
	CHECK(server.ask("bl.example.", dns::A).answer.empty());
	CHECK(server.ask("bl.example.", dns::A).rcode == dns::NOERROR);
	CHECK(server.ask("bl.example.", dns::ANY).answer.size() == 1);
}

TEST_CASE("values that do not fit go over TCP, and SERVFAIL is what cannot fit there",
	  "[server][classic]")
{
	decision server;
	question asked;
	asked.name = "5.1.0.203.bl.example."; // 200 texts of 250 bytes
	asked.type = dns::TXT;
	asked.edns_payload = 1232;
	CHECK(server.ask(asked).has(dns::TC));
	message reply = server.ask(asked, true);
	CHECK_FALSE(reply.has(dns::TC));
	CHECK(reply.answer.size() == 200);
	asked.name = "5.2.0.203.bl.example."; // 255 of them
	CHECK(server.ask(asked, true).rcode == dns::SERVFAIL);
	asked.type = dns::A;
	CHECK(server.ask(asked, true).answer.size() == 255);
}

static int drop_set(writer *w, void *)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	dnsblv6_set_make_key(1, key);
	return writer_delete(w, STORE_SETS, key, sizeof(key));
}

TEST_CASE("a value set that is missing is SERVFAIL, not an empty answer", "[server][classic]")
{
	decision server;
	catalog_deinit(&server.catalog);
	REQUIRE(writer_run(server.path().c_str(), &zone_store, drop_set, nullptr) == 0);
	tmpdir directory;
	decision reopened("zone:\n  - domain: bl6.example.\n    store: " + server.path() +
				  "\n    classic: bl.example.\n",
			  directory);
	CHECK(reopened.ask("1.2.0.192.bl.example.", dns::A).rcode == dns::SERVFAIL);
	CHECK(reopened.ask("127.2.0.192.bl.example.", dns::A).answer.size() == 2);
}

TEST_CASE("a store of flat names has the same classic zone", "[server][classic]")
{
	store_options options;
	options.style = DNSBLV6_STYLE_FLAT;
	decision server(options);
	auto ask = [&](const std::string &name) {
		return server.ask(name + ".bl.example.", dns::A);
	};
	CHECK(server.ask("c000020.bl6.example.", dns::AAAA).answer.size() == 1);
	CHECK(said(ask("1.2.0.192")) == strings{ "127.0.0.2" });
	CHECK(said(ask("127.2.0.192")) == strings{ "127.0.0.4", "127.0.0.5" });
	CHECK(said(ask("5.2.0.192.sub")) == strings{ "127.0.0.3" });
	CHECK(ask("2.2.0.192").rcode == dns::NXDOMAIN);
	for (const char *name : { "2.0.192", "0.192", "192", "0.0.127", "2.0.192.sub" }) {
		CAPTURE(name);
		CHECK(ask(name).rcode == dns::NOERROR);
		CHECK(ask(name).answer.empty());
	}
	for (const char *name : { "3.0.192", "1.192", "193", "1.0.127", "c000020" }) {
		CAPTURE(name);
		CHECK(ask(name).rcode == dns::NXDOMAIN);
	}
	std::string listed = nibbles("2001:db8:aabb:cc00::1");
	CHECK(said(server.ask(listed + "bl.example.", dns::A)) == strings{ "127.0.0.2" });
	for (unsigned count = 1; count < 32; count++) {
		CAPTURE(count);
		CHECK(server.ask(nibbles("2001:db8:aabb:cc00::1", count) + "bl.example.", dns::A)
			      .rcode == dns::NOERROR);
		if (count >= 13)
			CHECK(server.ask(nibbles("2001:db8:aabb:dc80::1", count) + "bl.example.",
					 dns::A)
				      .rcode == dns::NXDOMAIN);
	}
}
