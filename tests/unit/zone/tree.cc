// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/plan/tree.h"

#include "lib/format/key.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace
{
struct record {
	tree_name name;
	dnsblv6_labels labels;
	std::string text;
	std::string key;
};

struct walked {
	dnsblv6_style style;
	std::vector<record> records;
};

std::string key_of(const dnsblv6_labels &labels)
{
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(labels.wire, labels.size, &key) == DNSBLV6_OK);
	return std::string(reinterpret_cast<char *>(key.bytes), key.size);
}

int keep(void *context, const tree_name *name)
{
	auto *result = static_cast<walked *>(context);
	dnsblv6_labels labels;
	char text[DNSBLV6_NAME_TEXT_SIZE];
	int ret = tree_name_make(result->style, name, &labels);
	if (ret != DNSBLV6_OK)
		return ret;
	dnsblv6_name_format(labels.wire, labels.size, text);
	result->records.push_back({ *name, labels, text, key_of(labels) });
	return DNSBLV6_OK;
}

// Frees at the end of a test.
struct owned_tree {
	ranges list = {};
	explicit owned_tree(bool is_ipv4)
	{
		list.is_ipv4 = is_ipv4;
	}
	owned_tree(const owned_tree &) = delete;
	~owned_tree()
	{
		ranges_deinit(&list);
	}
	void add(uint64_t first, uint64_t last)
	{
		if (ranges_add(&list, first, last) != DNSBLV6_OK)
			throw std::bad_alloc();
	}
	// All from first to last but what list had so far.
	void invert(uint64_t first, uint64_t last)
	{
		ranges all = { nullptr, 0, 0, list.is_ipv4 };
		ranges rest = { nullptr, 0, 0, list.is_ipv4 };
		ranges_normalise(&list);
		REQUIRE(ranges_add(&all, first, last) == DNSBLV6_OK);
		REQUIRE(ranges_add_difference(&rest, &all, &list) == DNSBLV6_OK);
		ranges_deinit(&all);
		ranges_deinit(&list);
		list = rest;
	}
	bool has(uint64_t unit) const
	{
		auto end = list.items + list.count;
		auto found =
			std::lower_bound(list.items, end, unit,
					 [](const range &a, uint64_t b) { return a.last < b; });
		return found != end && found->first <= unit;
	}
	walked walk(dnsblv6_style style = DNSBLV6_STYLE_DOTTED)
	{
		ranges_normalise(&list);
		walked result = { style, {} };
		REQUIRE(tree_walk(&list, style, keep, &result) == DNSBLV6_OK);
		auto is_disordered = [](const record &a, const record &b) {
			return a.key >= b.key;
		};
		REQUIRE(std::adjacent_find(result.records.begin(), result.records.end(),
					   is_disordered) == result.records.end());
		return result;
	}
};

std::string names(const walked &result)
{
	std::string out;
	for (const auto &one : result.records)
		out += (out.empty() ? "" : " ") + one.text;
	return out;
}
} // namespace

TEST_CASE("a wholly listed block has one name, and a hole costs a name for each level at most",
	  "[zone-tools][ranges]")
{
	owned_tree r(true);
	SECTION("a /8")
	{
		r.add(0x0b000000, 0x0bffffff);
		CHECK(names(r.walk()) == "*.11");
	}
	SECTION("a /15")
	{
		r.add(0xc0000000, 0xc001ffff);
		CHECK(names(r.walk()) == "*.0.192 *.1.192");
	}
	SECTION("a /23 and a half")
	{
		r.add(0xc0000200, 0xc000047f);
		CHECK(names(r.walk()) == "*.2.0.192 *.3.0.192 0.4.0.192");
	}
	SECTION("a /16 without one address: no wildcard has exceptions there")
	{
		r.add(0xc0000000, 0xc0000009);
		r.add(0xc000000b, 0xc000ffff);
		auto result = r.walk();
		REQUIRE(result.records.size() == 257);
		CHECK(result.records[0].text == "0.0.0.192");
		CHECK(dnsblv6_bitmap_count(&result.records[0].name.map) == 127);
		CHECK(result.records[1].text == "1.0.0.192");
		CHECK(result.records[2].text == "*.1.0.192");
		CHECK(dnsblv6_bitmap_is_full(&result.records[2].name.map));
	}
	SECTION("all of IPv4")
	{
		r.add(0, UINT32_MAX);
		CHECK(r.walk().records.size() == 256);
	}
}

TEST_CASE("IPv6 blocks end at the group borders", "[zone-tools][ranges]")
{
	owned_tree r(false);
	SECTION("a /30 is four /32s")
	{
		r.add(0x20010db800000000, 0x20010dbbffffffff);
		CHECK(names(r.walk()) ==
		      "*.0db8.2001.ip6 *.0db9.2001.ip6 *.0dba.2001.ip6 *.0dbb.2001.ip6");
	}
	SECTION("a /57, a /64 and the last of all")
	{
		r.add(0x20010db8aabbcc00, 0x20010db8aabbcc7f);
		r.add(0x20010db8aabbcc85, 0x20010db8aabbcc85);
		r.add(UINT64_MAX, UINT64_MAX);
		CHECK(names(r.walk()) == "0.cc.aabb.0db8.2001.ip6 1.cc.aabb.0db8.2001.ip6 "
					 "1.ff.ffff.ffff.ffff.ip6");
	}
	SECTION("everything")
	{
		r.add(0, UINT64_MAX);
		CHECK(r.walk().records.size() == 65536);
	}
}

TEST_CASE("flat style spells every block out", "[zone-tools][ranges]")
{
	owned_tree r(true);
	r.add(0xc0000200, 0xc00003ff);
	CHECK(names(r.walk(DNSBLV6_STYLE_FLAT)) == "c000020 c000021 c000030 c000031");
}

TEST_CASE("an exception in a wide IPv6 block is spelled out beside its wildcard",
	  "[zone-tools][tree]")
{
	owned_tree r(false);
	SECTION("a /48 in a /32")
	{
		r.add(0x20010db8aabb0000, 0x20010db8aabbffff);
		r.invert(0x20010db800000000, 0x20010db8ffffffff);
		CHECK(names(r.walk()) ==
		      "*.0db8.2001.ip6 aabb.0db8.2001.ip6 z.aabb.0db8.2001.ip6 z.0db8.2001.ip6");
	}
	SECTION("a /64 in a /16: its /48 has no wildcard, and its /56s have names")
	{
		r.add(0x20010db8aabb0105, 0x20010db8aabb0105);
		r.invert(0x2001000000000000, 0x2001ffffffffffff);
		auto result = r.walk();
		std::vector<std::string> texts;
		for (const auto &one : result.records)
			texts.push_back(one.text);
		REQUIRE(texts.size() == 8 + 255);
		texts.erase(texts.begin() + 7, texts.end() - 4);
		CHECK(texts == std::vector<std::string>{
				       "*.2001.ip6", "*.0db8.2001.ip6", "aabb.0db8.2001.ip6",
				       "*.00.aabb.0db8.2001.ip6", "0.01.aabb.0db8.2001.ip6",
				       "1.01.aabb.0db8.2001.ip6", "*.02.aabb.0db8.2001.ip6",
				       "*.ff.aabb.0db8.2001.ip6", "z.aabb.0db8.2001.ip6",
				       "z.0db8.2001.ip6", "z.2001.ip6" });
	}
	SECTION("a /48 in a /32, in which a /64 is listed")
	{
		r.add(0x20010db8aabb0000, 0x20010db8aabbcc04);
		r.add(0x20010db8aabbcc06, 0x20010db8aabbffff);
		r.invert(0x20010db800000000, 0x20010db8ffffffff);
		CHECK(names(r.walk()) ==
		      "*.0db8.2001.ip6 aabb.0db8.2001.ip6 0.cc.aabb.0db8.2001.ip6 "
		      "z.aabb.0db8.2001.ip6 z.0db8.2001.ip6");
	}
	SECTION("a third of a /32 is not worth a wildcard")
	{
		r.add(0x20010db800000000, 0x20010db85555ffff);
		r.invert(0x20010db800000000, 0x20010db8ffffffff);
		CHECK(r.walk().records.size() == 0x10000 - 0x5556);
	}
}

namespace
{
// A zone of these names, as RFC 4592 reads it.
struct zone {
	std::map<std::string, const record *> owners;
	std::set<std::string> existing; // with the empty non-terminals

	explicit zone(const walked &walked)
	{
		for (const auto &one : walked.records) {
			owners[one.key] = &one;
			for (size_t end = one.key.find('\0'); end != std::string::npos;
			     end = one.key.find('\0', end + 1))
				existing.insert(one.key.substr(0, end));
			existing.insert(one.key);
		}
	}
	// The key of the closest encloser of what is not there.
	std::string encloser(std::string key) const
	{
		while (!key.empty() && existing.count(key) == 0) {
			size_t end = key.rfind('\0');
			key = end == std::string::npos ? "" : key.substr(0, end);
		}
		return key;
	}
	static std::string wildcard(const std::string &encloser)
	{
		return encloser.empty() ? "*" : encloser + '\0' + "*";
	}
	// What a question for the name is answered with; NULL: NXDOMAIN.
	const record *ask(const std::string &key) const
	{
		if (existing.count(key) != 0)
			return owners.at(key);
		auto found = owners.find(wildcard(encloser(key)));
		return found == owners.end() ? nullptr : found->second;
	}
	// The NSEC that covers a key: its two names. The apex is the empty string on either side.
	std::pair<std::string, std::string> cover(const std::string &key) const
	{
		auto behind = owners.upper_bound(key);
		return { behind == owners.begin() ? "" : std::prev(behind)->first,
			 behind == owners.end() ? "" : behind->first };
	}
};

std::string key_of_block(bool is_ipv4, uint64_t unit)
{
	auto addr = is_ipv4 ? dnsblv6_addr_from_ipv4(static_cast<uint32_t>(unit))
			    : dnsblv6_addr{ unit, 0 };
	dnsblv6_labels labels;
	REQUIRE(dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, dnsblv6_block_of(addr), &labels) ==
		DNSBLV6_OK);
	return key_of(labels);
}

bool is_below(const std::string &key, const std::string &above)
{
	return above.empty() || key.compare(0, above.size() + 1, above + '\0') == 0;
}

// Does client-lib/cache/ranges.h, which sees one NSEC alone, take the block to be empty?
bool takes_for_empty(const std::pair<std::string, std::string> &nsec, const std::string &block)
{
	const std::string &owner = nsec.first;
	if (owner >= block || (!nsec.second.empty() && block >= nsec.second))
		return false;
	if (owner == "*")
		return false;
	bool is_wildcard =
		owner.size() > 2 && owner.compare(owner.size() - 2, 2, std::string("\0*", 2)) == 0;
	return !is_wildcard || !is_below(block, owner.substr(0, owner.size() - 2));
}

// Ranges that are mostly whole blocks with exceptions of all sizes, and some that lie apart.
void draw(std::mt19937_64 &random, bool is_ipv4, owned_tree *list)
{
	uint64_t mask = is_ipv4 ? UINT32_MAX : UINT64_MAX;
	unsigned bits = is_ipv4 ? 32 : 64;
	uint64_t base = is_ipv4 ? 0xc0000000 : 0x20010db800000000;
	const std::vector<unsigned> sizes =
		is_ipv4 ? std::vector<unsigned>{ 0, 1, 7, 8, 9, 12, 16 }
			: std::vector<unsigned>{ 0, 1, 7, 8, 9, 13, 16, 20 };
	for (int i = 0; i < 12; i++) {
		unsigned size = sizes[random() % sizes.size()];
		uint64_t first = base + (random() % 4 << (is_ipv4 ? 16 : 32)) +
				 (random() & (is_ipv4 ? 0xffff : 0xffffffff));
		first = first >> size << size;
		list->add(first, first + (((uint64_t)1 << size) - 1));
	}
	unsigned wide = is_ipv4 ? 14 + random() % 3 : 30 + random() % 3;
	if (random() % 4 != 0)
		list->invert(base, base + (((uint64_t)1 << (bits - wide)) - 1));
	for (int i = 0; i < 6; i++) {
		uint64_t first = random() & mask;
		if (i % 2 == 0)
			first = base + (first & (is_ipv4 ? 0x3ffff : 0x3ffffffff));
		uint64_t size = random() % (i % 3 == 0 ? 70000 : 300);
		list->add(first, first + size > mask || first + size < first ? mask : first + size);
	}
	ranges_normalise(&list->list);
}

// Units next to every border that there is, and some others.
std::vector<uint64_t> samples(std::mt19937_64 &random, const owned_tree &list)
{
	std::set<uint64_t> result;
	uint64_t mask = list.list.is_ipv4 ? UINT32_MAX : UINT64_MAX;
	for (size_t i = 0; i < list.list.count; i++) {
		for (uint64_t at : { list.list.items[i].first, list.list.items[i].last }) {
			for (unsigned shift : { 0, 7, 8, 16, 24, 32 }) {
				result.insert((at - ((uint64_t)1 << shift)) & mask);
				result.insert(at);
				result.insert((at + ((uint64_t)1 << shift)) & mask);
			}
		}
	}
	for (int i = 0; i < 100; i++)
		result.insert(random() & mask);
	return std::vector<uint64_t>(result.begin(), result.end());
}
} // namespace

TEST_CASE("random ranges with exceptions are answered right, and no denial reaches what is listed",
	  "[zone-tools][tree]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937_64 random(seed);
	bool is_ipv4 = GENERATE(true, false);
	for (int round = 0; round < 40; round++) {
		CAPTURE(round);
		owned_tree list(is_ipv4);
		draw(random, is_ipv4, &list);
		auto result = list.walk();
		zone zone(result);
		auto units = samples(random, list);
		std::vector<std::string> listed;
		std::set<std::pair<std::string, std::string>> denials;
		unsigned wrong = 0;
		for (uint64_t unit : units) {
			std::string key = key_of_block(is_ipv4, unit);
			const record *answer = zone.ask(key);
			bool is_listed = answer != nullptr && answer->name.kind == TREE_BLOCK &&
					 dnsblv6_bitmap_get(&answer->name.map, unit & 127);
			wrong += is_listed != list.has(unit);
			// NOERROR without a bitmap would mean that something filters.
			wrong += answer != nullptr && answer->name.kind != TREE_BLOCK;
			if (answer != nullptr)
				listed.push_back(key);
			if (answer != nullptr)
				continue;
			denials.insert(zone.cover(key));
			denials.insert(zone.cover(zone::wildcard(zone.encloser(key))));
		}
		CHECK(wrong == 0);
		for (const auto &nsec : denials)
			wrong += static_cast<unsigned>(
				std::count_if(listed.begin(), listed.end(), [&](const auto &key) {
					return takes_for_empty(nsec, key);
				}));
		REQUIRE(wrong == 0);
	}
}

namespace
{
std::string common(const std::string &a, const std::string &b)
{
	size_t size = 0;
	for (size_t i = 0; i <= a.size() && i <= b.size(); i++) {
		bool a_ends = i == a.size() || a[i] == '\0';
		bool b_ends = i == b.size() || b[i] == '\0';
		if (a_ends && b_ends)
			size = i;
		if (i == a.size() || i == b.size() || a[i] != b[i])
			break;
	}
	return a.substr(0, size);
}

// What a resolver makes of the proof of one version and a wildcard of the other (RFC 8198 section 5.3).
const record *synthesise(const zone &proving, const zone &answering, const std::string &key)
{
	if (proving.existing.count(key) != 0)
		return nullptr;
	auto nsec = proving.cover(key);
	auto left = common(key, nsec.first);
	auto right = common(key, nsec.second);
	auto found =
		answering.owners.find(zone::wildcard(left.size() > right.size() ? left : right));
	return found == answering.owners.end() ? nullptr : found->second;
}
} // namespace

TEST_CASE("proofs of one version beside wildcards of another list nothing that neither lists",
	  "[zone-tools][tree]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937_64 random(seed);
	bool is_ipv4 = GENERATE(true, false);
	unsigned seen = 0;
	for (int round = 0; round < 60; round++) {
		CAPTURE(round);
		owned_tree before(is_ipv4);
		owned_tree after(is_ipv4);
		draw(random, is_ipv4, &before);
		draw(random, is_ipv4, &after);
		// Both change blocks as a whole that are listed in part in the other.
		for (int i = 0; i < 8; i++) {
			const owned_tree &from = i % 2 == 0 ? before : after;
			uint64_t first =
				from.list.items[random() % from.list.count].first >> 8 << 8;
			(i % 2 == 0 ? after : before).add(first, first + 255);
		}
		walked walks[] = { before.walk(), after.walk() };
		zone versions[] = { zone(walks[0]), zone(walks[1]) };
		auto units = samples(random, before);
		for (uint64_t unit : samples(random, after))
			units.push_back(unit);
		unsigned wrong = 0;
		for (uint64_t unit : units) {
			std::string key = key_of_block(is_ipv4, unit);
			for (int i = 0; i < 2; i++) {
				const record *made = synthesise(versions[i], versions[1 - i], key);
				// FORMAT.md 2.3: wide blocks of IPv6 alone have wildcards with exceptions.
				if (made == nullptr || made->name.block.prefix_len == 16 ||
				    made->name.block.prefix_len == 32)
					continue;
				seen++;
				wrong += !before.has(unit) && !after.has(unit);
			}
		}
		REQUIRE(wrong == 0);
	}
	CHECK(seen > 0);
}

TEST_CASE("random ranges come back from their names, in key order", "[zone-tools][tree]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937_64 random(seed);
	bool is_ipv4 = GENERATE(true, false);
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	for (int round = 0; round < 60; round++) {
		CAPTURE(round);
		owned_tree in(is_ipv4);
		owned_tree out(is_ipv4);
		uint64_t mask = is_ipv4 ? UINT32_MAX : UINT64_MAX;
		if (style == DNSBLV6_STYLE_DOTTED)
			draw(random, is_ipv4, &in);
		for (int i = 0; i < 30; i++) {
			uint64_t first = random() & mask;
			if (i % 2 == 0)
				first = (first & 0xffff) | (mask & 0x2001000000000000) | 0xc0000000;
			uint64_t size = random() % (i % 3 == 0 ? 70000 : 300);
			in.add(first,
			       first + size > mask || first + size < first ? mask : first + size);
		}
		tree_reading reading = {};
		reading.ranges = &out.list;
		reading.style = style;
		bool is_full = true;
		for (const auto &one : in.walk(style).records) {
			bool is_block = one.name.kind == TREE_BLOCK;
			bool is_whole = is_block && one.labels.wire[1] == '*';
			is_full = is_full && (!is_whole || dnsblv6_bitmap_is_full(&one.name.map));
			REQUIRE(tree_read(&reading, one.labels.wire, one.labels.size,
					  is_block ? &one.name.map : nullptr) == DNSBLV6_OK);
		}
		REQUIRE(tree_end(&reading) == DNSBLV6_OK);
		REQUIRE(is_full);
		REQUIRE(in.list.count == out.list.count);
		REQUIRE(memcmp(in.list.items, out.list.items, in.list.count * sizeof(range)) == 0);
	}
}
