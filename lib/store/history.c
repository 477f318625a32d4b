/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/store/history.h"

#include "lib/store/tables.h"

#include <string.h>

int history_newest(struct reader *reader, uint64_t *ret_number)
{
	uint8_t behind[DNSBLV6_JOURNAL_KEY_SIZE];
	struct store_bytes key;
	struct store_bytes value;
	uint32_t part;
	memset(behind, 0xff, sizeof(behind));
	int ret = reader_seek_before(reader, STORE_JOURNAL, behind, sizeof(behind), &key, &value);
	if (ret != STORE_OK)
		return ret;
	ret = dnsblv6_journal_parse_key(key.data, key.size, ret_number, &part);
	return ret == DNSBLV6_OK ? STORE_OK : STORE_ECORRUPT;
}

static int get_part(struct reader *reader, uint64_t number, uint32_t part,
		    struct store_bytes *ret_data)
{
	uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
	dnsblv6_journal_make_key(number, part, key);
	return reader_get(reader, STORE_JOURNAL, key, sizeof(key), ret_data);
}

int history_get(struct reader *reader, uint64_t number, struct dnsblv6_change *ret_change)
{
	struct store_bytes data;
	int ret = get_part(reader, number, 0, &data);
	if (ret != STORE_OK)
		return ret;
	ret = dnsblv6_change_decode(data.data, data.size, ret_change);
	return ret == DNSBLV6_OK ? STORE_OK : STORE_ECORRUPT;
}

int history_find(struct reader *reader, uint32_t serial, uint64_t *ret_number)
{
	uint64_t number;
	struct dnsblv6_change change;
	int ret = history_newest(reader, &number);
	for (; ret == STORE_OK; number--) {
		ret = history_get(reader, number, &change);
		if (ret == STORE_OK && !change.has_names)
			ret = DNSBLV6_ENOTFOUND;
		if (ret == STORE_OK && change.from_serial == serial)
			break;
	}
	if (ret == STORE_OK)
		*ret_number = number;
	return ret;
}

/* The next part of the change, or DNSBLV6_ENOTFOUND behind the last. */
static int next_part(struct history_names *names)
{
	struct dnsblv6_change change;
	if (names->part == 0) {
		int ret = history_get(names->reader, names->number, &change);
		if (ret != STORE_OK)
			return ret;
		if (!change.has_names)
			return DNSBLV6_ENOTFOUND;
		names->part_count = change.part_count;
	}
	if (names->part == names->part_count)
		return DNSBLV6_ENOTFOUND;
	names->part++;
	names->offset = 0;
	int ret = get_part(names->reader, names->number, names->part, &names->data);
	return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
}

int history_next_name(struct history_names *names, struct dnsblv6_name_change *ret_change)
{
	for (;;) {
		int ret = DNSBLV6_ENOTFOUND;
		if (names->part > 0)
			ret = dnsblv6_name_change_next(names->data.data, names->data.size,
						       &names->offset, ret_change);
		if (ret != DNSBLV6_ENOTFOUND)
			return ret == DNSBLV6_ERECORD ? STORE_ECORRUPT : ret;
		ret = next_part(names);
		if (ret != STORE_OK)
			return ret;
	}
}

int history_undo_part(struct reader *reader, uint64_t number, uint32_t part,
		      struct store_bytes *ret_data)
{
	return get_part(reader, number, DNSBLV6_JOURNAL_UNDO_PART + part, ret_data);
}
