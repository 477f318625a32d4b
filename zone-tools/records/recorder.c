/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/recorder.h"

#include "zone-tools/records/undo.h"

#include "lib/store/tables.h"

#include <errno.h>
#include <stdlib.h>

enum {
	PART_SIZE = 1 << 16,
	APEX_PART = 1, /* the others follow */
	/* What half a name of the zone takes here; signatures are most of it. */
	HALF_NAME_SIZE = 20,
	HALF_SIGNED_NAME_SIZE = 100,
};

struct recorder {
	struct writer *writer;
	struct dnsblv6_change header;
	uint64_t number;
	uint64_t size_max; /* of the names of all changes that are kept */
	struct undo *undo;
	size_t part_size; /* of the part that is being filled */
	uint8_t part[PART_SIZE];
	size_t apex_size; /* 0: the apex was not added yet */
	uint8_t apex[PART_SIZE];
};

/* ---- parts ---- */

static int put(struct recorder *recorder, uint32_t part, const uint8_t *data, size_t size)
{
	uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
	dnsblv6_journal_make_key(recorder->number, part, key);
	return writer_put(recorder->writer, STORE_JOURNAL, key, sizeof(key), data, size);
}

static int flush(struct recorder *recorder)
{
	if (recorder->part_size == 0)
		return DNSBLV6_OK;
	recorder->header.part_count++;
	recorder->header.size += recorder->part_size;
	int ret = put(recorder, recorder->header.part_count, recorder->part, recorder->part_size);
	recorder->part_size = 0;
	return ret;
}

static int delete_parts(struct writer *writer, uint64_t number, uint32_t first, uint32_t last)
{
	int ret = DNSBLV6_OK;
	for (uint32_t part = first; ret == DNSBLV6_OK && part <= last; part++) {
		uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
		dnsblv6_journal_make_key(number, part, key);
		ret = writer_delete(writer, STORE_JOURNAL, key, sizeof(key));
	}
	return ret;
}

static int drop_names(struct recorder *recorder)
{
	int ret = delete_parts(recorder->writer, recorder->number, APEX_PART + 1,
			       recorder->header.part_count);
	recorder->header.has_names = false;
	recorder->header.part_count = 0;
	recorder->header.size = 0;
	recorder->part_size = 0;
	return ret == DNSBLV6_OK ? undo_delete(recorder->writer, recorder->number) : ret;
}

/* ---- life ---- */

static int find_number(struct recorder *recorder)
{
	uint8_t behind[DNSBLV6_JOURNAL_KEY_SIZE];
	struct writer_walk *walk = NULL;
	struct store_bytes key;
	struct store_bytes value;
	uint64_t newest = 0;
	uint32_t part;
	int ret = writer_walk_open(recorder->writer, STORE_JOURNAL, &walk);
	if (ret != DNSBLV6_OK)
		return ret;
	dnsblv6_journal_make_key(UINT64_MAX, UINT32_MAX, behind);
	ret = writer_walk_seek_before(walk, behind, sizeof(behind), &key, &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_journal_parse_key(key.data, key.size, &newest, &part);
	writer_walk_close(walk);
	recorder->number = newest + 1;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

int recorder_new(struct writer *writer, const struct before *before, uint8_t verb, bool keeps_names,
		 struct recorder **ret_recorder)
{
	struct recorder *recorder = malloc(sizeof(*recorder));
	if (recorder == NULL)
		return -ENOMEM;
	recorder->writer = writer;
	recorder->part_size = 0;
	recorder->apex_size = 0;
	recorder->header = (struct dnsblv6_change){ .from_serial = before->facts.serial,
						    .verb = verb,
						    .has_names = keeps_names,
						    .part_count = keeps_names ? APEX_PART : 0 };
	recorder->size_max = before->facts.record_count *
			     (before->is_signed ? HALF_SIGNED_NAME_SIZE : HALF_NAME_SIZE);
	if (recorder->size_max < RECORDER_SIZE_MIN)
		recorder->size_max = RECORDER_SIZE_MIN;
	recorder->undo = NULL;
	int ret = find_number(recorder);
	if (ret == DNSBLV6_OK)
		ret = undo_new(writer, recorder->number, recorder->size_max, &recorder->undo);
	if (ret != DNSBLV6_OK) {
		free(recorder);
		return ret;
	}
	*ret_recorder = recorder;
	return DNSBLV6_OK;
}

void recorder_free(struct recorder *recorder)
{
	if (recorder != NULL)
		undo_free(recorder->undo);
	free(recorder);
}

/* It is written last, because a digest of the zone (RFC 8976) may change it again. */
static int set_apex(struct recorder *recorder, const struct dnsblv6_name_change *change)
{
	int ret =
		dnsblv6_name_change_encode(change, recorder->apex, PART_SIZE, &recorder->apex_size);
	/* Two records of an enormous apex: clients get the whole zone instead. */
	return ret == DNSBLV6_ESPACE ? drop_names(recorder) : ret;
}

int recorder_add(struct recorder *recorder, const struct dnsblv6_name_change *change)
{
	size_t size;
	if (!recorder->header.has_names)
		return DNSBLV6_OK;
	if (dnsblv6_key_label_count(change->key, change->key_size) == 0)
		return set_apex(recorder, change);
	int ret = dnsblv6_name_change_encode(change, recorder->part + recorder->part_size,
					     PART_SIZE - recorder->part_size, &size);
	if (ret == DNSBLV6_ESPACE && recorder->part_size > 0) {
		ret = flush(recorder);
		if (ret != DNSBLV6_OK)
			return ret;
		ret = dnsblv6_name_change_encode(change, recorder->part, PART_SIZE, &size);
	}
	if (ret == DNSBLV6_ESPACE)
		return drop_names(recorder);
	if (ret != DNSBLV6_OK)
		return ret;
	recorder->part_size += size;
	if (recorder->header.size + recorder->part_size > recorder->size_max)
		return drop_names(recorder);
	return DNSBLV6_OK;
}

/* ---- what undoes it ---- */

int recorder_note(struct recorder *recorder, enum store_table table, const uint8_t *key,
		  size_t key_size)
{
	return recorder->header.has_names ? undo_note(recorder->undo, table, key, key_size)
					  : DNSBLV6_OK;
}

/* A build has written whole tables again; other changes have noted what they wrote. */
static int compare_tables(struct recorder *recorder)
{
	bool is_build = recorder->header.verb == DNSBLV6_CHANGE_BUILD;
	int ret = undo_compare(recorder->undo, STORE_FACTS);
	if (ret == DNSBLV6_OK && is_build)
		ret = undo_compare(recorder->undo, STORE_SEGMENTS);
	if (ret == DNSBLV6_OK && is_build)
		ret = undo_compare(recorder->undo, STORE_SETS);
	return ret;
}

/* Names count for more: what does not fit beside them is not kept. */
static int end_undo(struct recorder *recorder)
{
	struct dnsblv6_change *header = &recorder->header;
	uint64_t size = 0;
	if (!header->has_names)
		return DNSBLV6_OK;
	int ret = compare_tables(recorder);
	if (ret == DNSBLV6_OK)
		ret = undo_end(recorder->undo, &size, &header->has_undo);
	if (ret == DNSBLV6_OK && header->has_undo && header->size + size > recorder->size_max) {
		header->has_undo = false;
		return undo_delete(recorder->writer, recorder->number);
	}
	if (ret == DNSBLV6_OK)
		header->size += size;
	return ret;
}

/* ---- the end ---- */

/* Changes before the new one, from the newest back: size is what those after them have. */
struct lookback {
	struct recorder *recorder;
	uint64_t number;
	uint64_t size;
	bool is_reachable; /* all changes after it have their names */
};

static int age(struct lookback *lookback, const uint8_t *key, struct dnsblv6_change *change)
{
	uint8_t data[DNSBLV6_CHANGE_SIZE];
	struct writer *writer = lookback->recorder->writer;
	if (!change->has_names)
		return DNSBLV6_OK;
	int ret = delete_parts(writer, lookback->number, APEX_PART, change->part_count);
	if (ret == DNSBLV6_OK && change->has_undo)
		ret = undo_delete(writer, lookback->number);
	if (ret != DNSBLV6_OK)
		return ret;
	change->has_names = false;
	change->has_undo = false;
	change->part_count = 0;
	change->size = 0;
	dnsblv6_change_encode(change, data);
	return writer_put(writer, STORE_JOURNAL, key, DNSBLV6_JOURNAL_KEY_SIZE, data, sizeof(data));
}

/* DNSBLV6_ENOTFOUND when there is none of that number. */
static int look_back(struct lookback *lookback)
{
	uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
	struct store_bytes value;
	struct dnsblv6_change change;
	struct writer *writer = lookback->recorder->writer;
	dnsblv6_journal_make_key(lookback->number, 0, key);
	int ret = writer_get(writer, STORE_JOURNAL, key, sizeof(key), &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_change_decode(value.data, value.size, &change);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ERECORD ? STORE_ECORRUPT : ret;
	lookback->size += change.size;
	bool is_forgotten = lookback->recorder->number - lookback->number >= RECORDER_CHANGES_MAX;
	lookback->is_reachable = lookback->is_reachable && !is_forgotten && change.has_names &&
				 lookback->size <= lookback->recorder->size_max;
	if (!lookback->is_reachable)
		ret = age(lookback, key, &change);
	if (ret == DNSBLV6_OK && is_forgotten)
		ret = writer_delete(writer, STORE_JOURNAL, key, sizeof(key));
	return ret;
}

static int forget(struct recorder *recorder)
{
	struct lookback lookback = { .recorder = recorder,
				     .number = recorder->number - 1,
				     .size = recorder->header.size,
				     .is_reachable = recorder->header.has_names };
	int ret = DNSBLV6_OK;
	for (; ret == DNSBLV6_OK && lookback.number > 0; lookback.number--)
		ret = look_back(&lookback);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

int recorder_end(struct recorder *recorder, const struct dnsblv6_facts *facts,
		 const struct dnsblv6_change *change)
{
	uint8_t data[DNSBLV6_CHANGE_SIZE];
	int ret = flush(recorder);
	if (ret == DNSBLV6_OK && recorder->header.has_names && recorder->apex_size == 0)
		ret = drop_names(recorder); /* no SOA, no transfer */
	if (ret == DNSBLV6_OK && recorder->header.has_names)
		ret = put(recorder, APEX_PART, recorder->apex, recorder->apex_size);
	if (ret != DNSBLV6_OK)
		return ret;
	recorder->header.size += recorder->apex_size;
	ret = end_undo(recorder);
	if (ret != DNSBLV6_OK)
		return ret;
	struct dnsblv6_change *header = &recorder->header;
	header->to_serial = facts->serial;
	header->ipv4_count = facts->ipv4_count;
	header->ipv6_count = facts->ipv6_count;
	header->made_s = change->made_s;
	header->added_count = change->added_count;
	header->changed_count = change->changed_count;
	header->removed_count = change->removed_count;
	dnsblv6_change_encode(header, data);
	ret = put(recorder, 0, data, sizeof(data));
	return ret == DNSBLV6_OK ? forget(recorder) : ret;
}
