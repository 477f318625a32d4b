// SPDX-License-Identifier: GPL-3.0-or-later

// What the program in the network driver answers is what answer_make() answers, bit for bit, or it
// passes the question on. DNSBLV6_XDP_QUESTIONS=1000000 asks so many: tests/campaign-xdp.

#include "tests/unit/server/xdp-kernel/xdp_both.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

// ---- any question ----

TEST_CASE("an answer of the program is that of the server, whatever is asked", "[xdp][oracle]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT, DNSBLV6_STYLE_BOTH6);
	auto is_signed = GENERATE(false, true);
	auto has_cookies = GENERATE(false, true);
	auto seed = random_seed(static_cast<unsigned>(style) * 4 + is_signed * 2 + has_cookies);
	CAPTURE(style, is_signed, has_cookies, seed);
	const cookie_setup cookies;
	tables_rules rules = {};
	rules.payload = has_cookies ? 4096 : 1232;
	rules.has_cookies = has_cookies;
	rules.secrets = &cookies.secrets;
	store_options options = odd_store(style, is_signed);
	options.has_wide = has_cookies; // with these few names are answered by their hosts
	both zone(options, rules, has_cookies ? cookies.lines : "    cookies: off\n");
	REQUIRE(zone.fill() == FILL_OK);
	xdp_asker asker(seed, all_names(zone.known), "bl6.example.");
	for (unsigned i = 0; i < question_count() / 12; i++) {
		const std::string client = asker.random().one_in(2) ? "192.0.2.1" : "2001:db8::1";
		asker.cookie = cookie_setup::good(client);
		bytes wire = asker.any();
		bool is_same = zone.is_same(wire, client);
		if (!is_same) {
			bytes quick;
			zone.memory.ask(wire, quick, client);
			CAPTURE(i, hex(wire), hex(quick));
			CHECK(hex(quick) == hex(zone.server->make(wire, false, XDP_NOW_S)));
			REQUIRE(is_same);
		}
	}
	CAPTURE(zone.answered, zone.passed);
	CHECK(zone.answered > zone.passed / 2);
}

// ---- every name, and those beside it ----

static std::vector<label_list> beside(const label_list &name)
{
	std::vector<label_list> out = { name };
	for (const char *text : { "*", "!", "~", "0", "x.y" }) {
		label_list below = split(labels(text));
		below.insert(below.end(), name.begin(), name.end());
		out.push_back(below);
	}
	if (name.empty())
		return out;
	for (int change : { -1, 1 }) {
		label_list other = name;
		other.front().back() = static_cast<uint8_t>(other.front().back() + change);
		out.push_back(other);
		other = name;
		other.front().push_back(static_cast<uint8_t>(change < 0 ? '!' : '~'));
		out.push_back(other);
	}
	label_list shorter = name;
	shorter.front().pop_back();
	if (!shorter.front().empty())
		out.push_back(shorter);
	return out;
}

TEST_CASE("it is for each name, those beside it and below it, in each form of a question",
	  "[xdp][oracle]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT, DNSBLV6_STYLE_BOTH);
	auto is_signed = GENERATE(false, true);
	auto more = GENERATE(as<std::vector<std::string>>{}, std::vector<std::string>{},
			     std::vector<std::string>{ "*" });
	CAPTURE(style, is_signed, more);
	store_options options = odd_store(style, is_signed);
	options.more_bitmaps.insert(options.more_bitmaps.end(), more.begin(), more.end());
	both zone(options);
	REQUIRE(zone.fill() == FILL_OK);
	xdp_asker asker(1, { label_list{} }, "bl6.example.");
	for (const label_list &name : all_names(zone.known)) {
		for (const label_list &near : beside(name)) {
			xdp_question asked;
			asked.name = asker.with_apex(near);
			for (uint16_t type : { dns::AAAA, dns::A }) {
				for (int payload : { -1, 512, 1232, 65535 }) {
					asked.type = type;
					asked.payload = payload;
					asked.edns_flags = payload == 65535 ? 0 : 0x8000;
					bytes wire = asked.wire();
					bool is_same = zone.is_same(wire);
					if (!is_same) {
						CAPTURE(near, type, payload, hex(wire));
						REQUIRE(is_same);
					}
				}
			}
		}
	}
	CAPTURE(zone.answered, zone.passed);
	CHECK(zone.answered > zone.passed / 2);
}

TEST_CASE("what is asked all day is answered, not passed", "[xdp][oracle]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT, DNSBLV6_STYLE_BOTH6);
	auto is_signed = GENERATE(false, true);
	CAPTURE(style, is_signed);
	store_options options;
	options.style = style;
	options.is_signed = is_signed;
	if (style != DNSBLV6_STYLE_DOTTED)
		options.more_bitmaps = { "c633640", "20010db8aabbcc8.ip6", "c000028.sub" };
	both zone(options);
	REQUIRE(zone.fill() == FILL_OK);
	xdp_asker asker(1, { label_list{} }, "bl6.example.");
	const std::vector<std::string> dotted = { "0.2.0.192",
						  "1.2.0.192",
						  "0.9.9.9",
						  "2.0.192",
						  "0.7.100.51.198",
						  "1.7.9.0.203",
						  "0.cc.aabb.0db8.2001.ip6",
						  "0.cc.aabb.0dba.2001.ip6",
						  "0.2.0.192.sub",
						  "0.3.0.192.sub",
						  "127" };
	const std::vector<std::string> flat = { "c000020",
						"c000028",
						"0909090",
						"20010db8aabbcc0.ip6",
						"20010db8aabbcc8.ip6",
						"20010db8aabb000.ip6",
						"c000020.sub",
						"c000030.sub",
						"ip6" };
	for (const std::string &name : style == DNSBLV6_STYLE_DOTTED ? dotted : flat) {
		for (int payload : { -1, 0, 512, 1232, 4096 }) {
			for (uint16_t edns_flags : { 0, 0x8000 }) {
				for (uint16_t type : { dns::AAAA, dns::A }) {
					xdp_question asked;
					asked.name = asker.with_apex(split(labels(name)));
					asked.type = type;
					asked.payload = payload;
					asked.edns_flags = edns_flags;
					CAPTURE(name, payload, edns_flags, type);
					CHECK(zone.is_same(asked.wire()));
					// Where the server may just have room, the program knows no better.
					bool is_tight = payload >= 0 && payload <= 512 &&
							edns_flags != 0 && is_signed;
					CHECK((zone.passed == 0 || is_tight));
					zone.passed = 0;
				}
			}
		}
	}
}

// ---- zones beside and below one another ----

TEST_CASE(
	"each of several zones answers for itself, and one for the sockets hides what is above it",
	"[xdp][oracle]")
{
	const std::vector<std::string> apexes = { "example.", "bl6.example.", "sub.bl6.example.",
						  "l6.example." };
	const unsigned hidden = GENERATE(1U, 2U, 9U);
	CAPTURE(hidden);
	tmpdir directory;
	std::string text = "zone:\n";
	std::vector<std::pair<std::string, unsigned>> faces;
	for (unsigned i = 0; i < apexes.size(); i++) {
		store_options options = odd_store(DNSBLV6_STYLE_DOTTED, i % 2 == 0);
		options.apex = apexes[i];
		options.serial = i + 1;
		std::string path = directory.file("store" + std::to_string(i));
		write_store(path, options);
		text += "  - domain: " + options.apex + "\n    store: " + path + "\n";
		faces.emplace_back(options.apex, i == hidden ? XDP_ZONES_MAX : i);
	}
	decision server(text, directory);
	xdp_memory memory;
	REQUIRE(memory.configure(faces) == 0);
	for (unsigned i = 0; i < apexes.size(); i++)
		REQUIRE(memory.fill(&server.catalog.zones[i], i) == FILL_OK);
	std::set<label_list> names;
	for (const std::string &apex : apexes) {
		for (const char *name :
		     { "0.2.0.192", "1.2.0.192", "9.9.9.9", "ns1", "0.2.0.192.sub" })
			names.insert(split(labels(name + ("." + apex))));
	}
	std::vector<unsigned> answered(apexes.size());
	for (const label_list &name : names) {
		xdp_question asked;
		asked.name = name;
		asked.payload = 1232;
		asked.edns_flags = 0x8000;
		bytes quick;
		if (memory.ask(asked.wire(), quick) == XDP_NATIVE_PASS)
			continue;
		CAPTURE(hex(asked.wire()));
		CHECK(quick == server.make(asked.wire(), false, XDP_NOW_S));
		for (unsigned i = 0; i < apexes.size(); i++)
			answered[i] += memory.counts()[i].queries;
	}
	for (unsigned i = 0; i < apexes.size(); i++)
		CHECK((answered[i] > 0) == (i != hidden));
}

// ---- sizes of clients ----

TEST_CASE("at every size of a client the program cuts what the server cuts", "[xdp][oracle]")
{
	store_options options = odd_store(DNSBLV6_STYLE_DOTTED, true);
	options.apex = GENERATE(as<std::string>{}, "bl6.example.",
				"a-list-with-a-rather-long-name.of-the-department.example.");
	CAPTURE(options.apex);
	both zone(options);
	REQUIRE(zone.fill() == FILL_OK);
	xdp_asker asker(1, { label_list{} }, options.apex);
	unsigned cut_count = 0;
	for (const char *name : { "0.2.0.192", "0.9.9.9", "0.9.9.9.sub", "1.7.100.51.198",
				  "7.9.0.203", "a.long.name.that.is.not.here.0.9.9.9.deep.er" }) {
		for (uint16_t type : { dns::AAAA, dns::A }) {
			for (int payload = 500; payload <= 1240; payload++) {
				xdp_question asked;
				asked.name = asker.with_apex(split(labels(name)));
				asked.type = type;
				asked.payload = payload;
				asked.edns_flags = 0x8000;
				bytes answer;
				bool is_same = zone.is_same(asked.wire());
				cut_count += zone.memory.ask(asked.wire(), answer) > 2 &&
					     (answer[2] & 2) != 0;
				if (!is_same) {
					CAPTURE(name, type, payload);
					REQUIRE(is_same);
				}
			}
		}
	}
	CAPTURE(zone.answered, zone.passed, cut_count);
	CHECK((cut_count > 0 || options.apex == "bl6.example."));
	CHECK(zone.answered > zone.passed);
}

// ---- cookies ----

static const std::string one_secret = "    cookie-secret: e5e973e5a6b2a43f48e7dc849e37bfcf\n";

TEST_CASE("cookies are passed over when there are none here, and else as the server has them",
	  "[xdp][oracle][cookie]")
{
	auto has_cookies = GENERATE(false, true);
	auto client = GENERATE(as<std::string>{}, "192.0.2.1", "2001:db8::1");
	CAPTURE(has_cookies, client);
	cookie_secrets secrets = {};
	REQUIRE(cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfcf"));
	tables_rules rules = {};
	rules.has_cookies = has_cookies;
	rules.secrets = &secrets;
	both zone(odd_store(DNSBLV6_STYLE_DOTTED, true), rules,
		  has_cookies ? one_secret : "    cookies: off\n");
	REQUIRE(zone.fill() == FILL_OK);
	xdp_asker asker(7, all_names(zone.known), "bl6.example.");
	xdp_question first;
	first.name = asker.with_apex(split(labels("0.2.0.192")));
	first.payload = 1232;
	first.options = option_of(10, bytes(8, 1));
	zone.server->client = client;
	bytes reply = zone.server->make(first.wire(), false, XDP_NOW_S);
	bytes cookie;
	CHECK(dns::message(reply).find_option(10, cookie) == has_cookies);
	if (!has_cookies)
		cookie = bytes(24, 1);
	for (uint64_t now_s : { 1000U, 4600U, 4601U, 700U, 699U }) {
		zone.memory.time.now_s = now_s;
		tables_renew(&zone.memory.tables, &zone.memory.time);
		for (unsigned size = 0; size <= 42; size++) {
			for (int i = 0; i < 6; i++) {
				xdp_question asked = asker.question();
				bytes data = cookie;
				data.resize(size, 0x11);
				if (i == 1 && size > 8)
					data[asker.random().below(size)] ^= 1;
				asked.payload = 1232;
				asked.version = 0;
				asked.options = option_of(10, data);
				CAPTURE(now_s, size, i, hex(asked.wire()));
				bool is_same = zone.is_same(asked.wire(), client);
				if (!is_same)
					REQUIRE(is_same);
			}
		}
	}
	CAPTURE(zone.answered, zone.passed);
	CHECK(zone.answered > zone.passed / 2);
}

// ---- neighbours ----

TEST_CASE("denials that may have neighbours are left to the server", "[xdp][oracle][neighbours]")
{
	store_options options = odd_store(DNSBLV6_STYLE_BOTH6, true);
	for (char c : std::string("0123456789abcdef"))
		options.more_bitmaps.push_back(std::string("c00") + c + "120");
	both zone(options, {}, "", "    neighbours: 8\n");
	zone.server->limit(100000, 1);
	REQUIRE(zone.fill(true) == FILL_OK);
	xdp_asker asker(random_seed(3), all_names(zone.known), "bl6.example.");
	for (int i = 0; i < 4000; i++) {
		zone.memory.time.now_ns += 1000000;
		tables_renew(&zone.memory.tables, &zone.memory.time);
		bytes wire = asker.any();
		bool is_same = zone.is_same(wire);
		if (!is_same) {
			CAPTURE(i, hex(wire));
			REQUIRE(is_same);
		}
	}
	CHECK(zone.answered > 1000);
}

// ---- leases and rules ----

TEST_CASE("nothing is answered without a lease, nor from what has expired", "[xdp][oracle]")
{
	store_options options;
	options.expires_s = XDP_NOW_S + 2;
	both zone(options);
	xdp_question asked;
	asked.name = xdp_asker(1, { label_list{} }, "bl6.example.")
			     .with_apex(split(labels("0.2.0.192")));
	bytes answer;
	CHECK(zone.memory.ask(asked.wire(), answer) == XDP_NATIVE_PASS);
	REQUIRE(zone.fill() == FILL_OK);
	CHECK(zone.memory.ask(asked.wire(), answer) > 0);
	zone.memory.time.now_ns += 1000000001;
	CHECK(zone.memory.ask(asked.wire(), answer) == XDP_NATIVE_PASS);
	zone.memory.time.now_ns -= 1000000001;
	CHECK(zone.memory.ask(asked.wire(), answer) > 0);
	tables_take_away(&zone.memory.tables);
	CHECK(zone.memory.ask(asked.wire(), answer) == XDP_NATIVE_PASS);
}

TEST_CASE("the lease of the config ends all answers", "[xdp][oracle]")
{
	both zone({});
	REQUIRE(zone.fill() == FILL_OK);
	xdp_question asked;
	asked.name = xdp_asker(1, { label_list{} }, "bl6.example.")
			     .with_apex(split(labels("0.2.0.192")));
	bytes answer;
	CHECK(zone.memory.ask(asked.wire(), answer) > 0);
	zone.memory.time.now_ns += XDP_LEASE_NS;
	CHECK(zone.memory.ask(asked.wire(), answer) == XDP_NATIVE_PASS);
	tables_renew(&zone.memory.tables, &zone.memory.time);
	CHECK(zone.memory.ask(asked.wire(), answer) > 0);
}

// ---- limits ----

TEST_CASE("a network gets as many answers at once as from the server, and no more",
	  "[xdp][oracle][ratelimit]")
{
	auto rate = GENERATE(1U, 7U, 100U);
	auto slip = GENERATE(0U, 1U, 3U);
	auto has_cookies = GENERATE(false, true);
	auto client = GENERATE(as<std::string>{}, "192.0.2.1", "2001:db8::1");
	CAPTURE(rate, slip, has_cookies, client);
	const cookie_setup cookies;
	tables_rules rules = {};
	rules.rate = rate;
	rules.slip = slip;
	rules.has_cookies = has_cookies;
	rules.secrets = &cookies.secrets;
	both zone({}, rules, has_cookies ? cookies.lines : "    cookies: off\n");
	REQUIRE(zone.fill() == FILL_OK);
	zone.server->limit(rate, slip);
	zone.server->client = client;
	const std::vector<bytes> options = { {},
					     option_of(10, bytes(8, 1)),
					     option_of(10, bytes(24, 1)),
					     option_of(10, cookie_setup::good(client)) };
	xdp_question asked;
	asked.name = xdp_asker(1, { label_list{} }, "bl6.example.")
			     .with_apex(split(labels("0.2.0.192")));
	asked.payload = 1232;
	unsigned dropped = 0;
	for (unsigned i = 0; i < 2 * rate * RATELIMIT_BURST_S + 20; i++) {
		bytes quick;
		asked.options = options[i % options.size()];
		long size = zone.memory.ask(asked.wire(), quick, client);
		zone.server->now_ms = zone.memory.time.now_ns / 1000000;
		bytes slow = zone.server->make(asked.wire(), false, XDP_NOW_S);
		CAPTURE(i, size);
		dropped += size == XDP_NATIVE_DROP;
		if (slow.empty())
			CHECK(size == XDP_NATIVE_DROP);
		else
			CHECK((size > 0 && quick == slow));
	}
	CHECK((dropped > 0) == (slip != 1));
}

TEST_CASE("a prefix without a limit has the clients that it has for the server",
	  "[xdp][oracle][ratelimit]")
{
	auto text = GENERATE(as<std::string>{}, "::/0", "0.0.0.0/0", "::ffff:0:0/96", "::/8",
			     "2001:db8::/32", "192.0.2.0/24");
	auto client = GENERATE(as<std::string>{}, "192.0.2.1", "198.51.100.1", "2001:db8::1", "::1",
			       "2001:db9::1");
	CAPTURE(text, client);
	dnsblv6_prefix prefix;
	REQUIRE(dnsblv6_prefix_parse(text.data(), text.size(), &prefix) == DNSBLV6_OK);
	tables_rules rules = {};
	rules.rate = 1;
	rules.unlimited = &prefix;
	rules.unlimited_count = 1;
	both zone({}, rules, "    rate-limit-allow: \"" + text + "\"\n");
	REQUIRE(zone.fill() == FILL_OK);
	zone.server->limit(1, 0);
	zone.server->client = client;
	xdp_question asked;
	asked.name = split(labels("0.2.0.192.bl6.example."));
	unsigned dropped = 0;
	for (unsigned i = 0; i < 2 * RATELIMIT_BURST_S; i++) {
		bytes quick;
		bool is_dropped = zone.memory.ask(asked.wire(), quick, client) == XDP_NATIVE_DROP;
		zone.server->now_ms = zone.memory.time.now_ns / 1000000;
		CHECK(zone.server->make(asked.wire(), false, XDP_NOW_S).empty() == is_dropped);
		dropped += is_dropped;
	}
	if (text == "::/0" || text == "0.0.0.0/0")
		CHECK((dropped == 0) == ((text[0] == ':') == (client.find(':') != client.npos)));
}

TEST_CASE("over time a network gets as many answers as from the server, at every rate",
	  "[xdp][oracle][ratelimit]")
{
	auto rate = GENERATE(1U, 3U, 10U, 50U, 100U);
	auto seed = RANDOM_SEED(2);
	CAPTURE(rate, seed);
	randomness rnd(seed);
	tables_rules rules = {};
	rules.rate = rate;
	both zone({}, rules);
	REQUIRE(zone.fill() == FILL_OK);
	zone.server->limit(rate, 0);
	zone.server->client = "192.0.2.1";
	const bytes wire = [] {
		xdp_question asked;
		asked.name = split(labels("0.2.0.192.bl6.example."));
		return asked.wire();
	}();
	// More than the burst at once, and then sometimes less than the rate, sometimes more.
	unsigned gap_us = 1;
	int difference = 0;
	unsigned limited = 0;
	for (unsigned i = 0; i < 4000; i++) {
		if (i > 500 && rnd.one_in(200))
			gap_us = 1 + rnd.below(4000000 / rate);
		zone.memory.time.now_ns += UINT64_C(1000) * rnd.below(gap_us + 1);
		tables_renew(&zone.memory.tables, &zone.memory.time);
		bytes quick;
		long size = zone.memory.ask(wire, quick);
		zone.server->now_ms = zone.memory.time.now_ns / 1000000;
		limited += size == XDP_NATIVE_DROP;
		difference += (size > 0) - !zone.server->make(wire, false, XDP_NOW_S).empty();
		CAPTURE(i, gap_us, difference);
		if (difference < -2 || difference > 2)
			REQUIRE(difference == 0);
	}
	CHECK((limited > 0 && limited < 4000));
}
