/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/undo.h"

#include "lib/format/journal.h"
#include "lib/format/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SIZE = 1 << 16 };

struct undo {
	struct writer *writer;
	uint64_t number;
	uint64_t size; /* of all parts, with the one that is being filled */
	uint64_t size_max;
	uint32_t part_count;
	bool is_dropped;
	size_t part_size;
	uint8_t part[PART_SIZE];
};

/* As FORMAT.md numbers them. */
static uint8_t table_number(enum store_table table)
{
	switch (table) {
	case STORE_SEGMENTS:
		return 1;
	case STORE_SETS:
		return 2;
	default:
		return 3;
	}
}

int undo_new(struct writer *writer, uint64_t number, uint64_t size_max, struct undo **ret_undo)
{
	struct undo *undo = malloc(sizeof(*undo));
	if (undo == NULL)
		return -ENOMEM;
	undo->writer = writer;
	undo->number = number;
	undo->size = 0;
	undo->size_max = size_max;
	undo->part_count = 0;
	undo->is_dropped = false;
	undo->part_size = 0;
	*ret_undo = undo;
	return DNSBLV6_OK;
}

void undo_free(struct undo *undo)
{
	free(undo);
}

/* ---- parts ---- */

static int put_part(struct undo *undo, const uint8_t *data, size_t size)
{
	uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
	dnsblv6_journal_make_key(undo->number, DNSBLV6_JOURNAL_UNDO_PART + undo->part_count++, key);
	return writer_put(undo->writer, STORE_JOURNAL, key, sizeof(key), data, size);
}

static int flush(struct undo *undo)
{
	size_t size = undo->part_size;
	undo->part_size = 0;
	return size > 0 ? put_part(undo, undo->part, size) : DNSBLV6_OK;
}

int undo_delete(struct writer *writer, uint64_t number)
{
	uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
	uint32_t part = DNSBLV6_JOURNAL_UNDO_PART;
	int ret;
	do {
		dnsblv6_journal_make_key(number, part++, key);
		ret = writer_delete(writer, STORE_JOURNAL, key, sizeof(key));
	} while (ret == DNSBLV6_OK);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int drop(struct undo *undo)
{
	undo->is_dropped = true;
	undo->part_size = 0;
	return undo_delete(undo->writer, undo->number);
}

/* A part of its own. */
static int add_large(struct undo *undo, const struct dnsblv6_undo *entry, size_t size)
{
	uint8_t *data = malloc(size);
	if (data == NULL)
		return -ENOMEM;
	int ret = flush(undo);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_undo_encode(entry, data, size, &size);
	if (ret == DNSBLV6_OK)
		ret = put_part(undo, data, size);
	free(data);
	return ret;
}

static int add(struct undo *undo, enum store_table table, struct store_bytes key,
	       const struct store_bytes *value)
{
	struct dnsblv6_undo entry = { .table = table_number(table),
				      .is_there = value != NULL,
				      .key = key.data,
				      .key_size = (uint16_t)key.size,
				      .value = value != NULL ? value->data : NULL,
				      .value_size = value != NULL ? (uint32_t)value->size : 0 };
	size_t size = DNSBLV6_UNDO_HEAD_SIZE + key.size + entry.value_size;
	if (undo->is_dropped)
		return DNSBLV6_OK;
	undo->size += size;
	if (undo->size > undo->size_max)
		return drop(undo);
	if (size > PART_SIZE)
		return add_large(undo, &entry, size);
	int ret = undo->part_size + size > PART_SIZE ? flush(undo) : DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_undo_encode(&entry, undo->part + undo->part_size,
					  PART_SIZE - undo->part_size, &size);
	if (ret == DNSBLV6_OK)
		undo->part_size += size;
	return ret;
}

/* ---- single entries ---- */

static bool is_equal(struct store_bytes a, struct store_bytes b)
{
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

int undo_note(struct undo *undo, enum store_table table, const uint8_t *key, size_t key_size)
{
	struct store_bytes wanted = { key, key_size };
	struct store_bytes found;
	struct store_bytes value;
	struct writer_walk *walk = NULL;
	if (undo->is_dropped)
		return DNSBLV6_OK;
	int ret = writer_walk_open(undo->writer, table, &walk);
	if (ret == DNSBLV6_OK)
		ret = writer_walk_seek(walk, key, key_size, &found, &value);
	writer_walk_close(walk);
	if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	bool was_there = ret == DNSBLV6_OK && is_equal(found, wanted);
	return add(undo, table, wanted, was_there ? &value : NULL);
}

/* ---- whole tables ---- */

/* A walk over the version before, beside a scan of the new one. */
struct comparison {
	struct undo *undo;
	enum store_table table;
	struct writer_walk *walk;
	bool has_old;
	struct store_bytes key;
	struct store_bytes value;
};

/* Of the facts those that are of a version; what all versions have in common goes on. */
static bool is_of_version(enum store_table table, struct store_bytes key)
{
	static const char *const facts[] = { DNSBLV6_FACT_ZONE, DNSBLV6_FACT_SETTINGS,
					     DNSBLV6_FACT_LISTS, DNSBLV6_FACT_FILES };
	uint16_t origin;
	if (table != STORE_FACTS ||
	    dnsblv6_origin_parse_key(key.data, key.size, &origin) == DNSBLV6_OK)
		return true;
	for (unsigned i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (key.size == strlen(facts[i]) && memcmp(key.data, facts[i], key.size) == 0)
			return true;
	}
	return false;
}

static int take_old(struct comparison *comparison, int ret)
{
	comparison->has_old = ret == DNSBLV6_OK;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int next_old(struct comparison *comparison)
{
	return take_old(comparison,
			writer_walk_next(comparison->walk, &comparison->key, &comparison->value));
}

static int add_old(struct comparison *comparison)
{
	int ret = DNSBLV6_OK;
	if (is_of_version(comparison->table, comparison->key))
		ret = add(comparison->undo, comparison->table, comparison->key, &comparison->value);
	return ret == DNSBLV6_OK ? next_old(comparison) : ret;
}

/* As writer_scan_fn. */
static int compare_entry(void *context, struct store_bytes key, struct store_bytes value)
{
	struct comparison *comparison = context;
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && comparison->has_old &&
	       dnsblv6_key_compare(comparison->key.data, comparison->key.size, key.data, key.size) <
		       0)
		ret = add_old(comparison);
	if (ret != DNSBLV6_OK)
		return ret;
	if (!comparison->has_old || !is_equal(comparison->key, key))
		return is_of_version(comparison->table, key)
			       ? add(comparison->undo, comparison->table, key, NULL)
			       : DNSBLV6_OK;
	return is_equal(comparison->value, value) ? next_old(comparison) : add_old(comparison);
}

int undo_compare(struct undo *undo, enum store_table table)
{
	struct comparison comparison = { .undo = undo, .table = table };
	if (undo->is_dropped)
		return DNSBLV6_OK;
	int ret = writer_walk_open(undo->writer, table, &comparison.walk);
	if (ret == DNSBLV6_OK)
		ret = take_old(&comparison, writer_walk_seek(comparison.walk, NULL, 0,
							     &comparison.key, &comparison.value));
	if (ret == DNSBLV6_OK)
		ret = writer_scan(undo->writer, table, compare_entry, &comparison);
	while (ret == DNSBLV6_OK && comparison.has_old)
		ret = add_old(&comparison);
	writer_walk_close(comparison.walk);
	return ret;
}

/* ---- the end ---- */

int undo_end(struct undo *undo, uint64_t *ret_size, bool *ret_is_kept)
{
	int ret = flush(undo);
	*ret_size = undo->is_dropped ? 0 : undo->size;
	*ret_is_kept = !undo->is_dropped;
	return ret;
}
