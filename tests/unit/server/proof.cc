// SPDX-License-Identifier: GPL-3.0-or-later
//
// Answers of a signed zone. Two views: tables that say by name what each kind
// of answer is proven with, and an oracle that knows the names of the zone as
// a plain set and works out the same by RFC 4034 and 4035, for any question.
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

#include <algorithm>

using dns::message;
using dns::question;
using dns::record;

static question secure(const std::string &name, uint16_t type, int payload = 1232)
{
	question asked;
	asked.name = name.empty() ? apex : name + "." + apex;
	asked.type = type;
	asked.edns_payload = payload;
	asked.edns_flags = 0x8000; // DO
	return asked;
}

static question plain(const std::string &name, uint16_t type)
{
	question asked = secure(name, type);
	asked.edns_flags = 0;
	return asked;
}

static store_options signed_store(dnsblv6_style style = DNSBLV6_STYLE_DOTTED)
{
	store_options options;
	options.is_signed = true;
	options.style = style;
	return options;
}

// ---- the oracle ----

struct canonical_less {
	static std::vector<std::string> labels(const std::string &name)
	{
		std::vector<std::string> out;
		size_t start = 0;
		while (start < name.size()) {
			size_t dot = std::min(name.find('.', start), name.size());
			out.insert(out.begin(), name.substr(start, dot - start));
			start = dot + 1;
		}
		return out;
	}
	bool operator()(const std::string &a, const std::string &b) const
	{
		return labels(a) < labels(b); // std::string compares as unsigned char
	}
};

// An RR without the RDATA of types that compress: owner, type, TTL, RDATA.
using line = std::tuple<std::string, uint16_t, uint32_t, bytes>;

static line line_of(const record &rr)
{
	bool is_compressed = rr.type == dns::NS || rr.type == dns::SOA;
	return { rr.owner, rr.type, rr.ttl, is_compressed ? bytes() : rr.rdata };
}

static std::vector<line> lines_of(const std::vector<record> &section)
{
	std::vector<line> out;
	for (const record &rr : section)
		out.push_back(line_of(rr));
	return out;
}

class oracle
{
      public:
	explicit oracle(const std::map<std::string, std::set<uint16_t>> &names)
	    : names_(names.begin(), names.end())
	{
	}
	// What AUTHORITY must hold for a question with DO.
	std::vector<line> authority(const std::string &name, uint16_t type) const
	{
		std::vector<line> out;
		const std::string source = source_of(name);
		bool is_answered = names_.count(source) != 0 && has_type(source, type);
		if (!is_answered)
			add_soa(out);
		if (exists(name) && is_answered)
			return out;
		const std::string first = speaker(name);
		add_nsec(out, first);
		if (!exists(name) && !is_answered && speaker(source) != first)
			add_nsec(out, speaker(source));
		return out;
	}
	unsigned rcode(const std::string &name) const
	{
		return exists(name) || exists(source_of(name)) ? dns::NOERROR : dns::NXDOMAIN;
	}
	// The stored name that answers for it, if that exists at all.
	std::string source_of(const std::string &name) const
	{
		return exists(name) ? name : wildcard_of(name);
	}
	bool has_type(const std::string &source, uint16_t type) const
	{
		return type == dns::NSEC || type == dns::RRSIG || type == dns::ANY ||
		       names_.at(source).count(type) != 0;
	}
	bool has_data(const std::string &source) const
	{
		return names_.count(source) != 0;
	}
	bytes nsec_rdata(const std::string &owner) const
	{
		auto at = std::next(names_.find(owner));
		bytes out = dns::name(full_name(at == names_.end() ? "" : at->first, apex));
		std::set<uint16_t> types = names_.at(owner);
		types.insert({ dns::RRSIG, dns::NSEC });
		bytes bits(*types.rbegin() / 8U + 1, 0);
		for (uint16_t type : types)
			bits[type / 8] = static_cast<uint8_t>(bits[type / 8] | 0x80 >> type % 8);
		dns::append(out, { 0, static_cast<uint8_t>(bits.size()) });
		dns::append(out, bits);
		return out;
	}

      private:
	std::map<std::string, std::set<uint16_t>, canonical_less> names_;

	bool exists(const std::string &name) const
	{
		const std::string below = "." + name;
		return name.empty() ||
		       std::any_of(names_.begin(), names_.end(), [&](const auto &entry) {
			       const std::string &have = entry.first;
			       return have == name || (have.size() > below.size() &&
						       have.compare(have.size() - below.size(),
								    below.size(), below) == 0);
		       });
	}
	std::string wildcard_of(std::string name) const
	{
		while (!exists(name)) {
			size_t dot = name.find('.');
			name = dot == std::string::npos ? "" : name.substr(dot + 1);
		}
		return name.empty() ? "*" : "*." + name;
	}
	// The name whose NSEC matches or covers.
	std::string speaker(const std::string &name) const
	{
		return std::prev(names_.upper_bound(name))->first;
	}
	static void add_soa(std::vector<line> &out)
	{
		out.emplace_back(apex, dns::SOA, 600, bytes());
		out.emplace_back(apex, dns::RRSIG, 600, rrsig_rdata("", apex, dns::SOA, 3600));
	}
	void add_nsec(std::vector<line> &out, const std::string &owner) const
	{
		out.emplace_back(full_name(owner, apex), dns::NSEC, 600, nsec_rdata(owner));
		out.emplace_back(full_name(owner, apex), dns::RRSIG, 600,
				 rrsig_rdata(owner, apex, dns::NSEC, 600));
	}
};

// A server of a signed store, and what is in it.
struct signed_server {
	std::map<std::string, std::set<uint16_t>> names;
	decision server;
	oracle truth;

	explicit signed_server(store_options options = signed_store())
	    : server(collecting(options, &names)), truth(names)
	{
	}
	static store_options collecting(store_options options,
					std::map<std::string, std::set<uint16_t>> *names)
	{
		options.names = names;
		return options;
	}
};

// ---- each kind of answer ----

TEST_CASE("an RRset comes with its signature, under the same owner and TTL", "[server][proof]")
{
	struct rrset_case {
		const char *name;
		uint16_t type;
		uint32_t ttl;
		size_t count;
	};
	auto c = GENERATE(values<rrset_case>({
		{ "0.2.0.192", dns::AAAA, 2100, 1 },
		{ "*.100.51.198", dns::AAAA, 2100, 1 },
		{ "0.cc.aabb.0db8.2001.ip6", dns::AAAA, 2100, 1 },
		{ "", dns::SOA, 3600, 1 },
		{ "", dns::NS, 86400, 3 },
		{ "", dns::TXT, 60, 1 },
		{ "", dns::DNSKEY, 3600, 1 },
		{ "ns1", dns::A, 86400, 1 },
		{ "ns1", dns::AAAA, 86400, 1 },
	}));
	CAPTURE(c.name, c.type);
	signed_server zone;
	message reply = zone.server.ask(secure(c.name, c.type));
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.has(dns::AA));
	CHECK_FALSE(reply.has(dns::AD));
	CHECK((reply.edns_flags & 0x8000) != 0);
	REQUIRE(reply.answer.size() == c.count + 1);
	CHECK(reply.answer[0].type == c.type);
	CHECK(line_of(reply.answer.back()) == line(full_name(c.name, apex), dns::RRSIG, c.ttl,
						   rrsig_rdata(c.name, apex, c.type, c.ttl)));
	CHECK(reply.authority.empty());
}

struct proof_case {
	const char *name;
	uint16_t type;
	unsigned rcode;
	std::vector<std::string> nsecs; // their owners
	const char *why;
};

static std::ostream &operator<<(std::ostream &out, const proof_case &c)
{
	return out << c.name << " " << c.type << ": " << c.why;
}

TEST_CASE("a negative answer is proven by the NSECs of RFC 4035 section 3.1.3", "[server][proof]")
{
	auto c = GENERATE(values<proof_case>({
		{ "0.2.0.192", dns::A, 0, { "0.2.0.192" }, "no such type: the name's own" },
		{ "", dns::AAAA, 0, { "" }, "no such type at the apex" },
		{ "", dns::DS, 0, { "" }, "DS of the apex: the parent's, and none of ours" },
		{ "ns1", dns::TXT, 0, { "ns1" }, "no such type at a static name" },
		{ "*.100.51.198", dns::A, 0, { "*.100.51.198" }, "the wildcard's own name" },
		{ "2.0.192", dns::AAAA, 0, { "0.5.0.127" }, "an empty non-terminal: covered" },
		{ "192", dns::A, 0, { "0.5.0.127" }, "an empty non-terminal above it" },
		{ "127", dns::AAAA, 0, { "" }, "covered by the apex" },
		{ "sub", dns::AAAA, 0, { "ns2" }, "a sub-zone's apex is empty" },
		{ "ip6", dns::AAAA, 0, { "0.9.9.9.deep.er" }, "an empty non-terminal" },
		{ "1.2.0.192", dns::AAAA, 3, { "0.2.0.192", "0.5.0.127" }, "and its wildcard" },
		{ "x.0.2.0.192", dns::AAAA, 3, { "0.2.0.192" }, "one covers *.0.2.0.192 as well" },
		{ "10", dns::AAAA, 3, { "" }, "one covers *.bl6.example as well" },
		{ "5.10", dns::AAAA, 3, { "" }, "the wildcard is at the encloser" },
		{ "zzz", dns::AAAA, 3, { "twelve", "" }, "behind the last name; and the wildcard" },
		{ "x.*.100.51.198", dns::AAAA, 3, { "*.100.51.198" }, "below a wildcard's name" },
		{ "3.0.192", dns::A, 3, { "0.2.0.192", "0.5.0.127" }, "no /24 there" },
		{ "0.100.51.198", dns::A, 0, { "*.100.51.198" }, "a wildcard without the type" },
		{ "a.b.77", dns::TXT, 0, { "*.77" }, "the wildcard's NSEC covers the name too" },
	}));
	CAPTURE(c);
	signed_server zone;
	message reply = zone.server.ask(secure(c.name, c.type));
	CHECK(reply.rcode == c.rcode);
	CHECK(reply.answer.empty());
	std::vector<line> expected = {
		{ apex, dns::SOA, 600, {} },
		{ apex, dns::RRSIG, 600, rrsig_rdata("", apex, dns::SOA, 3600) },
	};
	for (const std::string &owner : c.nsecs) {
		expected.emplace_back(full_name(owner, apex), dns::NSEC, 600,
				      zone.truth.nsec_rdata(owner));
		expected.emplace_back(full_name(owner, apex), dns::RRSIG, 600,
				      rrsig_rdata(owner, apex, dns::NSEC, 600));
	}
	CHECK(lines_of(reply.authority) == expected);
	CHECK(reply.additional.empty());
}

TEST_CASE("a wildcard's answer is signed as stored, and proven to be no name's own",
	  "[server][proof]")
{
	struct wildcard_case {
		const char *name;
		const char *wildcard;
		const char *covering;
	};
	auto c = GENERATE(values<wildcard_case>({
		{ "0.100.51.198", "*.100.51.198", "*.100.51.198" },
		{ "junk.100.51.198", "*.100.51.198", "*.100.51.198" },
		{ "a.b.100.51.198", "*.100.51.198", "*.100.51.198" },
		{ "!.100.51.198", "*.100.51.198", "0.2.0.192" }, // '!' is before '*'
		{ "1.7.0.203", "*.0.203", "*.0.203" },
	}));
	CAPTURE(c.name);
	signed_server zone;
	message reply = zone.server.ask(secure(c.name, dns::AAAA));
	CHECK(reply.rcode == dns::NOERROR);
	REQUIRE(reply.answer.size() == 2);
	const std::string owner = full_name(c.name, apex);
	CHECK(reply.answer[0].owner == owner);
	CHECK(line_of(reply.answer[1]) ==
	      line(owner, dns::RRSIG, 2100, rrsig_rdata(c.wildcard, apex, dns::AAAA, 2100)));
	CHECK(lines_of(reply.authority) ==
	      std::vector<line>{ { full_name(c.covering, apex), dns::NSEC, 600,
				   zone.truth.nsec_rdata(c.covering) },
				 { full_name(c.covering, apex), dns::RRSIG, 600,
				   rrsig_rdata(c.covering, apex, dns::NSEC, 600) } });
}

TEST_CASE("a wildcard without the type before which the name sorts takes two NSECs",
	  "[server][proof]")
{
	signed_server zone;
	message reply = zone.server.ask(secure("!.100.51.198", dns::A));
	CHECK(reply.rcode == dns::NOERROR);
	REQUIRE(reply.authority.size() == 6);
	CHECK(reply.authority[2].owner == "0.2.0.192.bl6.example.");	// covers the name
	CHECK(reply.authority[4].owner == "*.100.51.198.bl6.example."); // has AAAA only
}

TEST_CASE("the last name's NSEC leads back to the apex", "[server][proof]")
{
	signed_server zone;
	message reply = zone.server.ask(secure("twelve", dns::NSEC));
	REQUIRE(reply.answer.size() == 2);
	bytes rdata = dns::name(apex);
	dns::append(rdata, { 0, 6, 0, 0, 0x80, 0, 0, 0x03 }); // TXT, RRSIG, NSEC
	CHECK(reply.answer[0].rdata == rdata);
}

// ---- two algorithms ----

TEST_CASE("while one algorithm follows another every RRset has signatures of both",
	  "[server][proof]")
{
	const auto c = GENERATE(values<std::pair<const char *, uint16_t>>({
		{ "0.2.0.192", dns::AAAA },    // a bitmap
		{ "0.2.0.192", dns::A },       // without that type
		{ "0.100.51.198", dns::AAAA }, // a wildcard's
		{ "1.2.0.192", dns::AAAA },    // no such name
		{ "", dns::SOA },
		{ "", dns::NS },
		{ "ns1", dns::A },
	}));
	CAPTURE(c.first, c.second);
	store_options options = signed_store();
	options.is_signed_twice = true;
	signed_server zone(options);
	const message reply = zone.server.ask(secure(c.first, c.second));
	std::map<std::pair<std::string, uint16_t>, std::vector<int>> algorithms;
	for (const auto *section : { &reply.answer, &reply.authority }) {
		for (const record &rr : *section) {
			if (rr.type != dns::RRSIG) {
				algorithms[{ rr.owner, rr.type }];
				continue;
			}
			const auto covered = static_cast<uint16_t>(rr.rdata[0] << 8 | rr.rdata[1]);
			algorithms[{ rr.owner, covered }].push_back(rr.rdata[2]);
		}
	}
	REQUIRE_FALSE(algorithms.empty());
	for (auto &[rrset, found] : algorithms) {
		CAPTURE(rrset.first, rrset.second);
		std::sort(found.begin(), found.end());
		CHECK(found == std::vector<int>{ 13, 15 });
	}
}

// ---- questions for DNSSEC's own types ----

TEST_CASE("NSEC can be asked for at every name with data, with DO or without", "[server][proof]")
{
	auto name = GENERATE(as<std::string>{}, "", "0.2.0.192", "*.0.203", "ns1", "twelve");
	CAPTURE(name);
	signed_server zone;
	message reply = zone.server.ask(secure(name, dns::NSEC));
	CHECK(lines_of(reply.answer) ==
	      std::vector<line>{
		      { full_name(name, apex), dns::NSEC, 600, zone.truth.nsec_rdata(name) },
		      { full_name(name, apex), dns::RRSIG, 600,
			rrsig_rdata(name, apex, dns::NSEC, 600) } });
	CHECK(reply.authority.empty());
	message bare = zone.server.ask(plain(name, dns::NSEC));
	CHECK(lines_of(bare.answer) == std::vector<line>{ lines_of(reply.answer)[0] });
}

TEST_CASE("an empty non-terminal has no NSEC", "[server][proof]")
{
	signed_server zone;
	message reply = zone.server.ask(plain("2.0.192", dns::NSEC));
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.answer.empty());
	CHECK(reply.authority.size() == 1);
}

TEST_CASE("RRSIG gets the signatures of one RRset", "[server][proof]")
{
	struct rrsig_case {
		const char *name;
		uint16_t covered;
		uint32_t ttl;
	};
	auto c = GENERATE(values<rrsig_case>({
		{ "", dns::SOA, 3600 },
		{ "0.2.0.192", dns::AAAA, 2100 },
		{ "ns2", dns::A, 86400 },
	}));
	auto asked = GENERATE_COPY(secure(c.name, dns::RRSIG), plain(c.name, dns::RRSIG));
	CAPTURE(c.name, asked.edns_flags);
	signed_server zone;
	message reply = zone.server.ask(asked);
	CHECK(lines_of(reply.answer) ==
	      std::vector<line>{ { full_name(c.name, apex), dns::RRSIG, c.ttl,
				   rrsig_rdata(c.name, apex, c.covered, c.ttl) } });
}

TEST_CASE("DNSKEY is answered without DO, unsigned", "[server][proof]")
{
	signed_server zone;
	message reply = zone.server.ask(plain("", dns::DNSKEY));
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].rdata == dnskey_rdata());
}

TEST_CASE("ANY gets one RRset and its signature", "[server][proof]")
{
	signed_server zone;
	message reply = zone.server.ask(secure("", dns::ANY));
	REQUIRE(reply.answer.size() == 2);
	CHECK(reply.answer[0].type == dns::SOA);
	CHECK(reply.answer[1].rdata == rrsig_rdata("", apex, dns::SOA, 3600));
	CHECK(zone.server.ask(plain("", dns::ANY)).answer.size() == 1);
	CHECK(zone.server.ask(secure("0.2.0.192", dns::ANY)).answer.size() == 2);
}

// ---- who gets none of this ----

static size_t count_dnssec(const message &reply)
{
	size_t count = 0;
	for (const auto *section : { &reply.answer, &reply.authority, &reply.additional }) {
		for (const record &rr : *section)
			count += rr.type == dns::RRSIG || rr.type == dns::NSEC ||
				 rr.type == dns::DNSKEY;
	}
	return count;
}

static const std::vector<std::string> some_names = {
	"",	     "0.2.0.192", "2.0.192",	  "1.2.0.192", "0.100.51.198", "!.100.51.198",
	"ns1",	     "x.ns1",	  "many",	  "sub",       "ip6",	       "zzz",
	"1.7.0.203", "10",	  "*.100.51.198", "*",	       "er",	       "x.*.77",
};
static const std::vector<uint16_t> some_types = { dns::A,    dns::NS,  dns::SOA, dns::TXT,
						  dns::AAAA, dns::ANY, dns::DS,	 1000 };

TEST_CASE("without DO a signed zone is answered like an unsigned one", "[server][proof]")
{
	signed_server zone;
	decision other;
	for (const std::string &name : some_names) {
		for (uint16_t type : some_types) {
			CAPTURE(name, type);
			bytes wire = dns::query(plain(name, type));
			CHECK(zone.server.make(wire) == other.make(wire));
		}
	}
}

TEST_CASE("an unsigned zone is answered the same with DO, and has none of DNSSEC's types",
	  "[server][proof]")
{
	decision server;
	for (const std::string &name : some_names) {
		for (uint16_t type : some_types) {
			CAPTURE(name, type);
			message with = server.ask(secure(name, type));
			message without = server.ask(plain(name, type));
			CHECK(lines_of(with.answer) == lines_of(without.answer));
			CHECK(lines_of(with.authority) == lines_of(without.authority));
			CHECK(count_dnssec(with) == 0);
		}
		for (uint16_t type : { dns::RRSIG, dns::NSEC, dns::DNSKEY })
			CHECK(server.ask(secure(name, type)).answer.empty());
	}
}

TEST_CASE("signatures in a store that is not signed are no data", "[server][proof]")
{
	store_options options = signed_store();
	options.has_signing = false;
	signed_server zone(options);
	for (const std::string &name : some_names) {
		CAPTURE(name);
		message reply = zone.server.ask(secure(name, dns::RRSIG));
		CHECK(reply.answer.empty());
		CHECK(reply.rcode == zone.truth.rcode(name));
		CHECK(count_dnssec(zone.server.ask(secure(name, dns::TXT))) == 0);
	}
}

TEST_CASE("the classic zone of a signed store is never signed", "[server][proof][classic]")
{
	signed_server zone;
	for (const char *name : { "", "1.2.0.192.", "2.2.0.192.", "2.0.192.", "9.9.9.9.", "zzz.",
				  "1.100.51.198.", "sub." }) {
		for (uint16_t type : { dns::A, dns::TXT, dns::NS, dns::SOA, dns::ANY, dns::RRSIG,
				       dns::NSEC, dns::DNSKEY }) {
			CAPTURE(name, type);
			question asked = secure("", type);
			asked.name = std::string(name) + "bl.example.";
			message reply = zone.server.ask(asked);
			CHECK(reply.rcode != dns::SERVFAIL);
			CHECK(count_dnssec(reply) == 0);
		}
	}
}

// ---- against the oracle ----

// All of a reply but the RDATA of the data itself, which other tests look at.
static void check_against(signed_server &zone, const std::string &name, uint16_t type)
{
	CAPTURE(name, type);
	message reply = zone.server.ask(secure(name, type));
	const std::string source = zone.truth.source_of(name);
	bool is_answered = zone.truth.has_data(source) && zone.truth.has_type(source, type);
	CHECK(reply.rcode == zone.truth.rcode(name));
	CHECK(reply.size() <= 1232);
	bool is_long = source == "many" && type == dns::TXT; // 20 strings of 200 bytes
	CHECK(reply.has(dns::TC) == is_long);
	if (is_long)
		return;
	CHECK(reply.answer.empty() == !is_answered);
	CHECK(lines_of(reply.authority) == zone.truth.authority(name, type));
	if (is_answered && type == dns::AAAA && source != "ns1")
		CHECK(line_of(reply.answer.back()) ==
		      line(full_name(name, apex), dns::RRSIG, 2100,
			   rrsig_rdata(source, apex, dns::AAAA, 2100)));
}

TEST_CASE("any question gets the proof that RFC 4035 asks for", "[server][proof]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	auto seed = RANDOM_SEED(2);
	CAPTURE(style, seed);
	randomness rnd(static_cast<unsigned>(seed));
	signed_server zone(signed_store(style));
	std::vector<std::string> names;
	for (const auto &entry : zone.names)
		names.push_back(entry.first);
	static const uint16_t types[] = { dns::A, dns::AAAA, dns::NSEC, dns::RRSIG, dns::TXT };
	for (int i = 0; i < 2000; i++)
		check_against(zone, near_name(rnd, names), types[rnd.below(5)]);
}

// ---- size ----

TEST_CASE("the longest questions and names are answered below the payload or with TC",
	  "[server][proof]")
{
	signed_server zone;
	auto payload = GENERATE(512, 1232);
	for (unsigned filler = 1; filler <= 63; filler++) {
		std::string label(filler, 'a');
		std::string name = label + "." + label + "." + label + ".1.2.0.192";
		CAPTURE(filler, payload);
		question asked = secure(name, dns::AAAA, payload);
		bytes wire = zone.server.make(dns::query(asked));
		message reply(wire);
		CHECK(wire.size() <= static_cast<size_t>(payload));
		CHECK(reply.has(dns::TC) == reply.authority.empty());
		CHECK((payload == 512 || !reply.has(dns::TC)));
		message whole = zone.server.ask(asked, true);
		CHECK(whole.rcode == dns::NXDOMAIN);
		CHECK(lines_of(whole.authority) == zone.truth.authority(name, dns::AAAA));
	}
}

TEST_CASE("owner names of proofs are compressed, names in them are not", "[server][proof]")
{
	signed_server zone;
	question asked = secure("1.2.0.192", dns::AAAA);
	const size_t rrsig = 10 + 18 + 13 + 64; // type to size, fixed part, signer, signature
	const size_t types = 2 + 6;		// AAAA, RRSIG, NSEC
	CHECK(zone.server.make(dns::query(asked)).size() ==
	      dns::query(asked).size() + 2 + 10 + (4 + 2) + (11 + 2) + 20 + 2 + rrsig + // SOA
		      (2 + 2) + 10 + (13 + 13) + types + 2 + rrsig +  // 0[.2.0.192], *.100.51.198
		      (10 + 2) + 10 + (10 + 13) + types + 2 + rrsig); // 0.5.0.127, 0.2.0.192
}

TEST_CASE("addresses of name servers come signed, or not at all when there is no room",
	  "[server][proof]")
{
	store_options options = signed_store();
	options.more_ns = 10;
	signed_server zone(options);
	message reply = zone.server.ask(secure("", dns::NS));
	CHECK_FALSE(reply.has(dns::TC));
	CHECK(reply.answer.size() == 14);
	CHECK_FALSE(reply.additional.empty());
	CHECK(reply.additional.size() < 46);
}

TEST_CASE("over TCP all of them come, beyond what pointers reach", "[server][proof]")
{
	store_options options = signed_store();
	options.more_ns = GENERATE(10U, 60U);
	signed_server zone(options);
	bytes wire = zone.server.make(dns::query(secure("", dns::NS)), true);
	CHECK((wire.size() > 0x4000) == (options.more_ns == 60));
	message whole(wire);
	REQUIRE(whole.additional.size() == 6 + 4 * options.more_ns);
	for (size_t i = 0; i < whole.additional.size(); i += 2) {
		const record &address = whole.additional[i];
		const record &signature = whole.additional[i + 1];
		CHECK(signature.owner == address.owner);
		const std::string host = address.owner.substr(0, address.owner.find('.'));
		CHECK(signature.rdata == rrsig_rdata(host, apex, address.type, 86400));
	}
}

// ---- what is near its end, or damaged ----

TEST_CASE("signatures are told to be good, near their end, or expired", "[server][proof][zone]")
{
	struct zone zone = {};
	CHECK(zone_check_signatures(&zone, 5000000) == ZONE_SIGNATURES_GOOD); // not signed
	zone.is_signed = true;
	zone.signing.expires_s = 5000000;
	CHECK(zone_check_signatures(&zone, 0) == ZONE_SIGNATURES_GOOD);
	CHECK(zone_check_signatures(&zone, 5000000 - 3 * 86400) == ZONE_SIGNATURES_GOOD);
	CHECK(zone_check_signatures(&zone, 5000001 - 3 * 86400) == ZONE_SIGNATURES_END_SOON);
	CHECK(zone_check_signatures(&zone, 4999999) == ZONE_SIGNATURES_END_SOON);
	CHECK(zone_check_signatures(&zone, 5000000) == ZONE_SIGNATURES_ENDED);
	CHECK(zone_check_signatures(&zone, UINT64_MAX) == ZONE_SIGNATURES_ENDED);
}

TEST_CASE("answers with signatures near their end are given, and counted", "[server][proof]")
{
	store_options options = signed_store();
	options.signed_until_s = 5000000;
	signed_server zone(options);
	auto now_s = GENERATE(1000U, 4900000U, 6000000U);
	CHECK(zone.server.ask(secure("0.2.0.192", dns::AAAA), false, now_s).answer.size() == 2);
	CHECK(zone.server.counted(COUNTERS_FACE_EXPIRING) == (now_s == 1000U ? 0 : 1));
	CHECK(zone.server.ask(plain("0.2.0.192", dns::AAAA), false, now_s).answer.size() == 1);
	CHECK(zone.server.counted(COUNTERS_FACE_EXPIRING) == (now_s == 1000U ? 0 : 1));
}

TEST_CASE("a name that lacks its signatures is SERVFAIL with DO alone", "[server][proof]")
{
	auto name = GENERATE(as<std::string>{}, "0.2.0.192", "ns1");
	CAPTURE(name);
	store_options options = signed_store();
	options.unsigned_names = { name };
	signed_server zone(options);
	CHECK(zone.server.ask(secure(name, dns::AAAA)).rcode == dns::SERVFAIL);
	CHECK(zone.server.ask(secure(name, dns::TXT)).rcode == dns::SERVFAIL);
	CHECK(zone.server.ask(secure("x." + name, dns::A)).rcode == dns::SERVFAIL);
	CHECK(zone.server.ask(secure(name, dns::RRSIG)).rcode == dns::SERVFAIL);
	CHECK(zone.server.ask(plain(name, dns::AAAA)).answer.size() == 1);
	CHECK(zone.server.ask(plain("x." + name, dns::A)).rcode == dns::NXDOMAIN);
	CHECK(zone.server.ask(secure("0.0.0.127", dns::AAAA)).answer.size() == 2);
}

TEST_CASE("a name in the store that is too long under the apex is SERVFAIL, on both sides of it",
	  "[server][proof]")
{
	tmpdir directory;
	store_options options = signed_store();
	const std::string top(63, 't');
	options.apex = top + "." + top + ".example.";
	const std::string filler(61, 'z');
	options.more_bitmaps = { filler + "." + filler + "." + filler + "." + filler };
	write_store(directory.file("bl6.mdb"), options);
	decision server("zone:\n  - domain: " + options.apex +
				"\n    store: " + directory.file("bl6.mdb") + "\n",
			directory);
	question asked = secure("", dns::AAAA);
	asked.name = "twelve." + options.apex; // its NSEC has the long name
	CHECK(server.ask(asked).rcode == dns::SERVFAIL);
	asked.name = "~." + options.apex; // behind the long name
	CHECK(server.ask(asked).rcode == dns::SERVFAIL);
	asked.name = "ns1." + options.apex;
	CHECK(server.ask(asked).rcode == dns::NOERROR);
}

TEST_CASE("a signed store whose SOA has no signature is not opened", "[server][proof][zone]")
{
	store_options options = signed_store();
	options.unsigned_names = { "" };
	decision server(options);
	CHECK(server.catalog.zones[0].status == DNSBLV6_ERECORD);
	CHECK(server.ask(secure("0.2.0.192", dns::AAAA)).rcode == dns::SERVFAIL);
}
