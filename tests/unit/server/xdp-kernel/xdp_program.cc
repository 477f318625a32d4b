// SPDX-License-Identifier: GPL-3.0-or-later

// The program itself, run by the kernel with packets of ours. What it answers is the core's, which
// xdp_oracle.cc has; here is what is around it.

#include "tests/unit/server/xdp-kernel/xdp_program.hh"

#include <catch2/catch.hpp>

// A zone in the maps.
struct filled {
	tmpdir directory;
	std::unique_ptr<decision> server;
	xdp_memory memory;
	xdp_program program;

	explicit filled(bool is_signed = false, uint32_t mtu = 1500) : program(40000, mtu)
	{
		store_options options = odd_store(DNSBLV6_STYLE_DOTTED, is_signed);
		std::string path = directory.file("store");
		write_store(path, options);
		server = std::make_unique<decision>(
			"zone:\n  - domain: bl6.example.\n    store: " + path + "\n", directory);
		memory.configure({ { "bl6.example.", 0 } });
		if (memory.fill(&server->catalog.zones[0]) != FILL_OK)
			throw std::runtime_error("zone is not filled");
		if (program.is_loaded())
			program.fill(memory);
	}
	bytes answer(const bytes &wire) const
	{
		return server->make(wire);
	}
};

static bytes query(const std::string &name, uint16_t type = dns::AAAA, int payload = -1,
		   uint16_t edns_flags = 0)
{
	dns::question question;
	question.name = name;
	question.type = type;
	question.edns_payload = payload;
	question.edns_flags = edns_flags;
	return dns::query(question);
}

static const char *const listed = "*.wild.bl6.example.";
static const char *const not_listed = "nothing.here.bl6.example.";
static const char *const long_name = "nothing.that.is.near.anywhere.at.all.zz.bl6.example.";

#define NEEDS(maps)                                                                                \
	if (!(maps).program.is_loaded()) {                                                         \
		SUCCEED((maps).program.reason());                                                  \
		return;                                                                            \
	}

TEST_CASE("answers are the server's, around them is what was asked", "[xdp]")
{
	for (bool is_signed : { false, true }) {
		filled maps(is_signed);
		NEEDS(maps)
		const std::vector<bytes> queries = {
			query(listed),
			query(listed, dns::A, 1232),
			query("BIT.Wild.bl6.example.", dns::AAAA),
			query(listed, dns::AAAA, 4096, 0x8000),
			query(not_listed),
			query(not_listed, dns::AAAA, 1232, 0x8000),
			query("a.b.wild.bl6.example.", dns::A, 1232, 0x8000),
		};
		for (const bytes &wire : queries) {
			for (const std::vector<uint16_t> &tags : std::vector<std::vector<uint16_t>>{
				     {}, { 0x8100 }, { 0x88a8, 0x8100 } }) {
				for (bool is_ipv6 : { false, true }) {
					xdp_frame frame(wire);
					frame.tags = tags;
					if (is_ipv6)
						frame.six();
					auto out = maps.program.run(frame.packet());
					REQUIRE(out.action == XDP_TX);
					CHECK(message_of(frame, out.packet) == maps.answer(wire));
				}
			}
		}
	}
}

TEST_CASE("what is behind a packet of the smallest size is not answered to", "[xdp]")
{
	filled maps;
	NEEDS(maps)
	xdp_frame frame(query(listed));
	frame.padding = bytes(20, 0xee);
	auto out = maps.program.run(frame.packet());
	REQUIRE(out.action == XDP_TX);
	CHECK(message_of(frame, out.packet) == maps.answer(frame.message));
}

static void check_passes(const filled &maps, const bytes &packet)
{
	auto out = maps.program.run(packet);
	CHECK(out.action == XDP_PASS);
	CHECK(out.packet == packet);
}

TEST_CASE("packets that are cut anywhere go on as they came", "[xdp]")
{
	filled maps;
	NEEDS(maps)
	for (bool is_ipv6 : { false, true }) {
		xdp_frame frame(query(listed, dns::AAAA, 1232));
		frame.tags = { 0x8100 };
		if (is_ipv6)
			frame.six();
		bytes packet = frame.packet();
		REQUIRE(maps.program.run(packet).action == XDP_TX);
		/* The kernel takes no frame of less than an Ethernet header. */
		for (size_t size = 14; size < packet.size(); size++)
			check_passes(maps, part(packet, 0, size));
	}
}

// One thing at a time that makes a packet none for here.
static std::vector<std::pair<const char *, xdp_frame>> others()
{
	std::vector<std::pair<const char *, xdp_frame>> out;
	auto add = [&](const char *what, auto change) {
		xdp_frame frame(query(listed));
		change(frame);
		out.emplace_back(what, frame);
	};
	add("MAC", [](xdp_frame &f) { f.to_mac = mac_of(3); });
	add("broadcast", [](xdp_frame &f) { f.to_mac = bytes(6, 0xff); });
	add("from a group", [](xdp_frame &f) { f.from_mac[0] |= 1; });
	add("port", [](xdp_frame &f) { f.port = 54; });
	add("no port to answer to", [](xdp_frame &f) { f.client_port = 0; });
	add("address", [](xdp_frame &f) { f.to = "192.0.2.54"; });
	add("TCP", [](xdp_frame &f) { f.protocol = 6; });
	add("options", [](xdp_frame &f) { f.words = 6; });
	add("a first fragment", [](xdp_frame &f) { f.fragment = 0x2000; });
	add("a last fragment", [](xdp_frame &f) { f.fragment = 0x0010; });
	add("checksum of IP", [](xdp_frame &f) { f.ip_error = 1; });
	add("size of UDP", [](xdp_frame &f) { f.udp_more = 1; });
	add("three tags", [](xdp_frame &f) { f.tags = { 0x88a8, 0x8100, 0x8100 }; });
	for (const char *from : { "0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255" })
		add(from, [&](xdp_frame &f) { f.from = from; });
	add("IPv6 address", [](xdp_frame &f) { f.six().to = "2001:db8::54"; });
	add("extension header", [](xdp_frame &f) { f.six().protocol = 44; });
	add("size of UDP over IPv6", [](xdp_frame &f) { f.six().udp_more = 1; });
	for (const char *from : { "::", "::1", "ff02::1" })
		add(from, [&](xdp_frame &f) { f.six().from = from; });
	add("a long message", [](xdp_frame &f) { f.message.resize(193); });
	return out;
}

TEST_CASE("what is not for the program goes on as it came", "[xdp]")
{
	filled maps;
	NEEDS(maps)
	for (const auto &[what, frame] : others()) {
		INFO(what);
		check_passes(maps, frame.packet());
	}
	bytes arp = xdp_frame(query(listed)).packet();
	arp[13] = 6;
	check_passes(maps, arp);
}

TEST_CASE("an answer that is larger than the interface takes goes on", "[xdp]")
{
	filled maps(true, 400);
	NEEDS(maps)
	check_passes(maps, xdp_frame(query(not_listed, dns::AAAA, 1232, 0x8000)).packet());
	CHECK(maps.program.run(xdp_frame(query(listed)).packet()).action == XDP_TX);
	xdp_counts counts = maps.program.counts(XDP_ZONES_MAX);
	xdp_other_counts other;
	memcpy(&other, &counts, sizeof(other));
	CHECK(other.no_room == 1);
}

TEST_CASE("answers are counted, by what they say", "[xdp]")
{
	filled maps(true);
	NEEDS(maps)
	size_t size = 0;
	for (const bytes &wire :
	     { query(listed), query(listed, dns::A), query(not_listed),
	       query(long_name, dns::AAAA, 512, 0x8000), query("bl6.example.") }) {
		bytes answer;
		maps.program.ask(wire, answer);
		size += answer.size();
	}
	xdp_counts counts = maps.program.counts(0);
	CHECK(counts.queries == 4);
	CHECK(counts.noerror == 1);
	CHECK(counts.nodata == 1);
	CHECK(counts.nxdomain == 2);
	CHECK(counts.truncated == 1);
	CHECK(counts.dnssec == 1);
	CHECK(counts.bytes == size);
}

TEST_CASE("an answer that is too large for the client is cut as the server cuts it", "[xdp]")
{
	filled maps(true);
	NEEDS(maps)
	for (int payload : { 0, 512 }) {
		bytes wire = query(long_name, dns::AAAA, payload, 0x8000);
		bytes answer;
		REQUIRE(maps.program.ask(wire, answer) > 0);
		CHECK((dns::message(answer).flags & dns::TC) != 0);
		CHECK(answer == maps.answer(wire));
	}
}

TEST_CASE("a network has what the rate and the burst say, and every second of the rest is told",
	  "[xdp]")
{
	filled maps;
	NEEDS(maps)
	xdp_config config = maps.program.config();
	/* No second answer in less than an hour, ten of them at once. */
	config.interval_ns = 3600000000000;
	config.burst_ns = 10 * config.interval_ns;
	config.slip = 2;
	maps.program.set_config(config);
	xdp_frame frame(query(listed));
	for (unsigned i = 0; i < 10; i++)
		CHECK(maps.program.run(frame.packet()).action == XDP_TX);
	for (unsigned i = 0; i < 6; i++) {
		auto out = maps.program.run(frame.packet());
		REQUIRE(out.action == (i % 2 == 0 ? XDP_DROP : XDP_TX));
		if (out.action != XDP_TX)
			continue;
		dns::message reply(message_of(frame, out.packet));
		CHECK((reply.flags & (dns::TC | dns::AA)) == dns::TC);
		CHECK(reply.answer.empty());
	}
	frame.from = "198.51.101.7";
	CHECK(maps.program.run(frame.packet()).action == XDP_TX);
	CHECK(maps.program.counts(0).queries == 11);
}

TEST_CASE("a good cookie frees from the limit, and another is told to come back with one", "[xdp]")
{
	filled maps;
	NEEDS(maps)
	cookie_secrets secrets = {};
	REQUIRE(cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfcf"));
	REQUIRE(cookie_add_secret(&secrets, "445536bcd2513298075a5d379663c962"));
	xdp_config config = maps.program.config();
	config.has_cookies = 1;
	config.now_s = XDP_NOW_S;
	config.interval_ns = 3600000000000;
	config.burst_ns = config.interval_ns;
	config.slip = 1;
	config.secret_count = 2;
	for (size_t i = 0; i < 2; i++)
		memcpy(config.secrets[i], secrets.bytes[i], 16);
	maps.program.set_config(config);

	sockaddr_in client = {};
	client.sin_family = AF_INET;
	inet_pton(AF_INET, "198.51.100.7", &client.sin_addr);
	bytes good(COOKIE_SIZE);
	/* Of the secret that was before: it is still good. */
	cookie_secrets before = {};
	REQUIRE(cookie_add_secret(&before, "445536bcd2513298075a5d379663c962"));
	REQUIRE(cookie_make(&before, reinterpret_cast<sockaddr *>(&client), XDP_NOW_S,
			    bytes(8, 9).data(), good.data()));
	bytes fresh(COOKIE_SIZE);
	REQUIRE(cookie_make(&secrets, reinterpret_cast<sockaddr *>(&client), XDP_NOW_S, good.data(),
			    fresh.data()));

	dns::question question;
	question.name = listed;
	question.type = dns::AAAA;
	question.edns_payload = 1232;
	auto ask = [&](const bytes &cookie) {
		question.edns_options = { 0, 10, 0, static_cast<uint8_t>(cookie.size()) };
		dns::append(question.edns_options, cookie);
		bytes answer;
		REQUIRE(maps.program.ask(dns::query(question), answer) > 0);
		dns::message reply(answer);
		bytes cookie_of_ours;
		CHECK(reply.find_option(10, cookie_of_ours));
		CHECK(cookie_of_ours == fresh);
		return reply.rcode;
	};
	bytes bad = good;
	bad.back() ^= 1;
	CHECK(ask(bad) == dns::NOERROR); /* the one that the network has */
	CHECK(ask(bad) == dns::BADCOOKIE);
	CHECK(ask(bytes(8, 9)) == dns::BADCOOKIE);
	for (unsigned i = 0; i < 3; i++)
		CHECK(ask(good) == dns::NOERROR);
	xdp_counts counts = maps.program.counts(XDP_ZONES_MAX);
	xdp_other_counts other;
	memcpy(&other, &counts, sizeof(other));
	CHECK(other.limited_badcookie == 2);
	CHECK(other.cookies_bad == 2);
	CHECK(maps.program.counts(0).cookies == 3);
	CHECK(maps.program.counts(0).queries == 4);
}
