// SPDX-License-Identifier: GPL-3.0-or-later

// Blocks of IPv4 are found by the number in their name, in lines of four bytes for each listed host.

#include "tests/unit/server/xdp-kernel/xdp_both.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

// ---- lists ----

static std::string name_of(dnsblv6_style style, uint32_t network, unsigned half)
{
	char text[32];
	if (style == DNSBLV6_STYLE_FLAT)
		snprintf(text, sizeof(text), "%06x%u", network, half);
	else
		snprintf(text, sizeof(text), "%u.%u.%u.%u", half, network & 255, network >> 8 & 255,
			 network >> 16);
	return text;
}

static xdp_question question_of(const std::string &name, bool has_do = false)
{
	xdp_question out;
	out.name = split(labels(name + ".bl6.example"));
	out.payload = has_do ? 1232 : -1;
	out.edns_flags = has_do ? 0x8000 : 0;
	return out;
}

// Names of blocks, each with its hosts; without wildcards above more than a network.
struct host_list {
	dnsblv6_style style;
	std::map<std::string, std::vector<unsigned>> blocks;

	store_options options(bool is_signed = false) const
	{
		store_options out;
		out.style = style;
		out.is_signed = is_signed;
		out.has_wide = false;
		out.more = [all = blocks](store_writer &writer) {
			for (const auto &[name, hosts] : all)
				writer.bitmap(name, hosts);
		};
		return out;
	}
};

// So many networks of a few /16s, with one host to all of them.
static host_list random_list(randomness &random, dnsblv6_style style, unsigned count)
{
	host_list out = { style, {} };
	for (unsigned i = 0; i < count; i++) {
		const uint32_t network = 10U << 16 | random.below(4) << 8 | random.below(256);
		std::vector<unsigned> hosts;
		for (unsigned more = random.one_in(3) ? 1 + random.below(9) : 1; more > 0; more--)
			hosts.push_back(random.below(128));
		if (random.one_in(20))
			for (unsigned host = 0; host < 128; host++)
				hosts.push_back(host);
		out.blocks[name_of(style, network, random.below(2))] = hosts;
	}
	return out;
}

// ---- what is in the lines ----

static const xdp_line *hosts_of(const xdp_memory &memory)
{
	const xdp_version &version = memory.current();
	return memory.native.lines + version.first_line + version.first_hosts;
}

static bool is_full(const xdp_line &line)
{
	return line.u.hosts.slots[XDP_HOSTS_SLOTS - 1] == XDP_HOSTS_FULL;
}

static unsigned count_full(const xdp_memory &memory)
{
	unsigned count = 0;
	for (uint32_t i = 0; i < memory.current().hosts_count; i++)
		count += is_full(hosts_of(memory)[i]);
	return count;
}

// What is left of the version are its hosts, and its names where a bitmap is.
static void forget_names(xdp_memory &memory)
{
	const xdp_version &version = memory.current();
	memset(static_cast<void *>(memory.tables.arrays.lines + version.first_line), 0,
	       version.bucket_count * sizeof(xdp_line));
}

TEST_CASE("numbers that share a line have different tags", "[xdp][hosts]")
{
	auto line_count = GENERATE(8U, 9U, 1000U, 8786U, 1U << 20);
	randomness random(random_seed(line_count));
	std::map<std::pair<uint32_t, uint32_t>, uint32_t> seen;
	unsigned wrong = 0;
	CAPTURE(line_count);
	for (unsigned i = 0; i < 300000; i++) {
		const uint32_t number = random.below(1U << XDP_HOSTS_BITS);
		const uint32_t mixed = xdp_hosts_mix(number);
		const uint32_t line = xdp_hosts_line(mixed, line_count);
		const uint32_t tag = xdp_hosts_tag(mixed);
		const auto at = seen.insert({ { line, tag }, number }).first;
		wrong += line >= line_count || tag <= XDP_HOSTS_MANY || tag >= XDP_HOSTS_WHERE ||
			 at->second != number;
	}
	CHECK(wrong == 0);
}

TEST_CASE("blocks with few hosts and blocks that are not listed are answered by their hosts alone",
	  "[xdp][hosts]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	randomness random(random_seed(style));
	const host_list list = random_list(random, style, 600);
	both zone(list.options());
	REQUIRE(zone.fill() == FILL_OK);
	forget_names(zone.memory);
	unsigned asked = 0;
	for (uint32_t block = 0; block < 4 * 256 * 2; block++) {
		const uint32_t network = 10U << 16 | block >> 1;
		const uint32_t mixed = xdp_hosts_mix(
			xdp_hosts_number(network, block & 1, style == DNSBLV6_STYLE_FLAT));
		if (is_full(hosts_of(
			    zone.memory)[xdp_hosts_line(mixed, zone.memory.current().hosts_count)]))
			continue;
		const std::string name = name_of(style, network, block & 1);
		CAPTURE(name);
		for (bool has_do : { false, true })
			REQUIRE(zone.is_same(question_of(name, has_do).wire()));
		asked += 2;
	}
	CHECK(zone.passed == 0);
	CHECK(zone.answered == asked);
	CHECK(asked > 4 * 256 * 2);
}

TEST_CASE("an answer is that of the server whatever a list has and however a name is written",
	  "[xdp][hosts]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	auto is_signed = GENERATE(false, true);
	randomness random(random_seed(static_cast<unsigned>(style) * 2 + is_signed));
	host_list list = random_list(random, style, 600);
	both zone(list.options(is_signed));
	REQUIRE(zone.fill() == FILL_OK);
	std::vector<std::string> names = {
		"1.2.0.192",	 "2.2.0.192",	"0.02.0.192",  "0.2.00.192",  "0.2.0.0192",
		"0.256.0.192",	 "0.2.0.999",	"00.2.0.192",  "0.2.0.19a",   "0.2.0.-1",
		"0.2.0.192.sub", "0.0.2.0.192", "2.0.192",     "0.2.0",	      "c000020",
		"C000020",	 "c000021",	"c000022",     "c00002",      "c0000200",
		"g000020",	 "o000020",	"cO00020",     "c000020.x",   "x.c000020",
		"c00:020",	 "c00/020",	"c000020.sub", "`000020",     "0.0.0.0",
		"1.255.255.255", "ffffff1",	"0000000",     "0.2.0.\\057",
	};
	for (const auto &[name, hosts] : list.blocks)
		names.push_back(name);
	for (unsigned i = 0; i < 4000; i++)
		names.push_back(name_of(random.one_in(2) ? DNSBLV6_STYLE_FLAT : style,
					random.one_in(4) ? random.below(1U << 24)
							 : 10U << 16 | random.below(1024),
					random.below(3)));
	for (const std::string &name : names) {
		xdp_question question = question_of(name, random.one_in(2));
		question.type = random.one_in(3) ? dns::A : dns::AAAA;
		CAPTURE(name, question.type, question.payload);
		REQUIRE(zone.is_same(question.wire()));
	}
	CHECK(zone.answered > zone.passed);
}

// ---- what hosts do not say ----

// Flat names, each with so many hosts: of few there are eight lines, and these are all for the first, in order.
static host_list list_of_one_line(const std::vector<unsigned> &counts)
{
	host_list list = { DNSBLV6_STYLE_FLAT, {} };
	for (uint32_t network = 0; list.blocks.size() < counts.size(); network++) {
		const uint32_t mixed = xdp_hosts_mix(xdp_hosts_number(network, 0, 1));
		if (xdp_hosts_line(mixed, XDP_HOSTS_MIN) != 0)
			continue;
		std::vector<unsigned> hosts;
		for (unsigned i = 0; i < counts[list.blocks.size()]; i++)
			hosts.push_back((network + 30 * i) % 128);
		list.blocks[name_of(list.style, network, 0)] = hosts;
	}
	return list;
}

TEST_CASE("a name for which its line has no room is found by its key", "[xdp][hosts]")
{
	const auto counts = GENERATE(values<std::vector<unsigned>>({
		std::vector<unsigned>(20, 1),
		// The last one would fit beside what the one before it did not fit beside.
		{ 4, 4, 4, 1, 4, 3 },
		{ 4, 4, 4, 2, 3, 2 },
		{ 4, 4, 4, 2, 4, 1, 1 },
		{ 4, 4, 4, 3, 2, 1 },
		{ 4, 4, 4, 1, 4, 2, 1, 3 },
	}));
	CAPTURE(counts);
	const host_list list = list_of_one_line(counts);
	both zone(list.options());
	REQUIRE(zone.fill() == FILL_OK);
	REQUIRE(zone.memory.current().hosts_count == XDP_HOSTS_MIN);
	CHECK(count_full(zone.memory) == 1);
	for (const auto &[name, hosts] : list.blocks) {
		CAPTURE(name);
		CHECK(zone.is_same(question_of(name).wire()));
	}
	CHECK(zone.passed == 0);
}

TEST_CASE("a wildcard of a network is known to both its halves, and a wider one to the zone",
	  "[xdp][hosts]")
{
	struct sample {
		std::string wildcard;
		bool is_wide;
	};
	auto sample = GENERATE(values<struct sample>({
		{ "*.3.2.10", false },
		{ "*.2.10", true },
		{ "*.10", true },
		{ "*", true },
		{ "*.wild", false },
		{ "*.0.3.2.10", false },
		{ "*.2001.ip6", false },
	}));
	CAPTURE(sample.wildcard);
	host_list list = { DNSBLV6_STYLE_DOTTED, { { "1.4.2.10", { 7 } } } };
	store_options options = list.options();
	options.more_bitmaps.push_back(sample.wildcard);
	both zone(options);
	REQUIRE(zone.fill() == FILL_OK);
	CHECK(((zone.memory.current().flags & XDP_ZONE_WIDE) != 0) == sample.is_wide);
	for (const char *name : { "0.3.2.10", "1.3.2.10", "0.4.2.10", "1.4.2.10", "0.3.3.10",
				  "0.3.2.11", "x.0.3.2.10", "0.0.3.2.10", "3.2.10", "a.2.10" }) {
		CAPTURE(name);
		CHECK(zone.is_same(question_of(name).wire()));
	}
	CHECK(zone.passed == 0);
}
