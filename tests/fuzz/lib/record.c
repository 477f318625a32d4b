/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * record.c - any bytes as a value of a store: every decoder refuses them, or
 * what it decoded is encoded to the same bytes.
 */
#include "lib/format/dnssec.h"
#include "lib/format/journal.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_bitmap(const uint8_t *data, size_t size)
{
	struct dnsblv6_bitmap map;
	struct dnsblv6_signatures signatures[2];
	uint8_t again[DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE];
	if (dnsblv6_record_decode_bitmap(data, size, &map) != DNSBLV6_OK)
		return;
	int ret = dnsblv6_record_decode_signatures(data, size, &signatures[0]);
	if (dnsblv6_record_decode_other_signatures(data, size, &signatures[1]) == DNSBLV6_OK) {
		expect(ret == DNSBLV6_OK);
		dnsblv6_record_encode_twice_signed_bitmap(&map, signatures, again);
		expect(size == DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE);
	} else if (ret == DNSBLV6_OK) {
		dnsblv6_record_encode_signed_bitmap(&map, &signatures[0], again);
		expect(size == DNSBLV6_SIGNED_BITMAP_RECORD_SIZE);
	} else {
		dnsblv6_record_encode_bitmap(&map, again);
		expect(size == DNSBLV6_BITMAP_RECORD_SIZE);
	}
	expect(memcmp(data, again, size) == 0);
}

static void try_rrs(const uint8_t *data, size_t size)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	while (dnsblv6_record_next_rr(data, size, &offset, &rr) == DNSBLV6_OK)
		expect(offset <= size && rr.rdata >= data &&
		       rr.rdata + rr.rdata_size == data + offset);
}

static void try_types(const uint8_t *data, size_t size)
{
	struct dnsblv6_types types;
	if (dnsblv6_types_of_record(data, size, true, &types) != DNSBLV6_OK)
		return;
	expect(types.count >= 2 && types.count <= DNSBLV6_TYPES_MAX);
	for (unsigned i = 1; i < types.count; i++)
		expect(types.numbers[i - 1] < types.numbers[i]);
}

/* The first byte says how much of the rest is the key. */
static void try_segment(const uint8_t *data, size_t size)
{
	struct dnsblv6_segment segment;
	uint16_t origin;
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	uint8_t value[DNSBLV6_SEGMENT_MAX];
	if (size == 0 || data[0] > size - 1)
		return;
	const size_t key_size = data[0];
	const uint8_t *rest = data + 1 + key_size;
	const size_t rest_size = size - 1 - key_size;
	if (dnsblv6_segment_decode(data + 1, key_size, rest, rest_size, &origin, &segment) !=
	    DNSBLV6_OK)
		return;
	expect(dnsblv6_segment_make_key(origin, segment.last, key) == key_size &&
	       memcmp(key, data + 1, key_size) == 0);
	expect(dnsblv6_segment_encode(&segment, value) == rest_size &&
	       memcmp(value, rest, rest_size) == 0);
}

static void try_set(const uint8_t *data, size_t size)
{
	static const struct dnsblv6_addr addr = { 0x20010db800000000, 1 };
	struct dnsblv6_value value;
	uint8_t text[DNSBLV6_TEXT_MAX];
	size_t offset = 0;
	while (dnsblv6_set_next(data, size, &offset, &value) == DNSBLV6_OK)
		expect(offset <= size && dnsblv6_value_expand(&value, addr, text) <= sizeof(text));
}

static void try_facts(const uint8_t *data, size_t size)
{
	struct dnsblv6_facts facts;
	struct dnsblv6_origin origin;
	struct dnsblv6_signing signing;
	uint8_t again[DNSBLV6_FACTS_MAX];
	uint16_t number;
	uint64_t written_s;
	if (dnsblv6_facts_decode(data, size, &facts) == DNSBLV6_OK)
		expect(dnsblv6_facts_encode(&facts, again) == size &&
		       memcmp(again, data, size) == 0);
	if (dnsblv6_origin_decode(data, size, &origin) == DNSBLV6_OK)
		expect(dnsblv6_origin_encode(&origin, again) == size &&
		       memcmp(again, data, size) == 0);
	if (dnsblv6_signing_decode(data, size, &signing) == DNSBLV6_OK) {
		expect(dnsblv6_signing_encode(&signing, again) == size &&
		       memcmp(again, data, size) == 0);
	}
	if (dnsblv6_lists_decode(data, size, &written_s) == DNSBLV6_OK) {
		dnsblv6_lists_encode(written_s, again);
		expect(size == DNSBLV6_LISTS_SIZE && memcmp(again, data, size) == 0);
	}
	if (dnsblv6_origin_parse_key(data, size, &number) == DNSBLV6_OK) {
		dnsblv6_origin_make_key(number, again);
		expect(size == DNSBLV6_ORIGIN_KEY_SIZE && memcmp(again, data, size) == 0);
	}
}

static void try_settings(const uint8_t *data, size_t size)
{
	struct dnsblv6_setting setting;
	size_t offset = 0;
	for (;;) {
		size_t begin = offset;
		if (dnsblv6_setting_next(data, size, &offset, &setting) != DNSBLV6_OK)
			break;
		uint8_t *again = malloc(offset - begin);
		expect(again != NULL && offset <= size);
		expect(dnsblv6_setting_encode(&setting, again) == offset - begin &&
		       memcmp(again, data + begin, offset - begin) == 0);
		free(again);
	}
}

static void try_list_files(const uint8_t *data, size_t size)
{
	struct dnsblv6_list_file file;
	uint8_t again[DNSBLV6_LIST_FILE_HEAD_SIZE + UINT8_MAX];
	size_t offset = 0;
	for (;;) {
		size_t begin = offset;
		if (dnsblv6_list_file_next(data, size, &offset, &file) != DNSBLV6_OK)
			break;
		expect(offset <= size && file.written_s != 0 && file.name_size > 0);
		for (size_t i = 0; i < file.name_size; i++)
			expect(file.name[i] >= ' ' && file.name[i] <= '~');
		expect(dnsblv6_list_file_encode(&file, again) == offset - begin &&
		       memcmp(again, data + begin, offset - begin) == 0);
	}
}

static void try_journal(const uint8_t *data, size_t size)
{
	struct dnsblv6_change change;
	struct dnsblv6_name_change name;
	uint8_t again[DNSBLV6_CHANGE_SIZE];
	size_t offset = 0;
	if (dnsblv6_change_decode(data, size, &change) == DNSBLV6_OK) {
		dnsblv6_change_encode(&change, again);
		expect(size == DNSBLV6_CHANGE_SIZE && memcmp(again, data, size) == 0);
	}
	for (;;) {
		size_t begin = offset;
		size_t again_size = 0;
		if (dnsblv6_name_change_next(data, size, &offset, &name) != DNSBLV6_OK)
			break;
		uint8_t *copy = malloc(offset - begin);
		expect(copy != NULL && offset <= size &&
		       dnsblv6_name_change_encode(&name, copy, offset - begin, &again_size) ==
			       DNSBLV6_OK &&
		       again_size == offset - begin && memcmp(copy, data + begin, again_size) == 0);
		free(copy);
	}
}

static void try_undo(const uint8_t *data, size_t size)
{
	struct dnsblv6_undo undo;
	size_t offset = 0;
	for (;;) {
		size_t begin = offset;
		size_t again_size = 0;
		if (dnsblv6_undo_next(data, size, &offset, &undo) != DNSBLV6_OK)
			break;
		uint8_t *copy = malloc(offset - begin);
		expect(copy != NULL && offset <= size &&
		       dnsblv6_undo_encode(&undo, copy, offset - begin, &again_size) ==
			       DNSBLV6_OK &&
		       again_size == offset - begin && memcmp(copy, data + begin, again_size) == 0);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)dnsblv6_record_kind(data, size);
	try_bitmap(data, size);
	try_rrs(data, size);
	try_types(data, size);
	try_segment(data, size);
	try_set(data, size);
	try_facts(data, size);
	try_settings(data, size);
	try_list_files(data, size);
	try_journal(data, size);
	try_undo(data, size);
	return 0;
}
