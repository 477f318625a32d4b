// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/key.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/vectors.hh"

#include <catch2/catch.hpp>

#include <algorithm>

using label_list = std::vector<bytes>; // the label nearest the apex first

static label_list list_of(const bytes &wire)
{
	label_list labels;
	for (size_t i = 0; i < wire.size(); i += 1u + wire[i]) {
		bytes label(wire.begin() + static_cast<long>(i) + 1,
			    wire.begin() + static_cast<long>(i) + 1 + wire[i]);
		for (uint8_t &byte : label) {
			if (byte >= 'A' && byte <= 'Z')
				byte = static_cast<uint8_t>(byte + 'a' - 'A');
		}
		labels.insert(labels.begin(), label);
	}
	return labels;
}

static bytes wire_of(const label_list &labels)
{
	bytes wire;
	for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
		wire.push_back(static_cast<uint8_t>(label->size()));
		wire.insert(wire.end(), label->begin(), label->end());
	}
	return wire;
}

static dnsblv6_key key_of(const bytes &wire)
{
	const guarded bounded(wire);
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(bounded.data(), bounded.size(), &key) == DNSBLV6_OK);
	return key;
}

static dnsblv6_key key_of(const std::string &name)
{
	return key_of(labels_of(name));
}

static bytes bytes_of(const dnsblv6_key &key)
{
	return { key.bytes, key.bytes + key.size };
}

// Two names that often share labels.
static std::pair<bytes, bytes> two_names(randomness &rnd)
{
	const bytes a = rnd.labels(120);
	label_list b = list_of(a);
	switch (rnd.below(4)) {
	case 0:
		return { a, rnd.labels(120) };
	case 1:
		b.resize(rnd.below(static_cast<unsigned>(b.size() + 1)));
		break;
	case 2:
		if (!b.empty())
			b[rnd.below(static_cast<unsigned>(b.size()))].back() ^= 1;
		break;
	default:
		break;
	}
	for (bytes &label : list_of(rnd.labels(120)))
		b.push_back(label);
	return { a, wire_of(b) };
}

TEST_CASE("the key of a name has the labels of that name, in lower case", "[format][key]")
{
	const auto seed = RANDOM_SEED(500);
	CAPTURE(seed);
	const bytes wire = randomness(seed).labels(DNSBLV6_LABELS_MAX);
	const guarded key(bytes_of(key_of(wire)));
	REQUIRE(key.size() <= DNSBLV6_KEY_MAX);
	dnsblv6_labels name;
	REQUIRE(dnsblv6_key_to_labels(key.data(), key.size(), &name) == DNSBLV6_OK);
	CHECK(bytes(name.wire, name.wire + name.size) == wire_of(list_of(wire)));
	CHECK(dnsblv6_key_label_count(key.data(), key.size()) == list_of(wire).size());
}

TEST_CASE("keys compare as names do in canonical order", "[format][key]")
{
	const auto seed = RANDOM_SEED(2000);
	CAPTURE(seed);
	randomness rnd(seed);
	const auto [a, b] = two_names(rnd);
	CAPTURE(to_hex(a), to_hex(b));
	const bytes a_key = bytes_of(key_of(a));
	const bytes b_key = bytes_of(key_of(b));
	// std::vector compares element by element, a beginning before what it begins:
	// for labels and for lists of them that is RFC 4034 section 6.1.
	CHECK((a_key < b_key) == (list_of(a) < list_of(b)));
	CHECK((a_key == b_key) == (list_of(a) == list_of(b)));
}

TEST_CASE("a name is below another when it has all its labels and more", "[format][key]")
{
	const auto seed = RANDOM_SEED(2000);
	CAPTURE(seed);
	randomness rnd(seed);
	const auto [a, b] = two_names(rnd);
	CAPTURE(to_hex(a), to_hex(b));
	const label_list a_list = list_of(a);
	const label_list b_list = list_of(b);
	const size_t both = std::min(a_list.size(), b_list.size());
	size_t common = 0;
	while (common < both && a_list[common] == b_list[common])
		common++;

	const guarded a_key(bytes_of(key_of(a)));
	const guarded b_key(bytes_of(key_of(b)));
	CHECK(dnsblv6_key_common_labels(a_key.data(), a_key.size(), b_key.data(), b_key.size()) ==
	      common);
	CHECK(dnsblv6_key_is_below(b_key.data(), b_key.size(), a_key.data(), a_key.size()) ==
	      (common == a_list.size() && b_list.size() > common));
	CHECK(dnsblv6_key_is_below(a_key.data(), a_key.size(), b_key.data(), b_key.size()) ==
	      (common == b_list.size() && a_list.size() > common));
}

TEST_CASE("every name but the apex is below the apex", "[format][key]")
{
	const std::string name = GENERATE(as<std::string>{}, "0", "*", "\\000", "0.2.0.192");
	CAPTURE(name);
	const dnsblv6_key apex = key_of("@");
	const dnsblv6_key key = key_of(name);
	CHECK(bytes_of(apex) == bytes{ 0 });
	CHECK(dnsblv6_key_is_below(key.bytes, key.size, apex.bytes, apex.size));
	CHECK_FALSE(dnsblv6_key_is_below(apex.bytes, apex.size, key.bytes, key.size));
	CHECK_FALSE(dnsblv6_key_is_below(apex.bytes, apex.size, apex.bytes, apex.size));
	CHECK(dnsblv6_key_common_labels(key.bytes, key.size, apex.bytes, apex.size) == 0);
	CHECK(dnsblv6_key_label_count(apex.bytes, apex.size) == 0);
}

TEST_CASE("a label that begins with another is no name below it", "[format][key]")
{
	const dnsblv6_key one = key_of("2.0.19");
	const dnsblv6_key other = key_of("2.0.192");
	CHECK_FALSE(dnsblv6_key_is_below(other.bytes, other.size, one.bytes, one.size));
	CHECK(dnsblv6_key_common_labels(one.bytes, one.size, other.bytes, other.size) == 0);
}

TEST_CASE("going to parents and adding the labels again gives the key back", "[format][key]")
{
	const auto seed = RANDOM_SEED(300);
	CAPTURE(seed);
	const bytes wire = randomness(seed).labels(DNSBLV6_LABELS_MAX);
	const label_list labels = list_of(wire);
	const dnsblv6_key whole = key_of(wire);

	dnsblv6_key key = whole;
	for (size_t left = labels.size(); left > 0; left--) {
		REQUIRE(dnsblv6_key_to_parent(&key));
		const label_list parent(labels.begin(),
					labels.begin() + static_cast<long>(left) - 1);
		CHECK(bytes_of(key) == bytes_of(key_of(wire_of(parent))));
	}
	CHECK_FALSE(dnsblv6_key_to_parent(&key));
	CHECK(bytes_of(key) == bytes{ 0 });

	for (const bytes &label : labels)
		REQUIRE(dnsblv6_key_add_label(&key, label.data(), label.size()) == DNSBLV6_OK);
	CHECK(bytes_of(key) == bytes_of(whole));
}

TEST_CASE("a label that does not fit changes nothing", "[format][key]")
{
	dnsblv6_key key = key_of("@");
	const bytes label(63, 1); // twice as long in a key
	int ret = DNSBLV6_OK;
	dnsblv6_key before = key;
	unsigned count = 0;
	while (ret == DNSBLV6_OK && count < 10) {
		before = key;
		ret = dnsblv6_key_add_label(&key, label.data(), label.size());
		count += ret == DNSBLV6_OK;
	}
	CHECK(ret == DNSBLV6_ESPACE);
	CHECK(count == 4);
	CHECK(bytes_of(key) == bytes_of(before));
}

TEST_CASE("the worst name has a key that LMDB takes", "[format][key]")
{
	const uint8_t byte = GENERATE(uint8_t{ 0 }, uint8_t{ 1 });
	bytes wire;
	for (unsigned size : { 63u, 63u, 63u, 61u }) {
		wire.push_back(static_cast<uint8_t>(size));
		wire.insert(wire.end(), size, byte);
	}
	REQUIRE(wire.size() == DNSBLV6_LABELS_MAX);
	CHECK(key_of(wire).size == 503);
}

TEST_CASE("a key cut or changed anywhere is refused, or the key of what it is read as",
	  "[format][key]")
{
	const std::string name = GENERATE(as<std::string>{}, "@", "0.2.0.192", "a\\000\\001b.\\001",
					  "*.0db8.2001.ip6");
	CAPTURE(name);
	damage(bytes_of(key_of(name)), [&](const guarded &damaged) {
		CAPTURE(to_hex(damaged.data(), damaged.size()));
		dnsblv6_labels labels = {};
		const int ret = dnsblv6_key_to_labels(damaged.data(), damaged.size(), &labels);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_EKEY));
		if (ret == DNSBLV6_OK)
			CHECK(bytes_of(key_of(bytes(labels.wire, labels.wire + labels.size))) ==
			      bytes(damaged.data(), damaged.data() + damaged.size()));
	});
}

TEST_CASE("labels cut or changed anywhere are refused or have a key", "[format][key]")
{
	damage(labels_of("0.cc.aabb.0db8.2001.ip6"), [&](const guarded &damaged) {
		dnsblv6_key key;
		const int ret = dnsblv6_key_from_labels(damaged.data(), damaged.size(), &key);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_ENAME));
	});
}

// ---- prefixes ----

static bool begins_with(const dnsblv6_key &key, const dnsblv6_key &start)
{
	return key.size >= start.size && memcmp(key.bytes, start.bytes, start.size) == 0;
}

static dnsblv6_key key_below(const bytes &origin, dnsblv6_style style, dnsblv6_prefix block)
{
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_make(style, block, &name) == DNSBLV6_OK);
	bytes wire(name.wire, name.wire + name.size);
	wire.insert(wire.end(), origin.begin(), origin.end());
	return key_of(wire);
}

static std::vector<unsigned> block_lens(dnsblv6_style style, bool is_ipv4)
{
	if (style == DNSBLV6_STYLE_FLAT)
		return { is_ipv4 ? 121u : 57u };
	if (is_ipv4)
		return { 104, 112, 120, 121 };
	return { 16, 32, 48, 56, 57 };
}

TEST_CASE("a key begins with the start of a prefix when its block lies inside", "[format][key]")
{
	const auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	const std::string origin = GENERATE(as<std::string>{}, "@", "dialups", "\\001.x");
	const auto seed = RANDOM_SEED(300);
	CAPTURE(style, origin, seed);
	randomness rnd(seed);
	const bool is_ipv4 = rnd.one_in(2);
	const unsigned prefix_len = is_ipv4 ? 104 + 8 * rnd.below(3) : 4 + 4 * rnd.below(14);
	const dnsblv6_addr addr = is_ipv4 ? dnsblv6_addr_from_ipv4(rnd.ipv4()) : rnd.ipv6();
	const dnsblv6_prefix prefix = dnsblv6_prefix_make(addr, prefix_len);
	const dnsblv6_key origin_key = key_of(origin);
	dnsblv6_key start;
	REQUIRE(dnsblv6_key_of_prefix(&origin_key, style, prefix, &start) == DNSBLV6_OK);

	// Blocks at and around the prefix, of both families.
	const dnsblv6_addr last = dnsblv6_prefix_last(prefix);
	const dnsblv6_addr near[] = { prefix.first,
				      last,
				      dnsblv6_addr_next(last),
				      dnsblv6_addr_previous(prefix.first),
				      addr,
				      rnd.addr(),
				      dnsblv6_addr_from_ipv4(rnd.ipv4()) };
	for (const dnsblv6_addr &other : near) {
		for (unsigned len : block_lens(style, dnsblv6_addr_is_ipv4(other))) {
			const dnsblv6_prefix block = dnsblv6_prefix_make(other, len);
			CAPTURE(prefix, block);
			const bool is_inside = dnsblv6_prefix_is_ipv4(block) == is_ipv4 &&
					       len >= prefix_len &&
					       dnsblv6_prefix_contains(prefix, block.first);
			const dnsblv6_key key = key_below(labels_of(origin), style, block);
			CHECK(begins_with(key, start) == is_inside);
		}
	}
}

TEST_CASE("keys compare as bytes, and a key stands before its extensions", "[format][key]")
{
	const bytes keys[] = { { 0 }, { 'a' }, { 'a', 0, 'a' }, { 'a', 'a' }, { 'b' }, { 0xff } };
	for (size_t i = 0; i < std::size(keys); i++) {
		for (size_t j = 0; j < std::size(keys); j++) {
			const guarded a(keys[i]);
			const guarded b(keys[j]);
			const int order =
				dnsblv6_key_compare(a.data(), a.size(), b.data(), b.size());
			CAPTURE(i, j);
			CHECK((order < 0) == (i < j));
			CHECK((order > 0) == (i > j));
		}
	}
}

TEST_CASE("an origin so long that no block fits below it is said to be too long", "[format][key]")
{
	bytes wire;
	for (unsigned size : { 63u, 63u, 63u, 61u }) {
		wire.push_back(static_cast<uint8_t>(size));
		wire.insert(wire.end(), size, 1);
	}
	const dnsblv6_key origin = key_of(wire);
	dnsblv6_key start = {};
	start.size = 7;
	CHECK(dnsblv6_key_of_prefix(&origin, DNSBLV6_STYLE_DOTTED, prefix_of("2001:db8::/32"),
				    &start) == DNSBLV6_ESPACE);
	CHECK(start.size == 7);
}
