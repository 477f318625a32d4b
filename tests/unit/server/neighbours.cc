// SPDX-License-Identifier: GPL-3.0-or-later
//
// The names beside one that is not there: which are chosen, whose proofs go with an answer, and
// that no forged query makes more bytes for it.
#include "server/zone/neighbours.h"
#include "tests/lib/seeds.hh"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

#include <algorithm>

using dns::message;
using dns::question;
using dns::record;

static std::string flat(unsigned number)
{
	char text[16];
	snprintf(text, sizeof(text), "%06x%u", number / 2, number % 2);
	return text;
}

// Blocks at every tenth number from 0xa00000 on.
static store_options many_blocks(unsigned count = 40)
{
	store_options options;
	options.is_signed = true;
	options.style = DNSBLV6_STYLE_FLAT;
	for (unsigned i = 0; i < count; i++)
		options.more_bitmaps.push_back(flat(2 * 0xa00000 + 10 * i));
	return options;
}

// ---- the choice ----

// A zone over a store, and the owners that neighbours_find() chooses.
class choice
{
      public:
	explicit choice(const store_options &options)
	{
		write_store(path_, options);
		zone_init(&zone_, apex_.data(), apex_.size(), path_.c_str());
		REQUIRE(zone_open(&zone_) == 0);
		REQUIRE(zone_begin(&zone_) == 0);
	}
	~choice()
	{
		zone_close(&zone_);
	}
	choice(const choice &) = delete;
	choice &operator=(const choice &) = delete;

	// "owner>next", relative to the apex.
	std::vector<std::string> beside(const std::string &name, unsigned side_max,
					size_t room = 65535)
	{
		dnsblv6_labels owner = labels(name);
		dnsblv6_key key;
		REQUIRE(dnsblv6_key_from_labels(owner.wire, owner.size, &key) == DNSBLV6_OK);
		zone_link cover;
		REQUIRE(zone_find_link(&zone_, key.bytes, key.size, &cover) == DNSBLV6_OK);
		neighbours found;
		const neighbours_grant grant = { side_max, 0, client };
		neighbours_find(&zone_, &key, &cover, &grant, room, &found);
		given = found.given;
		std::vector<std::string> out;
		for (unsigned i = 0; i < given.count; i++)
			out.push_back(text(found.links[i].entry.key) + ">" +
				      text(found.links[i].next));
		return out;
	}

	// What frequent ranges are counted in, and what became of the last grant.
	frequent_client client = {};
	neighbours_given given = {};

      private:
	tmpdir directory_;
	std::string path_ = directory_.file("bl6.mdb");
	bytes apex_ = dns::name(apex);
	zone zone_;

	static std::string text(const store_bytes &key)
	{
		dnsblv6_labels name;
		char out[DNSBLV6_NAME_TEXT_SIZE];
		REQUIRE(dnsblv6_key_to_labels(key.data, key.size, &name) == DNSBLV6_OK);
		return { out, dnsblv6_name_format(name.wire, name.size, out) };
	}
};

static store_options blocks(const std::vector<std::string> &names)
{
	store_options options = many_blocks(0);
	options.more_bitmaps = names;
	return options;
}

using texts = std::vector<std::string>;

TEST_CASE("neighbours are chosen from both sides by turns, the nearest first",
	  "[server][neighbours]")
{
	choice of(blocks({ "a000000", "a000010", "a000020", "a000030", "a000040", "a000050" }));
	CHECK(of.beside("a000021", 0).empty());
	CHECK(of.beside("a000021", 1) == texts{ "a000030>a000040", "a000010>a000020" });
	CHECK(of.beside("a000021", 2) ==
	      texts{ "a000030>a000040", "a000010>a000020", "a000040>a000050", "a000000>a000010" });
	CHECK(of.beside("a000021", 3) == texts{ "a000030>a000040", "a000010>a000020",
						"a000040>a000050", "a000000>a000010",
						"a000050>c000020", "7f00000>a000000" });
	CHECK(of.beside("a000021", NEIGHBOURS_SIDE_MAX).size() == 7);
	CHECK(of.beside("a000021", 1000).size() == 7);
}

TEST_CASE("the last name of a side leads out of the flat names", "[server][neighbours]")
{
	choice of(blocks({ "a000010" }));
	// The first one is 7f00000, whose own proof is the cover; before it stands the apex.
	CHECK(of.beside("8000001", 4) == texts{ "a000010>c000020", "c000020>20010db8aabbcc0.ip6" });
	CHECK(of.beside("0000001", 4) ==
	      texts{ "7f00000>a000010", "a000010>c000020", "c000020>20010db8aabbcc0.ip6" });
	CHECK(of.beside("ffffff1", 4) == texts{ "a000010>c000020", "7f00000>a000010" });
}

TEST_CASE("families and sub-zones have neighbours of their own", "[server][neighbours]")
{
	choice of(blocks({ "20010db8aabbcc1.ip6", "20010db8aabbff0.ip6", "c000030.sub" }));
	CHECK(of.beside("20010db8aabbdd0.ip6", 4) ==
	      texts{ "20010db8aabbff0.ip6>many", "20010db8aabbcc0.ip6>20010db8aabbcc1.ip6" });
	CHECK(of.beside("c000021.sub", 4) == texts{ "c000030.sub>twelve" });
}

TEST_CASE("the last name of the zone leads to the apex", "[server][neighbours]")
{
	choice of(blocks({ "c000020.zz", "c000030.zz", "c000040.zz" }));
	CHECK(of.beside("c000031.zz", 4) == texts{ "c000040.zz>@", "c000020.zz>c000030.zz" });
}

TEST_CASE("a name that is not flat has no neighbours", "[server][neighbours]")
{
	choice of(blocks({ "a000010", "a000020", "a000030", "a000040", "0.2.0.192", "1.2.0.192" }));
	CHECK(of.beside("a000021", 1).size() == 2);
	for (const char *name :
	     { "@", "a00002", "a0000211", "a000022", "g000021", "a00002-", "0.2.0.193", "1.1.0.192",
	       "x.a000021", "ip6", "a000021x.ip6", "_dnsblv6" }) {
		CAPTURE(name);
		CHECK(of.beside(name, 4).empty());
	}
}

// The dotted names of an octet sort between flat names: "160" between 15fffff1 and 1600000.
TEST_CASE("names of a side end where another name lies between", "[server][neighbours]")
{
	choice of(blocks({ "1500000", "15f0000", "0.2.0.160", "1600000", "1600010", "1700000" }));
	CHECK(of.beside("15f0001", 4) == texts{ "1500000>15f0000" });
	CHECK(of.beside("1600001", 4) == texts{ "1600010>1700000", "1700000>7f00000",
						"7f00000>c000020", "c000020>20010db8aabbcc0.ip6" });
	// A bitmap of no flat form, and a name that is flat and no bitmap.
	choice other(blocks({ "b000010", "b000011x", "b000020", "b000030" }));
	CHECK(other.beside("b000021", 4) ==
	      texts{ "b000030>c000020", "c000020>20010db8aabbcc0.ip6" });
}

TEST_CASE("a name without its signatures is no neighbour", "[server][neighbours]")
{
	store_options options = many_blocks(5);
	options.unsigned_names = { flat(2 * 0xa00000 + 10) };
	choice of(options);
	CHECK(of.beside(flat(2 * 0xa00000 + 21), 1) ==
	      texts{ flat(2 * 0xa00000 + 30) + ">" + flat(2 * 0xa00000 + 40) });
}

TEST_CASE("neighbours end with the first for which there is no room", "[server][neighbours]")
{
	choice of(many_blocks());
	const std::string asked = flat(2 * 0xa00000 + 105);
	const texts all = of.beside(asked, 16);
	REQUIRE(all.size() == 27); // ten before, and 7f00000; sixteen behind
	// Label, pointer, head, next name and types; pointer, head, RRSIG.
	const size_t one = 8 + 2 + 10 + (8 + 13) + 8 + 2 + 10 + 18 + 13 + 64;
	for (size_t room = 0; room < 9 * one; room++) {
		CAPTURE(room);
		const texts some = of.beside(asked, 16, room);
		REQUIRE(some.size() == room / one);
		REQUIRE(std::equal(some.begin(), some.end(), all.begin()));
	}
}

// ---- frequent ranges ----

// A choice for a client, in a zone where some ranges have come back.
struct frequent_choice : choice {
	explicit frequent_choice(const store_options &options) : choice(options)
	{
		REQUIRE(frequent_open(&bank, 64, 1) == 0);
		frequent *ranges = nullptr;
		REQUIRE(frequent_new(&bank, &ranges) == 0);
		client = { ranges, 0xc0000200, 1000 };
	}
	~frequent_choice()
	{
		frequent_free(client.frequent);
		frequent_close(&bank);
	}
	frequent_choice(const frequent_choice &) = delete;
	frequent_choice &operator=(const frequent_choice &) = delete;

	void ask(const std::string &name, unsigned times)
	{
		for (unsigned i = 0; i < times; i++) {
			beside(name, 1);
			REQUIRE(given.has_range);
			count(given.group, given.number);
		}
	}
	// By a client that counts once.
	void count(frequent_group group, uint64_t number)
	{
		const frequent_client other = { client.frequent, ++others, client.now_ms };
		frequent_count(&other, group, number);
	}
	void wait()
	{
		client.now_ms += FREQUENT_ORDER_MS;
	}

	frequent_bank bank = {};
	uint64_t others = 0;
};

TEST_CASE("frequent ranges go before the names beside, and none goes twice",
	  "[server][neighbours][frequent]")
{
	frequent_choice of(blocks({ "a000000", "a000010", "a000020", "a000030", "a000040",
				    "a000050", "b000000", "b000010" }));
	of.ask("b000001", 3); // begins at b000000
	of.ask("a000011", 2);
	of.ask("a000021", 9);
	of.wait();
	// The most frequent one is the cover, of which the third is a neighbour.
	CHECK(of.beside("a000021", 1) ==
	      texts{ "b000000>b000010", "a000030>a000040", "a000010>a000020" });
	CHECK(of.given.advanced == 2); // as many as there is room for at the sides
	CHECK(of.beside("a000021", 2) == texts{ "b000000>b000010", "a000010>a000020",
						"a000030>a000040", "a000040>a000050",
						"a000000>a000010" });
	CHECK(of.given.advanced == 3);
	CHECK(of.given.has_range);
	CHECK(of.given.number == 0xa00002 * 2);
	CHECK(of.beside("a000021", 0).empty());
	// Room for one.
	CHECK(of.beside("a000021", 2, 170) == texts{ "b000000>b000010" });
	CHECK(of.given.advanced == 2);
}

TEST_CASE("a frequent range that has no name any more is passed over",
	  "[server][neighbours][frequent]")
{
	frequent_choice of(blocks({ "a000000", "a000010", "a000020" }));
	for (const uint64_t gone : { 0xa00000 * 2 + 7, 0, 0x1ffffff, 0x2000000, 1 }) {
		of.count({ 0, false }, gone);
		of.count({ 0, false }, gone);
	}
	of.ask("a000011", 2);
	of.wait();
	CHECK(of.beside("a000001", 4, 500) ==
	      texts{ "a000010>a000020", "7f00000>a000000", "a000020>c000020" });
	CHECK(of.given.advanced == 6);
}

TEST_CASE("a frequent range that there is no room for does not keep others back",
	  "[server][neighbours][frequent]")
{
	// The next name of the first is long.
	const std::string longest(50, 'x');
	frequent_choice of(
		blocks({ "a000000", "a000010", "a000020", "a000030", "a000030" + longest }));
	for (unsigned i = 0; i < 9; i++)
		of.count({ 0, false }, 0xa00003 * 2);
	of.ask("a000011", 2);
	of.wait();
	CHECK(of.beside("a000001", 1, 200) == texts{ "a000010>a000020" });
	CHECK(of.given.advanced == 2);
}

TEST_CASE("families have frequent ranges of their own, and other places have none",
	  "[server][neighbours][frequent]")
{
	frequent_choice of(blocks({ "20010db8aabb000.ip6", "20010db8aabbff0.ip6", "c000030.sub",
				    "a000000", "a000010" }));
	of.ask("20010db8aabb001.ip6", 2);
	of.ask("a000001", 2);
	of.wait();
	CHECK(of.beside("20010db8aabbff1.ip6", 4, 200) ==
	      texts{ "20010db8aabb000.ip6>20010db8aabbcc0.ip6" });
	CHECK(of.given.group.is_ipv6);
	CHECK(of.beside("a000011", 4, 170) == texts{ "a000000>a000010" });
	CHECK_FALSE(of.given.group.is_ipv6);
	of.beside("c000031.sub", 4);
	CHECK_FALSE(of.given.has_range);
	CHECK(of.given.advanced == 0);
	// The range before the first flat name begins at none.
	CHECK(of.beside("0000001", 4, 170) == texts{ "a000000>a000010" });
	CHECK_FALSE(of.given.has_range);
}

// ---- answers ----

static question about(const std::string &name, int payload = 1232)
{
	question asked;
	asked.name = full_name(name, apex);
	asked.type = dns::AAAA;
	asked.edns_payload = payload;
	asked.edns_flags = 0x8000; // DO
	return asked;
}

static std::string unlisted(unsigned i)
{
	return flat(2 * 0xa00000 + 10 * i + 5);
}

// Of the i-th block, which is listed; the name above is in the range that begins there.
static std::string flat_name_of(unsigned i)
{
	return flat(2 * 0xa00000 + 10 * i);
}

// A server of the flat store above.
struct flat_server {
	tmpdir directory;
	std::unique_ptr<decision> server;

	explicit flat_server(const std::string &zone_lines = "",
			     const store_options &options = many_blocks(),
			     const std::string &server_lines = "")
	{
		std::string path = directory.file("bl6.mdb");
		write_store(path, options);
		server = std::make_unique<decision>(
			"server:\n    cookie-secret: e5e973e5a6b2a43f48e7dc849e37bfcf\n" +
				server_lines + "zone:\n  - domain: bl6.example.\n    store: " +
				path + "\n" + zone_lines,
			directory);
		server->client = "192.0.2.1";
	}
	bytes good_cookie()
	{
		question asked = about(unlisted(0));
		bytes cookie;
		asked.edns_options = option(option_cookie, bytes(8, 1));
		REQUIRE(server->ask(asked).find_option(option_cookie, cookie));
		return cookie;
	}
	unsigned count(const question &asked, bool is_tcp = false)
	{
		return count_nsecs(server->ask(asked, is_tcp));
	}
	static unsigned count_nsecs(const message &reply)
	{
		return static_cast<unsigned>(
			std::count_if(reply.authority.begin(), reply.authority.end(),
				      [](const record &rr) { return rr.type == dns::NSEC; }));
	}
};

static const unsigned plain_nsecs = 2; // of the name and of the wildcard

TEST_CASE("a denial has the proofs of the names beside it, each with its signature",
	  "[server][neighbours]")
{
	auto side = GENERATE(0U, 1U, 2U, 16U);
	CAPTURE(side);
	flat_server flat("    neighbours: " + std::to_string(side) + "\n");
	message reply = flat.server->ask(about(unlisted(10)), true);
	CHECK(reply.rcode == dns::NXDOMAIN);
	std::set<std::string> owners;
	for (size_t i = 0; i < reply.authority.size(); i += 2) {
		const record &data = reply.authority[i];
		const record &rrsig = reply.authority[i + 1];
		CAPTURE(data.owner);
		CHECK(data.type == (i == 0 ? dns::SOA : dns::NSEC));
		REQUIRE(rrsig.type == dns::RRSIG);
		CHECK(rrsig.owner == data.owner);
		CHECK(rrsig.ttl == data.ttl);
		CHECK((rrsig.rdata[0] << 8 | rrsig.rdata[1]) == data.type);
		if (data.type == dns::NSEC)
			CHECK(owners.insert(data.owner).second); // none is there twice
	}
	const unsigned wanted = plain_nsecs + std::min(2 * side, 4U);
	CHECK(flat_server::count_nsecs(reply) == wanted);
}

TEST_CASE("what is no denial of a flat name, or for a client without DO, has no neighbours",
	  "[server][neighbours]")
{
	flat_server flat;
	question asked = about(unlisted(10));
	CHECK(flat.count(asked, true) > plain_nsecs);
	asked.edns_flags = 0;
	CHECK(flat.count(asked, true) == 0);
	CHECK(flat.count(about("a000000"), true) == 0); // is listed
	asked = about("a000000");
	asked.type = dns::A;
	CHECK(flat.count(asked, true) == 1); // no data
	CHECK(flat.count(about("nowhere"), true) == plain_nsecs);
	CHECK(flat.count(about("ip6"), true) == 1);

	store_options dotted = many_blocks();
	dotted.style = DNSBLV6_STYLE_DOTTED;
	flat_server other("", dotted);
	CHECK(other.count(about(unlisted(10)), true) == plain_nsecs);
	CHECK(other.count(about("0.9.9.9"), true) == plain_nsecs);
}

TEST_CASE("an answer with neighbours has at most 1232 bytes and is never cut for them",
	  "[server][neighbours]")
{
	flat_server flat("    neighbours: 16\n", many_blocks(), "    udp-max-payload: 4096\n");
	const bytes cookie = flat.good_cookie();
	const size_t plain = [&] {
		flat_server none("    neighbours: 0\n");
		question asked = about(unlisted(10));
		asked.edns_options = option(option_cookie, cookie);
		return none.server->make(dns::query(asked)).size();
	}();
	unsigned last = plain_nsecs;
	for (int payload = 512; payload <= 4096; payload++) {
		question asked = about(unlisted(10), payload);
		asked.edns_options = option(option_cookie, cookie);
		bytes wire = flat.server->make(dns::query(asked));
		message reply(wire);
		CAPTURE(payload, plain);
		REQUIRE(reply.has(dns::TC) == (static_cast<size_t>(payload) < plain));
		REQUIRE(wire.size() <= std::min<size_t>(static_cast<size_t>(payload), 1232));
		if (reply.has(dns::TC))
			continue;
		const unsigned count = flat_server::count_nsecs(reply);
		REQUIRE(count >= last);
		last = count;
	}
	CHECK(last == plain_nsecs + 4);
	CHECK(flat.server->make(dns::query(about(unlisted(10))), true).size() <= 1232);
}

TEST_CASE("a client is given proofs of what others came back to, once in a negative TTL",
	  "[server][neighbours][frequent]")
{
	flat_server flat("    neighbours: 1\n");
	flat.server->remember();
	// By a client with no cookie and no limit, and by one that wants no proofs: not counted.
	for (unsigned i = 0; i < 5; i++) {
		flat.count(about(unlisted(1)));
		question plain = about(unlisted(2));
		plain.edns_flags = 0;
		flat.count(plain, true);
		flat.count(about(unlisted(30)), true);
		flat.count(about(flat_name_of(3)), true); // is listed
		flat.server->now_ms += 1000;
	}
	flat.server->now_ms += FREQUENT_ORDER_MS;
	flat.server->client = "198.51.100.1";
	const auto owners = [&](unsigned i) {
		std::set<std::string> out;
		for (const record &rr : flat.server->ask(about(unlisted(i)), true).authority)
			if (rr.type == dns::NSEC)
				out.insert(rr.owner);
		return out;
	};
	const std::string frequent = full_name(flat_name_of(30), apex);
	for (unsigned i = 1; i <= 3; i++)
		CHECK(owners(10).count(full_name(flat_name_of(i), apex)) == 0);
	CHECK(owners(10).count(frequent) == 0); // it has it since the first of those
	flat.server->client = "203.0.113.1";
	CHECK(owners(10).count(frequent) == 1);
	CHECK(owners(10).count(frequent) == 0);
	flat.server->now_ms += UINT64_C(1000) * 86400;
	CHECK(owners(10).count(frequent) == 1);
}

// ---- clients ----

TEST_CASE("neighbours are for TCP and for good cookies, and else for those far below the limit",
	  "[server][neighbours][ratelimit]")
{
	flat_server flat;
	question asked = about(unlisted(10));
	CHECK(flat.count(asked) == plain_nsecs); // there is no limit to be below
	CHECK(flat.count(asked, true) > plain_nsecs);
	bytes cookie = flat.good_cookie();
	question with_cookie = asked;
	with_cookie.edns_options = option(option_cookie, cookie);
	CHECK(flat.count(with_cookie) > plain_nsecs);
	cookie[23] ^= 1;
	with_cookie.edns_options = option(option_cookie, cookie);
	CHECK(flat.count(with_cookie) == plain_nsecs);
	with_cookie.edns_options = option(option_cookie, bytes(8, 1));
	CHECK(flat.count(with_cookie) == plain_nsecs);

	flat.server->limit(100, 1);
	CHECK(flat.count(asked) > plain_nsecs);
	flat.server->client = ""; // of no network
	CHECK(flat.count(asked) == plain_nsecs);
}

TEST_CASE("a network gets neighbours at an eighth of its limit, and none beyond",
	  "[server][neighbours][ratelimit]")
{
	flat_server flat;
	flat.server->limit(80, 1);
	const question asked = about(unlisted(10));
	// Half of the bucket: four seconds' answers are in it.
	unsigned with = 0;
	while (flat.count(asked) > plain_nsecs)
		with++;
	CHECK(with == 80 * RATELIMIT_BURST_S / 2 / (1 + NEIGHBOURS_PRICE));
	// Ten a second are an eighth of 80; between two such answers comes what both take.
	flat.server->now_ms += 1000;
	for (int i = 0; i < 100; i++) {
		flat.server->now_ms += 100;
		REQUIRE(flat.count(asked) > plain_nsecs);
	}
	// As many questions as the limit permits: by and by none has any.
	with = 0;
	for (int i = 0; i < 8000; i++) {
		flat.server->now_ms += i % 2 == 0 ? 12 : 13;
		with += flat.count(asked) > plain_nsecs;
	}
	CHECK(with <= 11); // what the second above had left
	// Another network pays for itself.
	flat.server->client = "198.51.100.1";
	CHECK(flat.count(asked) > plain_nsecs);
}

// What is sent to the address that a flood of queries is forged from, in a minute.
static uint64_t flood(const std::string &lines, unsigned rate, unsigned queries_a_second)
{
	flat_server flat(lines);
	flat.server->limit(rate, 0);
	const bytes query = dns::query(about(unlisted(10)));
	uint64_t sent = 0;
	for (uint64_t i = 0; i < 60U * queries_a_second; i++) {
		flat.server->now_ms = 1000 * i / queries_a_second;
		sent += flat.server->make(query).size();
	}
	return sent;
}

TEST_CASE("no flood gets more bytes out of a limited server for its neighbours",
	  "[server][neighbours][ratelimit]")
{
	const unsigned rate = 100;
	const uint64_t most = flood("    neighbours: 0\n", rate, 2 * rate);
	for (unsigned queries : { 5U, 12U, 13U, 25U, 50U, 90U, 100U, 200U }) {
		CAPTURE(queries);
		CHECK(flood("    neighbours: 16\n", rate, queries) <= most);
	}
}

// docs/decisions/54-neighbours-proofs.md has the figures.
TEST_CASE("an answer with neighbours has at most 33 times the bytes of its question",
	  "[server][neighbours]")
{
	// Question and factors: of 1232 bytes, and of the answer without neighbours.
	auto [zone, size, most, plain] = GENERATE(table<std::string, size_t, double, double>({
		{ "x.", 38, 32.5, 12.0 },
		{ "bl6.example.", 48, 25.7, 10.7 },
	}));
	CAPTURE(zone);
	store_options options = many_blocks();
	options.apex = zone;
	tmpdir directory;
	write_store(directory.file("store"), options);
	for (unsigned side : { 0U, 16U }) {
		decision server("zone:\n  - domain: " + zone +
					"\n    store: " + directory.file("store") +
					"\n    neighbours: " + std::to_string(side) + "\n",
				directory);
		question asked = about("");
		asked.name = full_name(unlisted(10), zone);
		const bytes query = dns::query(asked);
		CHECK(query.size() == size);
		const auto factor = static_cast<double>(server.make(query, true).size()) /
				    static_cast<double>(size);
		CHECK(factor < (side == 0 ? plain : most));
		CHECK(factor > (side == 0 ? plain - 1 : 1.7 * plain)); // no guess
	}
	CHECK(NEIGHBOURS_RESPONSE_MAX <= most * static_cast<double>(size));
}
