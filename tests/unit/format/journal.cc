// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/journal.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

using bytes = std::vector<uint8_t>;

static bytes some_bytes(randomness &rnd, unsigned size)
{
	bytes out(size);
	for (uint8_t &byte : out)
		byte = static_cast<uint8_t>(rnd.below(256));
	return out;
}

static dnsblv6_change some_change()
{
	dnsblv6_change change = {};
	change.from_serial = 0x01020304;
	change.to_serial = 0xfffffffe;
	change.made_s = 0x0102030405060708;
	change.verb = DNSBLV6_CHANGE_UPDATE;
	change.has_names = true;
	change.has_undo = true;
	change.part_count = 7;
	change.size = 99;
	change.added_count = 1;
	change.changed_count = 2;
	change.removed_count = 3;
	change.ipv4_count = 4;
	change.ipv6_count = 5;
	return change;
}

TEST_CASE("journal keys sort by number, then by part", "[format][journal]")
{
	uint8_t keys[4][DNSBLV6_JOURNAL_KEY_SIZE];
	uint64_t number;
	uint32_t part;
	dnsblv6_journal_make_key(255, 0, keys[0]);
	dnsblv6_journal_make_key(255, UINT32_MAX, keys[1]);
	dnsblv6_journal_make_key(256, 1, keys[2]);
	dnsblv6_journal_make_key(UINT64_MAX, 0, keys[3]);
	for (unsigned i = 1; i < 4; i++)
		CHECK(memcmp(keys[i - 1], keys[i], DNSBLV6_JOURNAL_KEY_SIZE) < 0);
	REQUIRE(dnsblv6_journal_parse_key(keys[1], sizeof(keys[1]), &number, &part) == DNSBLV6_OK);
	CHECK(number == 255);
	CHECK(part == UINT32_MAX);
	CHECK(dnsblv6_journal_parse_key(keys[1], sizeof(keys[1]) - 1, &number, &part) ==
	      DNSBLV6_EKEY);
}

TEST_CASE("the header of a change comes out as it went in", "[format][journal]")
{
	uint8_t data[DNSBLV6_CHANGE_SIZE];
	dnsblv6_change change = some_change();
	dnsblv6_change again = {};
	dnsblv6_change_encode(&change, data);
	const guarded record(bytes(data, data + sizeof(data)));
	REQUIRE(dnsblv6_change_decode(record.data(), record.size(), &again) == DNSBLV6_OK);
	CHECK(again.from_serial == change.from_serial);
	CHECK(again.to_serial == change.to_serial);
	CHECK(again.made_s == change.made_s);
	CHECK(again.verb == change.verb);
	CHECK(again.has_names == change.has_names);
	CHECK(again.has_undo == change.has_undo);
	CHECK(again.part_count == change.part_count);
	CHECK(again.size == change.size);
	CHECK(again.added_count == change.added_count);
	CHECK(again.changed_count == change.changed_count);
	CHECK(again.removed_count == change.removed_count);
	CHECK(again.ipv4_count == change.ipv4_count);
	CHECK(again.ipv6_count == change.ipv6_count);
}

static bytes encoded_change()
{
	bytes data(DNSBLV6_CHANGE_SIZE);
	const dnsblv6_change change = some_change();
	dnsblv6_change_encode(&change, data.data());
	return data;
}

static int decode(const bytes &data)
{
	const guarded record(data);
	dnsblv6_change change = {};
	return dnsblv6_change_decode(record.data(), record.size(), &change);
}

TEST_CASE("headers of a change have one size", "[format][journal]")
{
	bytes data = encoded_change();
	REQUIRE(decode(data) == DNSBLV6_OK);
	data.push_back(0);
	while (!data.empty()) {
		CAPTURE(data.size());
		CHECK((decode(data) == DNSBLV6_OK) == (data.size() == DNSBLV6_CHANGE_SIZE));
		data.pop_back();
	}
}

TEST_CASE("headers of a change say what made it, and whether it has names", "[format][journal]")
{
	const auto byte = static_cast<uint8_t>(GENERATE(range(0, 256)));
	CAPTURE(+byte);
	bytes data = encoded_change();
	data[16] = byte;
	CHECK((decode(data) == DNSBLV6_OK) == (byte >= 1 && byte <= 4));
	data = encoded_change();
	data[17] = byte;
	CHECK((decode(data) == DNSBLV6_OK) == (byte <= 1 || byte == 3));
}

TEST_CASE("names of a change come out as they went in, and no cut one does", "[format][journal]")
{
	const auto seed = RANDOM_SEED(100);
	CAPTURE(seed);
	randomness rnd(seed);
	const bytes key = some_bytes(rnd, 1 + rnd.below(40));
	const bytes old_record = some_bytes(rnd, rnd.below(200));
	const bytes old_next = some_bytes(rnd, rnd.below(40));
	const bytes new_record = some_bytes(rnd, 1 + rnd.below(200));
	const bytes new_next = some_bytes(rnd, rnd.below(40));
	const dnsblv6_name_change change = {
		key.data(),
		static_cast<uint16_t>(key.size()),
		{ old_record.data(), static_cast<uint16_t>(old_record.size()), old_next.data(),
		  static_cast<uint16_t>(old_next.size()) },
		{ new_record.data(), static_cast<uint16_t>(new_record.size()), new_next.data(),
		  static_cast<uint16_t>(new_next.size()) },
	};
	bytes part(2000);
	size_t size = 0;
	size_t second_size = 0;
	REQUIRE(dnsblv6_name_change_encode(&change, part.data(), part.size(), &size) == DNSBLV6_OK);
	CHECK(dnsblv6_name_change_encode(&change, part.data() + size, size - 1, &second_size) ==
	      DNSBLV6_ESPACE);
	REQUIRE(dnsblv6_name_change_encode(&change, part.data() + size, size, &second_size) ==
		DNSBLV6_OK);
	part.resize(size + second_size);

	const guarded whole(part);
	size_t offset = 0;
	for (int i = 0; i < 2; i++) {
		dnsblv6_name_change again = {};
		REQUIRE(dnsblv6_name_change_next(whole.data(), whole.size(), &offset, &again) ==
			DNSBLV6_OK);
		CHECK(bytes(again.key, again.key + again.key_size) == key);
		CHECK(bytes(again.before.record, again.before.record + again.before.record_size) ==
		      old_record);
		CHECK(bytes(again.before.next, again.before.next + again.before.next_size) ==
		      old_next);
		CHECK(bytes(again.after.record, again.after.record + again.after.record_size) ==
		      new_record);
		CHECK(bytes(again.after.next, again.after.next + again.after.next_size) ==
		      new_next);
	}
	dnsblv6_name_change again = {};
	CHECK(dnsblv6_name_change_next(whole.data(), whole.size(), &offset, &again) ==
	      DNSBLV6_ENOTFOUND);

	part.resize(size + rnd.below(static_cast<unsigned>(size - 1)) + 1);
	const guarded cut(part);
	offset = size;
	CHECK(dnsblv6_name_change_next(cut.data(), cut.size(), &offset, &again) == DNSBLV6_ERECORD);
}

TEST_CASE("a name that is there neither before nor after is no change", "[format][journal]")
{
	const bytes key = { 'a' };
	const dnsblv6_name_change change = { key.data(), 1, {}, {} };
	bytes part(100);
	size_t size = 0;
	size_t offset = 0;
	dnsblv6_name_change again = {};
	REQUIRE(dnsblv6_name_change_encode(&change, part.data(), part.size(), &size) == DNSBLV6_OK);
	CHECK(dnsblv6_name_change_next(part.data(), size, &offset, &again) == DNSBLV6_ERECORD);
}

static int next_undo(const bytes &data, dnsblv6_undo *ret_undo)
{
	const guarded part(data);
	size_t offset = 0;
	return dnsblv6_undo_next(part.data(), part.size(), &offset, ret_undo);
}

TEST_CASE("what undoes a change comes out as it went in, and no cut one does", "[format][journal]")
{
	const auto seed = RANDOM_SEED(100);
	CAPTURE(seed);
	randomness rnd(seed);
	const bool is_there = rnd.below(2) == 1;
	const bytes key = some_bytes(rnd, 1 + rnd.below(40));
	const bytes value = some_bytes(rnd, is_there ? rnd.below(200) : 0);
	const dnsblv6_undo undo = { static_cast<uint8_t>(1 + rnd.below(3)),
				    is_there,
				    key.data(),
				    static_cast<uint16_t>(key.size()),
				    value.data(),
				    static_cast<uint32_t>(value.size()) };
	bytes data(512);
	size_t size = 0;
	REQUIRE(dnsblv6_undo_encode(&undo, data.data(), data.size(), &size) == DNSBLV6_OK);
	CHECK(dnsblv6_undo_encode(&undo, data.data(), size - 1, &size) == DNSBLV6_ESPACE);
	data.resize(size);

	const guarded part(data);
	size_t offset = 0;
	dnsblv6_undo again = {};
	REQUIRE(dnsblv6_undo_next(part.data(), part.size(), &offset, &again) == DNSBLV6_OK);
	CHECK(offset == size);
	CHECK(again.table == undo.table);
	CHECK(again.is_there == is_there);
	CHECK(bytes(again.key, again.key + again.key_size) == key);
	CHECK(bytes(again.value, again.value + again.value_size) == value);
	CHECK(dnsblv6_undo_next(part.data(), part.size(), &offset, &again) == DNSBLV6_ENOTFOUND);
	for (data.pop_back(); !data.empty(); data.pop_back())
		CHECK(next_undo(data, &again) == DNSBLV6_ERECORD);
}

TEST_CASE("what undoes a change is of a table, with a key, and absent or not", "[format][journal]")
{
	const bytes right = { 1, 0, 0, 1, 0, 0, 0, 0, 'k' };
	dnsblv6_undo undo = {};
	REQUIRE(next_undo(right, &undo) == DNSBLV6_OK);
	bytes wrong = right;
	wrong[0] = static_cast<uint8_t>(GENERATE(0, 4, 255));
	CHECK(next_undo(wrong, &undo) == DNSBLV6_ERECORD);
	CHECK(next_undo({ 1, 2, 0, 1, 0, 0, 0, 0, 'k' }, &undo) == DNSBLV6_ERECORD);
	CHECK(next_undo({ 1, 1, 0, 0, 0, 0, 0, 0 }, &undo) == DNSBLV6_ERECORD);
	CHECK(next_undo({ 1, 0, 0, 1, 0, 0, 0, 1, 'k', 'v' }, &undo) == DNSBLV6_ERECORD);
}
