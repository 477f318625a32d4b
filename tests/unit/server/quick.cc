// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/dns/question.h"
#include "server/answer/lookahead.h"
#include "tests/unit/server/fixture.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <memory>
#include <tuple>

using dns::message;
using dns::question;

static bytes soa_numbers(const dns::record &rr)
{
	return { rr.rdata.end() - 20, rr.rdata.end() };
}

// Compression may differ, and with it the bytes of names in an SOA.
static void check_section(const std::vector<dns::record> &quick,
			  const std::vector<dns::record> &slow)
{
	REQUIRE(quick.size() == slow.size());
	for (size_t i = 0; i < quick.size(); i++) {
		CHECK(quick[i].owner == slow[i].owner);
		CHECK(quick[i].type == slow[i].type);
		CHECK(quick[i].rclass == slow[i].rclass);
		CHECK(quick[i].ttl == slow[i].ttl);
		CHECK(quick[i].target == slow[i].target);
		if (quick[i].type == dns::SOA)
			CHECK(soa_numbers(quick[i]) == soa_numbers(slow[i]));
		else if (quick[i].type != dns::NS)
			CHECK(quick[i].rdata == slow[i].rdata);
	}
}

static void check_same(const bytes &quick_wire, const bytes &slow_wire)
{
	REQUIRE(quick_wire.empty() == slow_wire.empty());
	if (quick_wire.empty())
		return;
	message quick(quick_wire);
	message slow(slow_wire);
	CHECK(quick.id == slow.id);
	CHECK(quick.flags == slow.flags);
	CHECK(quick.rcode == slow.rcode);
	CHECK(quick.question == slow.question);
	check_section(quick.answer, slow.answer);
	check_section(quick.authority, slow.authority);
	check_section(quick.additional, slow.additional);
	CHECK(quick.has_opt == slow.has_opt);
	CHECK(quick.payload == slow.payload);
	CHECK(quick.edns_version == slow.edns_version);
	CHECK(quick.edns_flags == slow.edns_flags);
	CHECK(quick.options == slow.options);
}

static std::string mixed_case(randomness &random, std::string name)
{
	for (char &c : name)
		c = random.one_in(2) ? static_cast<char>(toupper(c)) : c;
	return name;
}

static question any_question(randomness &random, const std::vector<std::string> &names)
{
	static const uint16_t types[] = { dns::A,     dns::AAAA, dns::AAAA, dns::AAAA,
					  dns::NS,    dns::SOA,	 dns::TXT,  dns::NSEC,
					  dns::RRSIG, dns::DS,	 dns::ANY,  dns::DNSKEY };
	static const int payloads[] = { -1, 0, 512, 513, 1232, 4096, 65535 };
	question asked;
	asked.name = mixed_case(random, full_name(near_name(random, names), "bl6.example."));
	asked.type = types[random.below(sizeof(types) / sizeof(types[0]))];
	asked.flags = static_cast<uint16_t>(random.below(0x10000) & 0x07ff);
	asked.edns_payload = payloads[random.below(sizeof(payloads) / sizeof(payloads[0]))];
	asked.edns_flags = random.one_in(4) ? 0x4001 : random.one_in(2) ? 0x8000 : 0;
	return asked;
}

TEST_CASE("the quick answer says what the long one says", "[server][quick]")
{
	auto is_signed = GENERATE(false, true);
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	auto seed = RANDOM_SEED(2);
	CAPTURE(is_signed, style, seed);
	randomness rnd(static_cast<unsigned>(seed));
	std::map<std::string, std::set<uint16_t>> known;
	store_options options;
	options.is_signed = is_signed;
	options.style = style;
	options.names = &known;
	decision server(options);
	std::vector<std::string> names;
	for (const auto &entry : known)
		names.push_back(entry.first);
	for (int i = 0; i < 3000; i++) {
		question asked = any_question(rnd, names);
		bool is_tcp = rnd.one_in(4);
		CAPTURE(asked.name, asked.type, asked.edns_payload, asked.edns_flags, is_tcp);
		bytes quick = server.make(dns::query(asked), is_tcp);
		bytes slow = server.make_long(dns::query(asked), is_tcp);
		check_same(quick, slow);
	}
}

// The quick way has no better compression than the long one, and falls back to it.
TEST_CASE(
	"at every size the quick answer is cut when the long one is, and that is when it is longer",
	"[server][quick][compress]")
{
	store_options options;
	options.is_signed = true;
	decision server(options, 4096);
	question asked;
	std::tie(asked.name, asked.type) = GENERATE(table<std::string, uint16_t>({
		{ "0.2.0.192.bl6.example.", dns::AAAA },   // a bitmap
		{ "0.2.0.192.bl6.example.", dns::TXT },	   // no such data
		{ "0.9.9.9.bl6.example.", dns::AAAA },	   // no such name
		{ "0.9.9.9.sub.bL6.Example.", dns::AAAA }, // the same in other letters
		{ "1.7.100.51.198.bl6.example.", dns::AAAA },
		{ "7.9.0.203.bl6.example.", dns::AAAA }, // a wildcard
		{ "bl6.example.", dns::SOA },
		{ "bl6.example.", dns::DNSKEY },
		{ "BL6.example.", dns::TXT },
		{ "twelve.bl6.example.", dns::TXT },
	}));
	asked.edns_flags = 0x8000;
	asked.edns_payload = 4096;
	size_t whole = server.make_long(dns::query(asked)).size();
	for (int payload = 512; payload < 1400; payload++) {
		asked.edns_payload = payload;
		CAPTURE(asked.name, asked.type, payload, whole);
		bytes quick = server.make(dns::query(asked));
		bytes slow = server.make_long(dns::query(asked));
		check_same(quick, slow);
		REQUIRE(message(slow).has(dns::TC) == (whole > static_cast<size_t>(payload)));
	}
}

TEST_CASE("no option that is not sent takes room from an answer", "[server][answer][compress]")
{
	decision server;
	question asked;
	asked.name = "twelve.bl6.example.";
	asked.type = dns::TXT;
	asked.edns_payload = 1232;
	bytes whole = server.make(dns::query(asked));
	asked.edns_payload = static_cast<int>(whole.size());
	CHECK(server.make(dns::query(asked)) == whole);
	asked.edns_payload--;
	CHECK(message(server.make(dns::query(asked))).has(dns::TC));
}

TEST_CASE("a batch that was foreseen gets the answers that each query gets alone",
	  "[server][quick][lookahead]")
{
	auto is_signed = GENERATE(false, true);
	auto seed = RANDOM_SEED(2);
	CAPTURE(is_signed, seed);
	randomness rnd(static_cast<unsigned>(seed));
	std::map<std::string, std::set<uint16_t>> known;
	store_options options;
	options.is_signed = is_signed;
	options.names = &known;
	decision server(options);
	std::vector<std::string> names;
	for (const auto &entry : known)
		names.push_back(entry.first);
	for (int round = 0; round < 50; round++) {
		std::vector<bytes> batch;
		for (unsigned more = 1 + rnd.below(LOOKAHEAD_MAX + 8); more > 0; more--)
			batch.push_back(rnd.one_in(9) ? bytes(rnd.below(20), 7)
						      : dns::query(any_question(rnd, names)));
		std::vector<bytes> alone;
		for (const bytes &wire : batch)
			alone.push_back(server.make(wire));
		// Some of a batch are never answered, and other queries come in between.
		server.lookahead(batch);
		for (size_t i = 0; i < batch.size(); i++) {
			CAPTURE(round, i);
			if (rnd.one_in(40))
				continue;
			if (rnd.one_in(40))
				server.make(dns::query(any_question(rnd, names)), true);
			CHECK(server.make(batch[i]) == alone[i]);
		}
		server.end();
	}
}

TEST_CASE("bytes that changed after they were answered are read again",
	  "[server][quick][lookahead]")
{
	decision server;
	question listed;
	listed.name = "0.2.0.192.bl6.example.";
	listed.type = dns::AAAA;
	question other = listed;
	other.name = "1.2.0.192.bl6.example.";
	bytes wire = dns::query(listed);
	bytes first = server.make(wire);
	server.lookahead({ wire });
	std::vector<bytes> batch = { wire };
	server.lookahead(batch);
	CHECK(server.make(batch[0]) == first);
	bytes changed = dns::query(other);
	REQUIRE(changed.size() == wire.size());
	std::copy(changed.begin(), changed.end(), batch[0].begin());
	CHECK(message(server.make(batch[0])).question == message(server.make(changed)).question);
}

TEST_CASE("a batch that was not answered is forgotten behind it", "[server][quick][lookahead]")
{
	decision server;
	question listed;
	listed.name = "0.2.0.192.bl6.example.";
	listed.type = dns::AAAA;
	question host = listed;
	host.name = "nowhere.1.bl6.example.";
	bytes expected = server.make(dns::query(host));
	std::vector<bytes> batch = { dns::query(listed) };
	REQUIRE(batch[0].size() == dns::query(host).size());
	server.lookahead(batch);
	server.end();
	// Where the bytes of a query were, those of the next come.
	bytes next = dns::query(host);
	std::copy(next.begin(), next.end(), batch[0].begin());
	CHECK(server.make(batch[0]) == expected);
}

// ---- cookies ----

static question listed_with(const bytes &cookie, unsigned code = option_cookie)
{
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1232;
	asked.edns_options = option(code, cookie);
	return asked;
}

static store_options signed_options()
{
	store_options options;
	options.is_signed = true;
	return options;
}

// Servers of one store: one that answers quickly, and one that does not.
struct both_ways {
	tmpdir directory;
	std::unique_ptr<decision> quick;
	std::unique_ptr<decision> slow;

	explicit both_ways(const std::string &lines) : both_ways(lines, signed_options(), "")
	{
	}
	both_ways(const std::string &lines, const store_options &options,
		  const std::string &zone_lines)
	{
		std::string path = directory.file("bl6.mdb");
		write_store(path, options);
		std::string text = "server:\n" + lines +
				   "zone:\n  - domain: bl6.example.\n    store: " + path + "\n" +
				   zone_lines;
		for (auto *server : { &quick, &slow }) {
			*server = std::make_unique<decision>(text, directory);
			(*server)->client = "192.0.2.1";
		}
	}
	void compare(const question &asked, bool is_tcp, uint64_t now_s)
	{
		bytes first = quick->make(dns::query(asked), is_tcp, now_s);
		bytes second = slow->make_long(dns::query(asked), is_tcp, now_s);
		check_same(first, second);
		for (int i = 0; i < COUNTERS_SERVER_COUNT; i++) {
			CAPTURE(i);
			CHECK(quick->counted(static_cast<counters_server>(i)) ==
			      slow->counted(static_cast<counters_server>(i)));
		}
	}
	bytes cookie_at(uint64_t now_s)
	{
		bytes cookie;
		message reply(slow->make_long(dns::query(listed_with(bytes(8, 1))), false, now_s));
		quick->make(dns::query(listed_with(bytes(8, 1))), false, now_s);
		REQUIRE(reply.find_option(option_cookie, cookie));
		return cookie;
	}
};

static const std::string one_secret = "    cookie-secret: e5e973e5a6b2a43f48e7dc849e37bfcf\n";

TEST_CASE("the quick answer has the cookie that the long one has, and counts it",
	  "[server][quick][cookie]")
{
	auto lines = GENERATE(as<std::string>{}, one_secret, one_secret + "    cookies: off\n",
			      "    workers: 1\n");
	auto is_tcp = GENERATE(false, true);
	CAPTURE(lines, is_tcp);
	both_ways servers(lines);
	bytes good(COOKIE_SIZE, 7);
	if (lines == one_secret)
		good = servers.cookie_at(100000);
	bytes changed = good;
	changed[23] ^= 1;
	for (uint64_t now_s : { 100000U, 103600U, 103601U, 99000U }) {
		for (const bytes &cookie :
		     { good, changed, bytes(8, 9), bytes(16, 9), bytes(40, 9) }) {
			for (const char *name : { "0.2.0.192", "9.9.9.9", "ns1", "2.0.192" }) {
				question asked = listed_with(cookie);
				asked.name = full_name(name, "bl6.example.");
				asked.edns_flags = now_s % 2 != 0 ? 0x8000 : 0;
				CAPTURE(now_s, cookie.size(), name);
				servers.compare(asked, is_tcp, now_s);
			}
		}
	}
	CHECK((servers.quick->counted(COUNTERS_SERVER_COOKIES) > 0) == (lines == one_secret));
}

TEST_CASE("a limited client with a cookie gets what the long way says", "[server][quick][cookie]")
{
	auto cookie_size = GENERATE(8U, 24U);
	both_ways servers(one_secret);
	bytes good = servers.cookie_at(100000);
	for (auto *server : { &servers.quick, &servers.slow })
		(*server)->limit(1, 2);
	for (int i = 0; i < 3 * RATELIMIT_BURST_S; i++)
		servers.compare(listed_with(bytes(cookie_size, 5)), false, 100000);
	servers.compare(listed_with(good), false, 100000);
	CHECK(servers.quick->ask(listed_with(good), false, 100000).answer.size() == 1);
	CHECK(servers.quick->counted(COUNTERS_SERVER_BADCOOKIE) > 0);
	CHECK(servers.quick->counted(COUNTERS_SERVER_LIMITED_DROPPED) > 0);
}

TEST_CASE("a COOKIE alone is common when it has the size of one", "[server][question][cookie]")
{
	question_common parsed;
	for (size_t size = 0; size <= 64; size++) {
		CAPTURE(size);
		bytes wire = dns::query(listed_with(bytes(size, 3)));
		bool is_cookie = size == 8 || (size >= 16 && size <= 40);
		REQUIRE(question_parse(wire.data(), wire.size(), &parsed) == is_cookie);
		if (!is_cookie)
			continue;
		CHECK(parsed.cookie_size == size);
		for (size_t cut = 1; cut < wire.size(); cut++)
			CHECK_FALSE(question_parse(wire.data(), wire.size() - cut, &parsed));
		wire[wire.size() - size - 1]++; // the size that the option says
		CHECK_FALSE(question_parse(wire.data(), wire.size(), &parsed));
	}
	bytes other = dns::query(listed_with(bytes(8, 3), 9));
	CHECK_FALSE(question_parse(other.data(), other.size(), &parsed));
	question two = listed_with(bytes(8, 3));
	dns::append(two.edns_options, option(3, {}));
	bytes wire = dns::query(two);
	CHECK_FALSE(question_parse(wire.data(), wire.size(), &parsed));
}

// ---- neighbours ----

// Blocks beside one another below the apex, a sub-zone, "ip6" and a name that the SOA has.
static store_options flat_blocks()
{
	store_options options;
	options.is_signed = true;
	options.style = DNSBLV6_STYLE_FLAT;
	for (const char *below : { "", ".sub", ".ns1" })
		for (char c : std::string("0123456789abcdef"))
			options.more_bitmaps.push_back(std::string("c00") + c + "020" + below);
	for (char c : std::string("0123456789abcdef"))
		options.more_bitmaps.push_back(std::string("20010db8aabb") + c + "00.ip6");
	options.more_bitmaps.emplace_back("0.2.0.192");
	return options;
}

static std::string near_flat(randomness &random)
{
	static const char digits[] = "0123456789abcdef";
	static const char *const below[] = { "", "", ".sub", ".ns1", ".ip6", ".zz" };
	std::string name = "c000020";
	if (random.one_in(4))
		name = "20010db8aabbcc0";
	for (unsigned changes = random.below(3); changes > 0; changes--)
		name[random.below(static_cast<unsigned>(name.size()))] = digits[random.below(16)];
	name.back() = random.one_in(2) ? '0' : '1';
	return name + below[random.below(6)];
}

TEST_CASE("the quick answer has the neighbours that the long one has",
	  "[server][quick][neighbours]")
{
	auto seed = RANDOM_SEED(2);
	auto side = GENERATE(1U, 4U, 16U);
	CAPTURE(seed, side);
	randomness rnd(static_cast<unsigned>(seed));
	both_ways servers(one_secret, flat_blocks(),
			  "    neighbours: " + std::to_string(side) + "\n");
	const bytes cookie = servers.cookie_at(100000);
	for (auto *server : { &servers.quick, &servers.slow }) {
		(*server)->limit(100, 1);
		(*server)->remember(); // most answers have neighbours all the same
	}
	for (int i = 0; i < 3000; i++) {
		question asked;
		asked.name = mixed_case(rnd, full_name(near_flat(rnd), "bl6.example."));
		asked.type = rnd.one_in(8) ? dns::A : dns::AAAA;
		asked.edns_payload = static_cast<int>(512 + rnd.below(900));
		asked.edns_flags = rnd.one_in(8) ? 0 : 0x8000;
		if (rnd.one_in(2))
			asked.edns_options = option(option_cookie, cookie);
		for (auto *server : { &servers.quick, &servers.slow })
			(*server)->now_ms = static_cast<uint64_t>(20 * i);
		CAPTURE(i, asked.name, asked.type, asked.edns_payload, asked.edns_flags);
		servers.compare(asked, rnd.one_in(4), 100000);
	}
}

// ---- the rest ----

TEST_CASE("the quick answer is counted as the long one is", "[server][quick]")
{
	static const char *const asked[] = { "0.2.0.192", "9.9.9.9", "2.0.192", "7.100.51.198" };
	store_options options;
	options.is_signed = true;
	decision quick(options);
	decision slow(options);
	for (const char *name : asked) {
		for (uint16_t type : { dns::AAAA, dns::A }) {
			question q;
			q.name = full_name(name, "bl6.example.");
			q.type = type;
			q.edns_payload = 1232;
			q.edns_flags = 0x8000;
			quick.make(dns::query(q));
			quick.make(dns::query(q), true);
			slow.make_long(dns::query(q));
			slow.make_long(dns::query(q), true);
		}
	}
	for (int i = 0; i < COUNTERS_FACE_COUNT; i++)
		CHECK(quick.counted(static_cast<counters_face>(i)) ==
		      slow.counted(static_cast<counters_face>(i)));
	for (int i = 0; i < COUNTERS_SERVER_COUNT; i++)
		CHECK(quick.counted(static_cast<counters_server>(i)) ==
		      slow.counted(static_cast<counters_server>(i)));
	CHECK(quick.counted(COUNTERS_FACE_QUERIES) == 16);
}

TEST_CASE("a common question is taken apart", "[server][question]")
{
	question asked;
	asked.name = "0.2.0.192.BL6.Example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 1400;
	asked.edns_flags = 0x8000;
	bytes wire = dns::query(asked);
	question_common parsed;
	REQUIRE(question_parse(wire.data(), wire.size(), &parsed));
	CHECK(bytes(parsed.name, parsed.name + parsed.name_size) ==
	      dns::name("0.2.0.192.bl6.example."));
	CHECK(parsed.label_count == 7);
	CHECK(parsed.offsets[0] == 0);
	CHECK(parsed.offsets[4] == 10);
	CHECK(parsed.offsets[6] == parsed.name_size - 1);
	CHECK(parsed.qtype == dns::AAAA);
	CHECK(parsed.has_edns);
	CHECK(parsed.has_do);
	CHECK(parsed.payload == 1400);
	CHECK(question_end(&parsed) == wire.size() - 11);
	for (size_t size = 0; size < wire.size(); size++)
		CHECK_FALSE(question_parse(
			bytes(wire.begin(), wire.begin() + static_cast<long>(size)).data(), size,
			&parsed));
	wire.push_back(0);
	CHECK_FALSE(question_parse(wire.data(), wire.size(), &parsed));
}

struct uncommon_case {
	size_t offset;
	uint8_t byte;
	const char *why;
};

TEST_CASE("what is not common is left to libknot", "[server][question]")
{
	auto c = GENERATE(values<uncommon_case>({
		{ 2, 0x80, "a response" },
		{ 2, 0x28, "an update" },
		{ 5, 0, "no question" },
		{ 5, 2, "two questions" },
		{ 7, 1, "an answer" },
		{ 9, 1, "an authority record" },
		{ 11, 0, "an OPT that is not announced" },
		{ 11, 2, "a second additional record" },
		{ 12, 0xc0, "a pointer" },
		{ 12, 63, "a label that runs into the rest" },
		{ 18, 255, "a meta type" },
		{ 18, 41, "the type of the OPT" },
		{ 20, 3, "class CHAOS" },
		{ 21, 1, "an OPT that is not at the root" },
		{ 23, 250, "a record that is no OPT" },
		{ 27, 1, "EDNS version 1" },
		{ 31, 4, "options" },
	}));
	CAPTURE(c.why);
	question asked;
	asked.name = "abc.";
	asked.edns_payload = 1232;
	bytes wire = dns::query(asked);
	question_common parsed;
	REQUIRE(wire.size() == 32);
	REQUIRE(question_parse(wire.data(), wire.size(), &parsed));
	wire[c.offset] = c.byte;
	CHECK_FALSE(question_parse(wire.data(), wire.size(), &parsed));
}

TEST_CASE("names of 255 octets and of 127 labels are common, longer ones are not",
	  "[server][question]")
{
	auto labels = GENERATE(126U, 127U, 128U);
	std::string name;
	for (unsigned i = 0; i < labels; i++)
		name += "a.";
	question asked;
	asked.name = name;
	bytes wire = dns::query(asked);
	question_common parsed;
	CHECK(question_parse(wire.data(), wire.size(), &parsed) == (labels <= 127));
}
