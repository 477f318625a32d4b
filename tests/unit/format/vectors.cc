// SPDX-License-Identifier: GPL-3.0-or-later
// Addresses, names and keys: lib/format says what vectors.txt says, in both directions.

#include "tests/lib/guarded.hh"
#include "tests/unit/vectors.hh"

#include "lib/format/key.h"

#include <catch2/catch.hpp>

#include <set>

static guarded guarded_text(const std::string &text)
{
	return guarded(bytes(text.begin(), text.end()));
}

static std::string hex_of(const dnsblv6_key &key)
{
	return to_hex(key.bytes, key.size);
}

static std::string hex_of(dnsblv6_addr addr)
{
	uint8_t raw[16];
	dnsblv6_addr_to_bytes(addr, raw);
	return to_hex(raw, sizeof(raw));
}

static std::string text_of(dnsblv6_prefix prefix)
{
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	const size_t size = dnsblv6_prefix_format(prefix, text);
	CHECK(size == strlen(text));
	return text;
}

static std::string key_of(const bytes &labels)
{
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(labels.data(), labels.size(), &key) == DNSBLV6_OK);
	return hex_of(key);
}

TEST_CASE("every kind of vector is one that these tests know", "[format][vectors]")
{
	const std::set<std::string> known = {
		"address",
		"address-refused",
		"bitmap",
		"bitmap-record",
		"canary",
		"classic",
		"classic4",
		"classic4-refused",
		"classic6",
		"classic6-refused",
		"expand",
		"facts",
		"facts-refused",
		"files",
		"files-refused",
		"key",
		"key-refused",
		"labels-refused",
		"lists",
		"lists-refused",
		"metadata",
		"metadata-read",
		"metadata-refused",
		"name",
		"name-refused",
		"no-name",
		"no-prefix-key",
		"nsec",
		"order",
		"origin",
		"origin-key-refused",
		"origin-refused",
		"prefix",
		"prefix-key",
		"prefix-refused",
		"range",
		"record-refused",
		"rrsets-record",
		"rrsig",
		"schema",
		"segment",
		"segment-refused",
		"set",
		"set-refused",
		"signed-bitmap-record",
		"signing",
		"signing-refused",
		"signing-twice",
		"settings",
		"settings-refused",
		"testpoint",
		"text",
		"text-refused",
		"twice-signed-bitmap-record",
		"types",
		"types-refused",
		"unit",
		"whole",
	};
	std::set<std::string> found;
	for (const vector_line &line : all_vectors())
		found.insert(line.kind);
	CHECK(found == known);
}

// ---- addresses ----

TEST_CASE("an address is read, and written in its canonical form", "[format][vectors][address]")
{
	const vector_case c = EACH("address");
	CAPTURE(c);
	const guarded text = guarded_text(c[0]);
	dnsblv6_addr addr;
	REQUIRE(dnsblv6_addr_parse(text.text(), text.size(), &addr) == DNSBLV6_OK);
	CHECK(hex_of(addr) == c[1]);
	CHECK(dnsblv6_addr_from_bytes(from_hex(c[1]).data()) == addr);

	char canonical[DNSBLV6_ADDR_TEXT_SIZE];
	CHECK(dnsblv6_addr_format(addr, canonical) == c[2].size());
	CHECK(canonical == c[2]);
}

static int reason_of(const std::string &word)
{
	if (word == "address")
		return DNSBLV6_EADDRESS;
	if (word == "octet")
		return DNSBLV6_EOCTET;
	if (word == "leading-zero")
		return DNSBLV6_ELEADINGZERO;
	if (word == "length")
		return DNSBLV6_EPREFIXLEN;
	if (word == "host-bits")
		return DNSBLV6_EHOSTBITS;
	throw std::runtime_error("no reason: " + word);
}

TEST_CASE("what is no address is refused for its reason", "[format][vectors][address]")
{
	const vector_case c = EACH("address-refused");
	CAPTURE(c);
	const guarded text = guarded_text(unescaped(c[0]));
	dnsblv6_addr addr = { 1, 2 };
	CHECK(dnsblv6_addr_parse(text.text(), text.size(), &addr) == reason_of(c[1]));
	CHECK(addr == dnsblv6_addr{ 1, 2 });
}

TEST_CASE("a prefix is read and written", "[format][vectors][address]")
{
	const vector_case c = EACH("prefix");
	CAPTURE(c);
	const guarded text = guarded_text(c[0]);
	dnsblv6_prefix prefix;
	REQUIRE(dnsblv6_prefix_parse(text.text(), text.size(), &prefix) == DNSBLV6_OK);
	CHECK(hex_of(prefix.first) == c[1]);
	CHECK(std::to_string(prefix.prefix_len) == c[2]);
	CHECK(hex_of(dnsblv6_prefix_last(prefix)) == c[3]);
	CHECK(text_of(prefix) == c[4]);
}

TEST_CASE("what is no prefix is refused for its reason", "[format][vectors][address]")
{
	const vector_case c = EACH("prefix-refused");
	CAPTURE(c);
	const guarded text = guarded_text(unescaped(c[0]));
	dnsblv6_prefix prefix = { { 1, 2 }, 3 };
	const int ret = dnsblv6_prefix_parse(text.text(), text.size(), &prefix);
	if (c[1] == "any")
		CHECK(ret < 0);
	else
		CHECK(ret == reason_of(c[1]));
	CHECK(prefix == dnsblv6_prefix{ { 1, 2 }, 3 });
}

TEST_CASE("a range is cut into its fewest prefixes", "[format][vectors][address]")
{
	const vector_case c = EACH("range");
	CAPTURE(c);
	dnsblv6_addr next = address_of(c[0]);
	const dnsblv6_addr last = address_of(c[1]);
	std::vector<std::string> found = { c[0], c[1] };
	for (dnsblv6_addr end = { 0, 0 }; !(end == last); next = dnsblv6_addr_next(end)) {
		const dnsblv6_prefix prefix = dnsblv6_prefix_of_range(next, last);
		found.push_back(text_of(prefix));
		end = dnsblv6_prefix_last(prefix);
		REQUIRE(found.size() < 300);
	}
	CHECK(found == c.fields);
}

// ---- names ----

static void check_block_name(dnsblv6_style style, const dnsblv6_prefix &block,
			     const std::string &name, const std::string &key)
{
	dnsblv6_labels labels;
	REQUIRE(dnsblv6_name_make(style, block, &labels) == DNSBLV6_OK);
	CHECK(hex_of(labels) == to_hex(labels_of(name)));
	CHECK(key_of(labels_of(name)) == key);

	const guarded read(labels_of(name));
	dnsblv6_prefix parsed;
	REQUIRE(dnsblv6_name_parse(style, read.data(), read.size(), &parsed) == DNSBLV6_OK);
	CHECK(parsed == block);
}

TEST_CASE("an address has its unit, block, bit, names and keys", "[format][vectors][name]")
{
	const vector_case c = EACH("unit");
	CAPTURE(c);
	const dnsblv6_addr addr = address_of(c[0]);
	CHECK(dnsblv6_unit_of(addr) == prefix_of(c[1]));
	CHECK(dnsblv6_block_of(addr) == prefix_of(c[2]));
	CHECK(std::to_string(dnsblv6_host_index(addr)) == c[3]);
	check_block_name(DNSBLV6_STYLE_DOTTED, prefix_of(c[2]), c[4], c[6]);
	check_block_name(DNSBLV6_STYLE_FLAT, prefix_of(c[2]), c[5], c[7]);
}

TEST_CASE("a whole block at a border is a wildcard", "[format][vectors][name]")
{
	const vector_case c = EACH("whole");
	CAPTURE(c);
	check_block_name(DNSBLV6_STYLE_DOTTED, prefix_of(c[0]), c[1], c[2]);
}

TEST_CASE("a prefix that is neither block nor border has no name", "[format][vectors][name]")
{
	const vector_case c = EACH("no-name");
	CAPTURE(c);
	dnsblv6_labels labels = {};
	labels.size = 7;
	CHECK(dnsblv6_name_make(style_of(c[0]), prefix_of(c[1]), &labels) == DNSBLV6_EPREFIX);
	CHECK(labels.size == 7);
}

TEST_CASE("names are read in either case", "[format][vectors][name]")
{
	const vector_case c = EACH("name");
	CAPTURE(c);
	const guarded labels(labels_of(c[1]));
	dnsblv6_prefix block;
	REQUIRE(dnsblv6_name_parse(style_of(c[0]), labels.data(), labels.size(), &block) ==
		DNSBLV6_OK);
	CHECK(block == prefix_of(c[2]));
}

TEST_CASE("a name that is not canonical stands for no block", "[format][vectors][name]")
{
	const vector_case c = EACH("name-refused");
	CAPTURE(c);
	const guarded labels(labels_of(c[1]));
	dnsblv6_prefix block = { { 1, 2 }, 3 };
	CHECK(dnsblv6_name_parse(style_of(c[0]), labels.data(), labels.size(), &block) ==
	      DNSBLV6_ENAME);
	CHECK(block == dnsblv6_prefix{ { 1, 2 }, 3 });
}

TEST_CASE("an address has one classic name", "[format][vectors][name]")
{
	const vector_case c = EACH("classic");
	CAPTURE(c);
	const dnsblv6_addr addr = address_of(c[0]);
	const bytes wire = labels_of(c[1]);
	dnsblv6_labels made;
	dnsblv6_name_make_classic(addr, &made);
	CHECK(hex_of(made) == to_hex(wire));

	dnsblv6_prefix prefix;
	const int ret = dnsblv6_addr_is_ipv4(addr)
				? dnsblv6_name_parse_classic4(wire.data(), wire.size(), &prefix)
				: dnsblv6_name_parse_classic6(wire.data(), wire.size(), &prefix);
	REQUIRE(ret == DNSBLV6_OK);
	CHECK(prefix == dnsblv6_prefix{ addr, 128 });
}

using classic_parser = int (*)(const uint8_t *, size_t, dnsblv6_prefix *);

static void check_classic(classic_parser parse, const vector_case &c)
{
	CAPTURE(c);
	const guarded labels(labels_of(c[0]));
	dnsblv6_prefix prefix;
	REQUIRE(parse(labels.data(), labels.size(), &prefix) == DNSBLV6_OK);
	CHECK(prefix == prefix_of(c[1]));
}

static void check_classic_refused(classic_parser parse, const vector_case &c)
{
	CAPTURE(c);
	const guarded labels(labels_of(c[0]));
	dnsblv6_prefix prefix = { { 1, 2 }, 3 };
	CHECK(parse(labels.data(), labels.size(), &prefix) == DNSBLV6_ENAME);
	CHECK(prefix == dnsblv6_prefix{ { 1, 2 }, 3 });
}

TEST_CASE("leading decimals of a classic name are an IPv4 prefix", "[format][vectors][name]")
{
	check_classic(dnsblv6_name_parse_classic4, EACH("classic4"));
}

TEST_CASE("leading nibbles of a classic name are an IPv6 prefix", "[format][vectors][name]")
{
	check_classic(dnsblv6_name_parse_classic6, EACH("classic6"));
}

TEST_CASE("what is no canonical decimals is no classic IPv4 name", "[format][vectors][name]")
{
	check_classic_refused(dnsblv6_name_parse_classic4, EACH("classic4-refused"));
}

TEST_CASE("what is no row of nibbles is no classic IPv6 name", "[format][vectors][name]")
{
	check_classic_refused(dnsblv6_name_parse_classic6, EACH("classic6-refused"));
}

TEST_CASE("a name and its presentation form are one to one", "[format][vectors][name]")
{
	const vector_case c = EACH("text");
	CAPTURE(c);
	const guarded labels(from_hex(c[0]));
	char text[DNSBLV6_NAME_TEXT_SIZE];
	CHECK(dnsblv6_name_format(labels.data(), labels.size(), text) == c[1].size());
	CHECK(text == c[1]);

	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_from_text(c[1].c_str(), &name) == DNSBLV6_OK);
	CHECK(hex_of(name) == c[0]);
}

TEST_CASE("a text that is no name is refused", "[format][vectors][name]")
{
	const vector_case c = EACH("text-refused");
	CAPTURE(c);
	const guarded text(bytes(c[0].c_str(), c[0].c_str() + c[0].size() + 1));
	dnsblv6_labels name = {};
	name.size = 7;
	CHECK(dnsblv6_name_from_text(text.text(), &name) < 0);
	CHECK(name.size == 7);
}

// ---- keys ----

TEST_CASE("labels have a key, and the key has the labels", "[format][vectors][key]")
{
	const vector_case c = EACH("key");
	CAPTURE(c);
	CHECK(key_of(from_hex(c[0])) == c[1]);

	const guarded key(from_hex(c[1]));
	dnsblv6_labels name;
	REQUIRE(dnsblv6_key_to_labels(key.data(), key.size(), &name) == DNSBLV6_OK);
	CHECK(hex_of(name) == c[2]);
}

TEST_CASE("what is no sequence of labels has no key", "[format][vectors][key]")
{
	const vector_case c = EACH("labels-refused");
	CAPTURE(c);
	const guarded labels(from_hex(c[0]));
	dnsblv6_key key = {};
	key.size = 7;
	CHECK(dnsblv6_key_from_labels(labels.data(), labels.size(), &key) == DNSBLV6_ENAME);
	CHECK(key.size == 7);
}

TEST_CASE("what is no key has no labels", "[format][vectors][key]")
{
	const vector_case c = EACH("key-refused");
	CAPTURE(c);
	const guarded key(from_hex(c[0]));
	dnsblv6_labels name = {};
	name.size = 7;
	CHECK(dnsblv6_key_to_labels(key.data(), key.size(), &name) == DNSBLV6_EKEY);
	CHECK(name.size == 7);
}

TEST_CASE("keys are in canonical order", "[format][vectors][key]")
{
	const vector_case c = EACH("order");
	CAPTURE(c);
	std::vector<std::string> keys;
	for (const std::string &name : c.fields)
		keys.push_back(key_of(labels_of(name)));
	for (size_t i = 1; i < keys.size(); i++) {
		CAPTURE(c[i - 1], c[i]);
		CHECK(from_hex(keys[i - 1]) < from_hex(keys[i]));
	}
}

static int key_of_prefix(const std::string &origin, dnsblv6_style style, dnsblv6_prefix prefix,
			 dnsblv6_key *ret_start)
{
	const bytes labels = labels_of(origin);
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(labels.data(), labels.size(), &key) == DNSBLV6_OK);
	return dnsblv6_key_of_prefix(&key, style, prefix, ret_start);
}

TEST_CASE("keys inside a prefix have one beginning", "[format][vectors][key]")
{
	const vector_case c = EACH("prefix-key");
	CAPTURE(c);
	dnsblv6_key start;
	REQUIRE(key_of_prefix(c[1], style_of(c[0]), prefix_of(c[2]), &start) == DNSBLV6_OK);
	CHECK(hex_of(start) == c[3]);
}

TEST_CASE("a prefix between the borders has no such beginning", "[format][vectors][key]")
{
	const vector_case c = EACH("no-prefix-key");
	const auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	CAPTURE(c, style);
	dnsblv6_key start = {};
	start.size = 7;
	CHECK(key_of_prefix("@", style, prefix_of(c[0]), &start) == DNSBLV6_EPREFIX);
	CHECK(start.size == 7);
}
