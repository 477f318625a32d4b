// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/record.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/vectors.hh"

#include <catch2/catch.hpp>

static bytes some_bytes(randomness &rnd, unsigned size_max)
{
	bytes out(rnd.below(size_max + 1));
	for (uint8_t &byte : out)
		byte = static_cast<uint8_t>(rnd.below(256));
	return out;
}

// ---- records ----

TEST_CASE("the kind of a record is its first byte", "[format][record]")
{
	const int first = GENERATE(range(0, 256));
	CAPTURE(first);
	const guarded record(bytes{ static_cast<uint8_t>(first) });
	const bool is_known = first == DNSBLV6_RECORD_BITMAP || first == DNSBLV6_RECORD_RRSETS;
	CHECK(dnsblv6_record_kind(record.data(), record.size()) ==
	      (is_known ? first : DNSBLV6_ERECORD));
	CHECK(dnsblv6_record_kind(record.data(), 0) == DNSBLV6_ERECORD);
}

TEST_CASE("a bitmap record is unsigned or signed, and of no other size", "[format][record]")
{
	const unsigned size = GENERATE(range(0u, 200u));
	CAPTURE(size);
	bytes data(size, 0x55);
	if (size > 0)
		data[0] = DNSBLV6_RECORD_BITMAP;
	const guarded record(data);
	const bool is_unsigned = size == DNSBLV6_BITMAP_RECORD_SIZE;
	const bool is_signed = size == DNSBLV6_SIGNED_BITMAP_RECORD_SIZE;
	dnsblv6_bitmap map;
	dnsblv6_signatures signatures;
	CHECK(dnsblv6_record_decode_bitmap(record.data(), record.size(), &map) ==
	      (is_unsigned || is_signed ? DNSBLV6_OK : DNSBLV6_ERECORD));
	CHECK(dnsblv6_record_decode_signatures(record.data(), record.size(), &signatures) ==
	      (is_signed     ? DNSBLV6_OK
	       : is_unsigned ? DNSBLV6_ENOTFOUND
			     : DNSBLV6_ERECORD));
}

TEST_CASE("RRs come out as they went in", "[format][record]")
{
	const auto seed = RANDOM_SEED(100);
	CAPTURE(seed);
	randomness rnd(seed);
	std::vector<bytes> rdatas;
	std::vector<dnsblv6_rr> rrs;
	for (unsigned count = 1 + rnd.below(5); count > 0; count--)
		rdatas.push_back(some_bytes(rnd, 300));
	for (const bytes &rdata : rdatas) {
		dnsblv6_rr rr = {};
		rr.type = static_cast<uint16_t>(rnd.below(65536));
		rr.ttl = rnd.ipv4();
		rr.rdata_size = static_cast<uint16_t>(rdata.size());
		rr.rdata = rdata.data();
		rrs.push_back(rr);
	}
	bytes data(4096);
	size_t size = 0;
	REQUIRE(dnsblv6_record_encode_rrs(rrs.data(), rrs.size(), data.data(), data.size(),
					  &size) == DNSBLV6_OK);
	data.resize(size);

	const guarded record(data);
	size_t offset = 0;
	for (size_t i = 0; i < rrs.size(); i++) {
		CAPTURE(i);
		dnsblv6_rr rr;
		REQUIRE(dnsblv6_record_next_rr(record.data(), record.size(), &offset, &rr) ==
			DNSBLV6_OK);
		CHECK(rr.type == rrs[i].type);
		CHECK(rr.ttl == rrs[i].ttl);
		CHECK(bytes(rr.rdata, rr.rdata + rr.rdata_size) == rdatas[i]);
	}
	dnsblv6_rr rr;
	CHECK(dnsblv6_record_next_rr(record.data(), record.size(), &offset, &rr) ==
	      DNSBLV6_ENOTFOUND);
	CHECK(dnsblv6_record_next_rr(record.data(), record.size(), &offset, &rr) ==
	      DNSBLV6_ENOTFOUND);
}

TEST_CASE("RRs that do not fit leave the size alone", "[format][record]")
{
	const uint8_t rdata[] = { 1, 2, 3 };
	dnsblv6_rr rr = {};
	rr.rdata_size = sizeof(rdata);
	rr.rdata = rdata;
	const unsigned space = GENERATE(range(0u, 13u));
	CAPTURE(space);
	bytes data(space);
	size_t size = 77;
	const int ret = dnsblv6_record_encode_rrs(&rr, 1, data.data(), data.size(), &size);
	CHECK(ret == (space >= 12 ? DNSBLV6_OK : DNSBLV6_ESPACE));
	CHECK(size == (space >= 12 ? 12 : 77));
}

TEST_CASE("damaged RRs never reach outside the record, and the walk ends", "[format][record]")
{
	const vector_case c = GENERATE(from_range(vectors("rrsets-record")));
	CAPTURE(c);
	damage(from_hex(c[0]), [&](const guarded &damaged) {
		size_t offset = 0;
		unsigned count = 0;
		unsigned sum = 0;
		dnsblv6_rr rr;
		int ret;
		while ((ret = dnsblv6_record_next_rr(damaged.data(), damaged.size(), &offset,
						     &rr)) == DNSBLV6_OK) {
			REQUIRE(++count <= damaged.size());
			for (unsigned i = 0; i < rr.rdata_size; i++)
				sum += rr.rdata[i];
		}
		CHECK((ret == DNSBLV6_ENOTFOUND || ret == DNSBLV6_ERECORD));
		CHECK(sum <= 255 * damaged.size());
	});
}

// ---- segments ----

TEST_CASE("a segment comes out as it went in", "[format][record]")
{
	const auto seed = RANDOM_SEED(200);
	CAPTURE(seed);
	randomness rnd(seed);
	const bool is_ipv4 = rnd.one_in(2);
	dnsblv6_segment segment = { is_ipv4 ? dnsblv6_addr_from_ipv4(rnd.ipv4()) : rnd.ipv6(),
				    is_ipv4 ? dnsblv6_addr_from_ipv4(rnd.ipv4()) : rnd.ipv6(),
				    rnd.ipv4() };
	if (dnsblv6_addr_compare(segment.first, segment.last) > 0)
		std::swap(segment.first, segment.last);
	const auto origin = static_cast<uint16_t>(rnd.below(65536));

	bytes key(DNSBLV6_SEGMENT_KEY_MAX);
	bytes data(DNSBLV6_SEGMENT_MAX);
	key.resize(dnsblv6_segment_make_key(origin, segment.last, key.data()));
	data.resize(dnsblv6_segment_encode(&segment, data.data()));
	CHECK(key.size() == (is_ipv4 ? 7 : 19));
	CHECK(data.size() == (is_ipv4 ? 8 : 20));

	const guarded k(key);
	const guarded v(data);
	uint16_t got_origin;
	dnsblv6_segment got;
	REQUIRE(dnsblv6_segment_decode(k.data(), k.size(), v.data(), v.size(), &got_origin, &got) ==
		DNSBLV6_OK);
	CHECK(got_origin == origin);
	CHECK(got.first == segment.first);
	CHECK(got.last == segment.last);
	CHECK(got.set == segment.set);
}

TEST_CASE("keys of segments are ordered by origin, family and last address", "[format][record]")
{
	const auto seed = RANDOM_SEED(300);
	CAPTURE(seed);
	randomness rnd(seed);
	const dnsblv6_addr a = rnd.addr();
	const dnsblv6_addr b = rnd.addr();
	const auto a_origin = static_cast<uint16_t>(rnd.below(3) * 255);
	const auto b_origin = static_cast<uint16_t>(rnd.below(3) * 255);
	bytes a_key(DNSBLV6_SEGMENT_KEY_MAX);
	bytes b_key(DNSBLV6_SEGMENT_KEY_MAX);
	a_key.resize(dnsblv6_segment_make_key(a_origin, a, a_key.data()));
	b_key.resize(dnsblv6_segment_make_key(b_origin, b, b_key.data()));
	const auto order = [](uint16_t origin, const dnsblv6_addr &addr) {
		return std::make_tuple(origin, !dnsblv6_addr_is_ipv4(addr), addr.hi, addr.lo);
	};
	CHECK((a_key < b_key) == (order(a_origin, a) < order(b_origin, b)));
}

TEST_CASE("a damaged segment is refused or reads as a segment", "[format][record]")
{
	const vector_case c = GENERATE(from_range(vectors("segment")));
	CAPTURE(c);
	const guarded key(from_hex(c[4]));
	const guarded value(from_hex(c[5]));
	const auto check = [](const guarded &k, const guarded &v) {
		CAPTURE(to_hex(k.data(), k.size()), to_hex(v.data(), v.size()));
		uint16_t origin;
		dnsblv6_segment segment;
		const int ret = dnsblv6_segment_decode(k.data(), k.size(), v.data(), v.size(),
						       &origin, &segment);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_ERECORD));
		if (ret != DNSBLV6_OK)
			return;
		CHECK(dnsblv6_addr_compare(segment.first, segment.last) <= 0);
		CHECK(dnsblv6_addr_is_ipv4(segment.first) == (k.size() == 7));
		CHECK(dnsblv6_addr_is_ipv4(segment.last) == (k.size() == 7));
	};
	damage(from_hex(c[4]), [&](const guarded &damaged) { check(damaged, value); });
	damage(from_hex(c[5]), [&](const guarded &damaged) { check(key, damaged); });
}

// ---- sets ----

TEST_CASE("keys of sets are in the order of their numbers", "[format][record]")
{
	const uint32_t a = GENERATE(0u, 1u, 255u, 256u, 65536u, UINT32_MAX);
	const uint32_t b = GENERATE(0u, 1u, 255u, 256u, 65536u, UINT32_MAX);
	CAPTURE(a, b);
	bytes a_key(DNSBLV6_SET_KEY_SIZE);
	bytes b_key(DNSBLV6_SET_KEY_SIZE);
	dnsblv6_set_make_key(a, a_key.data());
	dnsblv6_set_make_key(b, b_key.data());
	CHECK((a_key < b_key) == (a < b));
}

TEST_CASE("as many values as there can be come out as they went in", "[format][record]")
{
	const bytes text(255, 'x');
	std::vector<dnsblv6_value> values;
	for (uint32_t i = 0; i < DNSBLV6_SET_VALUES_MAX; i++)
		values.push_back({ 0x7f000000 + i, i, static_cast<uint8_t>(i), text.data() });
	bytes data(DNSBLV6_SET_VALUES_MAX * (9 + 255));
	size_t size = 0;
	REQUIRE(dnsblv6_set_encode(values.data(), values.size(), data.data(), data.size(), &size) ==
		DNSBLV6_OK);
	data.resize(size);

	const guarded set(data);
	size_t offset = 0;
	for (const dnsblv6_value &wanted : values) {
		CAPTURE(wanted.ttl);
		dnsblv6_value value;
		REQUIRE(dnsblv6_set_next(set.data(), set.size(), &offset, &value) == DNSBLV6_OK);
		CHECK(value.a == wanted.a);
		CHECK(value.ttl == wanted.ttl);
		CHECK(value.text_size == wanted.text_size);
		CHECK(bytes(value.text, value.text + value.text_size) ==
		      bytes(text.begin(), text.begin() + wanted.text_size));
	}
	dnsblv6_value value;
	CHECK(dnsblv6_set_next(set.data(), set.size(), &offset, &value) == DNSBLV6_ENOTFOUND);
}

TEST_CASE("a damaged set never reaches outside, and the walk ends", "[format][record]")
{
	const vector_case c = GENERATE(from_range(vectors("set")));
	CAPTURE(c);
	damage(from_hex(c[2]), [&](const guarded &damaged) {
		size_t offset = 0;
		unsigned count = 0;
		unsigned sum = 0;
		dnsblv6_value value;
		int ret;
		while ((ret = dnsblv6_set_next(damaged.data(), damaged.size(), &offset, &value)) ==
		       DNSBLV6_OK) {
			REQUIRE(++count <= damaged.size());
			for (unsigned i = 0; i < value.text_size; i++)
				sum += value.text[i];
		}
		CHECK((ret == DNSBLV6_ENOTFOUND || ret == DNSBLV6_ERECORD));
		CHECK(sum <= 255 * damaged.size());
	});
}

TEST_CASE("an expanded text is never longer than rbldnsd's", "[format][record]")
{
	const auto seed = RANDOM_SEED(300);
	CAPTURE(seed);
	randomness rnd(seed);
	bytes text(rnd.one_in(3) ? 200 + rnd.below(56) : rnd.below(60));
	for (uint8_t &byte : text)
		byte = rnd.one_in(4) ? 0 : static_cast<uint8_t>('a' + rnd.below(26));
	const dnsblv6_addr addr = rnd.addr();
	char address[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(addr, address);
	std::string wanted;
	for (uint8_t byte : text)
		wanted +=
			byte == 0 ? std::string(address) : std::string(1, static_cast<char>(byte));

	const guarded bounded(text);
	const dnsblv6_value value = { 0, 0, static_cast<uint8_t>(text.size()), bounded.data() };
	std::vector<uint8_t> expanded(DNSBLV6_TEXT_MAX); // on the heap, where ASan sees its end
	const size_t size = dnsblv6_value_expand(&value, addr, expanded.data());
	REQUIRE(size <= DNSBLV6_TEXT_MAX);
	CHECK(std::string(expanded.begin(), expanded.begin() + static_cast<long>(size)) ==
	      wanted.substr(0, 254));
}

// ---- facts ----

TEST_CASE("damaged facts are refused or read as facts", "[format][record]")
{
	const vector_case c = GENERATE(from_range(vectors("facts")));
	CAPTURE(c);
	damage(from_hex(c[10]), [&](const guarded &damaged) {
		dnsblv6_facts facts = {};
		const int ret = dnsblv6_facts_decode(damaged.data(), damaged.size(), &facts);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_ERECORD));
		if (ret != DNSBLV6_OK)
			return;
		bytes again(DNSBLV6_FACTS_MAX);
		again.resize(dnsblv6_facts_encode(&facts, again.data()));
		CHECK(again == bytes(damaged.data(), damaged.data() + damaged.size()));
	});
}

TEST_CASE("a damaged origin is refused or reads as an origin", "[format][record]")
{
	const vector_case c = GENERATE(from_range(vectors("origin")));
	CAPTURE(c);
	damage(from_hex(c[4]), [&](const guarded &damaged) {
		dnsblv6_origin origin = {};
		const int ret = dnsblv6_origin_decode(damaged.data(), damaged.size(), &origin);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_ERECORD));
		if (ret != DNSBLV6_OK)
			return;
		bytes again(DNSBLV6_ORIGIN_MAX);
		again.resize(dnsblv6_origin_encode(&origin, again.data()));
		CHECK(again == bytes(damaged.data(), damaged.data() + damaged.size()));
	});
	damage(from_hex(c[3]), [&](const guarded &damaged) {
		uint16_t origin = 0;
		const int ret = dnsblv6_origin_parse_key(damaged.data(), damaged.size(), &origin);
		CHECK(ret <= DNSBLV6_OK);
		if (ret == DNSBLV6_OK) {
			bytes again(DNSBLV6_ORIGIN_KEY_SIZE);
			dnsblv6_origin_make_key(origin, again.data());
			CHECK(again == bytes(damaged.data(), damaged.data() + damaged.size()));
		}
	});
}
