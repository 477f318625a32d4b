// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/name.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/vectors.hh"

#include <catch2/catch.hpp>

static bytes wire_of(const dnsblv6_labels &name)
{
	return { name.wire, name.wire + name.size };
}

static bytes upper_case(bytes wire)
{
	for (uint8_t &byte : wire) {
		if (byte >= 'a' && byte <= 'z')
			byte = static_cast<uint8_t>(byte - 'a' + 'A');
	}
	return wire;
}

static bool has_upper_case(const bytes &wire)
{
	for (uint8_t byte : wire) {
		if (byte >= 'A' && byte <= 'Z')
			return true;
	}
	return false;
}

static int parse(dnsblv6_style style, const bytes &wire, dnsblv6_prefix *ret_block)
{
	const guarded bounded(wire);
	return dnsblv6_name_parse(style, bounded.data(), bounded.size(), ret_block);
}

// ---- block names ----

TEST_CASE("the name of any block is read as that block, in either case", "[format][name]")
{
	const auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	const auto seed = RANDOM_SEED(300);
	CAPTURE(style, seed);
	const dnsblv6_prefix block = dnsblv6_block_of(randomness(seed).addr());
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_make(style, block, &name) == DNSBLV6_OK);
	CHECK_FALSE(has_upper_case(wire_of(name)));

	dnsblv6_prefix again;
	REQUIRE(parse(style, wire_of(name), &again) == DNSBLV6_OK);
	CHECK(again == block);
	REQUIRE(parse(style, upper_case(wire_of(name)), &again) == DNSBLV6_OK);
	CHECK(again == block);
}

TEST_CASE("a prefix has a dotted name when it is a block or a border", "[format][name]")
{
	const unsigned prefix_len = GENERATE(range(0u, 129u));
	const auto seed = RANDOM_SEED(5);
	CAPTURE(prefix_len, seed);
	const dnsblv6_prefix prefix = dnsblv6_prefix_make(randomness(seed).addr(), prefix_len);
	const bool is_ipv4 = dnsblv6_prefix_is_ipv4(prefix);
	const unsigned bits = is_ipv4 ? prefix_len - 96 : prefix_len;
	const bool is_border = is_ipv4 ? bits == 8 || bits == 16 || bits == 24
				       : bits == 16 || bits == 32 || bits == 48 || bits == 56;
	const bool is_block = bits == (is_ipv4 ? 25u : 57u);

	dnsblv6_labels name = {};
	const int ret = dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, prefix, &name);
	CHECK(ret == (is_border || is_block ? DNSBLV6_OK : DNSBLV6_EPREFIX));
	if (ret == DNSBLV6_OK) {
		dnsblv6_prefix again;
		REQUIRE(parse(DNSBLV6_STYLE_DOTTED, wire_of(name), &again) == DNSBLV6_OK);
		CHECK(again == prefix);
		CHECK(name.wire[0] == 1);
		CHECK((name.wire[1] == '*') == is_border);
	}
	dnsblv6_labels flat = {};
	CHECK(dnsblv6_name_make(DNSBLV6_STYLE_FLAT, prefix, &flat) ==
	      (is_block ? DNSBLV6_OK : DNSBLV6_EPREFIX));
}

static void check_written_again(dnsblv6_style style, const dnsblv6_prefix &block,
				const guarded &name)
{
	dnsblv6_labels again;
	REQUIRE(dnsblv6_name_make(style, block, &again) == DNSBLV6_OK);
	bytes lower(name.data(), name.data() + name.size());
	for (uint8_t &byte : lower) {
		if (byte >= 'A' && byte <= 'Z')
			byte = static_cast<uint8_t>(byte + 'a' - 'A');
	}
	CHECK(wire_of(again) == lower);
}

TEST_CASE("a name that is read is the name that is written for what was read", "[format][name]")
{
	const auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	const std::string name =
		GENERATE(as<std::string>{}, "0.2.0.192", "*.0.192", "1.255.255.255", "c000021",
			 "0.cc.aabb.0db8.2001.ip6", "*.0db8.2001.ip6", "20010db8aabbcc1.ip6");
	CAPTURE(style, name);
	unsigned read_count = 0;
	damage(labels_of(name), [&](const guarded &damaged) {
		dnsblv6_prefix block;
		const int ret = dnsblv6_name_parse(style, damaged.data(), damaged.size(), &block);
		CAPTURE(to_hex(damaged.data(), damaged.size()));
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_ENAME));
		if (ret != DNSBLV6_OK)
			return;
		read_count++;
		check_written_again(style, block, damaged);
	});
	const bool is_flat_name = name.find("c0000") == 0 || name.find("20010db8a") == 0;
	CHECK((read_count > 0) == (is_flat_name == (style == DNSBLV6_STYLE_FLAT)));
}

TEST_CASE("labels of any bytes are refused or read, and never read past", "[format][name]")
{
	const auto seed = RANDOM_SEED(500);
	CAPTURE(seed);
	randomness rnd(seed);
	bytes wire = rnd.labels(DNSBLV6_LABELS_MAX);
	if (!wire.empty() && rnd.one_in(2))
		wire.resize(rnd.below(static_cast<unsigned>(wire.size())));
	const guarded bounded(wire);
	dnsblv6_prefix prefix = { { 1, 2 }, 3 };
	for (auto style : { DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT }) {
		const int ret = dnsblv6_name_parse(style, bounded.data(), bounded.size(), &prefix);
		if (ret == DNSBLV6_OK) // "*.0" is a name, and once in a while it is drawn
			check_written_again(style, prefix, bounded);
		else
			CHECK(ret == DNSBLV6_ENAME);
	}
	const int ret4 = dnsblv6_name_parse_classic4(bounded.data(), bounded.size(), &prefix);
	CHECK((ret4 == DNSBLV6_OK || ret4 == DNSBLV6_ENAME));
	const int ret6 = dnsblv6_name_parse_classic6(bounded.data(), bounded.size(), &prefix);
	CHECK((ret6 == DNSBLV6_OK || ret6 == DNSBLV6_ENAME));
}

// ---- classic names ----

TEST_CASE("a classic name is read as its address", "[format][name]")
{
	const auto seed = RANDOM_SEED(200);
	CAPTURE(seed);
	const dnsblv6_addr addr = randomness(seed).addr();
	dnsblv6_labels name;
	dnsblv6_name_make_classic(addr, &name);
	const guarded wire(upper_case(wire_of(name)));
	dnsblv6_prefix prefix;
	const auto parse_classic = dnsblv6_addr_is_ipv4(addr) ? dnsblv6_name_parse_classic4
							      : dnsblv6_name_parse_classic6;
	REQUIRE(parse_classic(wire.data(), wire.size(), &prefix) == DNSBLV6_OK);
	CHECK(prefix == dnsblv6_prefix{ addr, 128 });
}

TEST_CASE("a classic name without its first labels is a prefix of the address", "[format][name]")
{
	const auto seed = RANDOM_SEED(50);
	CAPTURE(seed);
	const dnsblv6_addr addr = randomness(seed).addr();
	const bool is_ipv4 = dnsblv6_addr_is_ipv4(addr);
	dnsblv6_labels name;
	dnsblv6_name_make_classic(addr, &name);
	unsigned prefix_len = 128;
	for (unsigned start = 0; start < name.size; start += 1u + name.wire[start]) {
		CAPTURE(start, prefix_len);
		dnsblv6_prefix prefix;
		const auto parse_classic =
			is_ipv4 ? dnsblv6_name_parse_classic4 : dnsblv6_name_parse_classic6;
		REQUIRE(parse_classic(name.wire + start, name.size - start, &prefix) == DNSBLV6_OK);
		CHECK(prefix == dnsblv6_prefix_make(addr, prefix_len));
		prefix_len -= is_ipv4 ? 8 : 4;
	}
}

TEST_CASE("a damaged classic name is never read past its end", "[format][name]")
{
	const std::string name = GENERATE(as<std::string>{}, "2.0.0.127", "8.b.d.0.1.0.0.2");
	damage(labels_of(name), [&](const guarded &damaged) {
		dnsblv6_prefix prefix = { { 0, 0 }, 0 };
		const int ret4 =
			dnsblv6_name_parse_classic4(damaged.data(), damaged.size(), &prefix);
		CHECK((ret4 == DNSBLV6_OK || ret4 == DNSBLV6_ENAME));
		const int ret6 =
			dnsblv6_name_parse_classic6(damaged.data(), damaged.size(), &prefix);
		CHECK((ret6 == DNSBLV6_OK || ret6 == DNSBLV6_ENAME));
	});
}

// ---- presentation form ----

TEST_CASE("any name that is written as text is read as itself", "[format][name]")
{
	const auto seed = RANDOM_SEED(500);
	CAPTURE(seed);
	const bytes wire = randomness(seed).labels(DNSBLV6_LABELS_MAX);
	char text[DNSBLV6_NAME_TEXT_SIZE];
	const size_t size = dnsblv6_name_format(wire.data(), wire.size(), text);
	REQUIRE(size < sizeof(text));
	CHECK(strlen(text) == size);
	CAPTURE(text);
	for (const char *c = text; *c != '\0'; c++)
		CHECK((*c > ' ' && *c < 0x7f));
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_from_text(text, &name) == DNSBLV6_OK);
	CHECK(wire_of(name) == wire);
}

TEST_CASE("the text of the longest name fits", "[format][name]")
{
	bytes wire;
	for (unsigned size : { 63u, 63u, 63u, 61u }) {
		wire.push_back(static_cast<uint8_t>(size));
		wire.insert(wire.end(), size, 0xff);
	}
	REQUIRE(wire.size() == DNSBLV6_LABELS_MAX);
	char text[DNSBLV6_NAME_TEXT_SIZE];
	const size_t size = dnsblv6_name_format(wire.data(), wire.size(), text);
	CHECK(size == 250 * 4 + 3);
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_from_text(text, &name) == DNSBLV6_OK);
	CHECK(wire_of(name) == wire);
}

TEST_CASE("a final dot of a text means nothing", "[format][name]")
{
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_from_text("bl6.example.", &name) == DNSBLV6_OK);
	CHECK(wire_of(name) == labels_of("bl6.example"));
	REQUIRE(dnsblv6_name_from_text(".", &name) == DNSBLV6_OK);
	CHECK(name.size == 0);
	REQUIRE(dnsblv6_name_from_text("@", &name) == DNSBLV6_OK);
	CHECK(name.size == 0);
}

TEST_CASE("a backslash quotes a character that is no digit", "[format][name]")
{
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_from_text("john\\.doe.example", &name) == DNSBLV6_OK);
	CHECK(wire_of(name) == labels_of("john\\046doe.example"));
}

TEST_CASE("a byte that is not ASCII is one of a name as \\DDD alone", "[format][name]")
{
	dnsblv6_labels name;
	CHECK(dnsblv6_name_from_text("b\\195\\169.example", &name) == DNSBLV6_OK);
	CHECK(dnsblv6_name_from_text("b\u00e9.example", &name) == DNSBLV6_ENAME);
	CHECK(dnsblv6_name_from_text("\\\u00e9.example", &name) == DNSBLV6_ENAME);
}

TEST_CASE("a name of 254 octets is read and one of 255 is refused", "[format][name]")
{
	const std::string longest = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
				    std::string(63, 'c') + "." + std::string(61, 'd');
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_from_text(longest.c_str(), &name) == DNSBLV6_OK);
	CHECK(name.size == DNSBLV6_LABELS_MAX);
	CHECK(dnsblv6_name_from_text((longest + "d").c_str(), &name) == DNSBLV6_ENAMESIZE);
	CHECK(dnsblv6_name_from_text((longest + ".d").c_str(), &name) == DNSBLV6_ENAMESIZE);
	CHECK(dnsblv6_name_from_text(std::string(64, 'a').c_str(), &name) == DNSBLV6_ENAMESIZE);
}

TEST_CASE("a text cut or changed anywhere is never read past its end", "[format][name]")
{
	const std::string text = "a\\000b.\\255\\046.example.";
	bytes with_end(text.begin(), text.end());
	with_end.push_back(0);
	damage(with_end, [&](const guarded &damaged) {
		if (damaged.size() == 0 || damaged.data()[damaged.size() - 1] != 0)
			return; // the function asks for a NUL
		dnsblv6_labels name = {};
		const int ret = dnsblv6_name_from_text(damaged.text(), &name);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_ENAME || ret == DNSBLV6_ENAMESIZE));
	});
	for (size_t cut = 0; cut < text.size(); cut++) {
		bytes part(text.begin(), text.begin() + static_cast<long>(cut));
		part.push_back(0);
		const guarded bounded(part);
		CAPTURE(cut);
		dnsblv6_labels name = {};
		CHECK(dnsblv6_name_from_text(bounded.text(), &name) <= DNSBLV6_OK);
	}
}

// ---- joining ----

TEST_CASE("two names are joined, left before right", "[format][name]")
{
	const bytes left = labels_of("0.2.0.192");
	const bytes right = labels_of("dialups.bl6.example");
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_join(left.data(), left.size(), right.data(), right.size(), &name) ==
		DNSBLV6_OK);
	CHECK(wire_of(name) == labels_of("0.2.0.192.dialups.bl6.example"));
	REQUIRE(dnsblv6_name_join(left.data(), 0, right.data(), right.size(), &name) == DNSBLV6_OK);
	CHECK(wire_of(name) == right);
	REQUIRE(dnsblv6_name_join(left.data(), left.size(), right.data(), 0, &name) == DNSBLV6_OK);
	CHECK(wire_of(name) == left);
}

TEST_CASE("names that are too long together are not joined", "[format][name]")
{
	const std::string label(63, 'a');
	const bytes left = labels_of(label + "." + label);
	const bytes fits = labels_of(label + "." + std::string(61, 'b'));
	const bytes too_long = labels_of(label + "." + std::string(62, 'b'));
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_join(left.data(), left.size(), fits.data(), fits.size(), &name) ==
		DNSBLV6_OK);
	CHECK(name.size == DNSBLV6_LABELS_MAX);
	CHECK(dnsblv6_name_join(left.data(), left.size(), too_long.data(), too_long.size(),
				&name) == DNSBLV6_ENAMESIZE);
	CHECK(wire_of(name).size() == DNSBLV6_LABELS_MAX);
}

TEST_CASE("names that the format needs are not for sub-zones and name servers", "[format][name]")
{
	// More labels than any address has, those of an address in a sub-zone among them.
	std::string many;
	for (unsigned i = 0; i < 40; i++)
		many += "a.";
	auto reserved =
		GENERATE_COPY(as<std::string>{}, "ip6", "IP6", "a.ip6", "127", "0", "255", "f", "*",
			      "_dnsblv6", "c000020", "dialups.127", "x.y.*", many + "127");
	auto free =
		GENERATE_COPY(as<std::string>{}, "ns1", "dialups", "ip6.dialups", "127.lists", "00",
			      "256", "ff", "c000022", "c00002", "ip4", "@", many + "dialups");
	dnsblv6_labels name = {};
	CAPTURE(reserved, free);
	REQUIRE(dnsblv6_name_from_text(reserved.c_str(), &name) == DNSBLV6_OK);
	CHECK(dnsblv6_name_is_reserved(name.wire, name.size));
	REQUIRE(dnsblv6_name_from_text(free.c_str(), &name) == DNSBLV6_OK);
	CHECK_FALSE(dnsblv6_name_is_reserved(name.wire, name.size));
}
