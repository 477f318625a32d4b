/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/versions.h"

#include "lib/format/array.h"
#include "lib/format/journal.h"
#include "lib/store/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *version_strerror(int status)
{
	switch (status) {
	case VERSION_EUNKNOWN:
		return "journal has no version of that serial";
	case VERSION_EGONE:
		return "journal has not kept what changed since that version";
	case VERSION_EFIRST:
		return "journal has no version before this one";
	default:
		return NULL;
	}
}

void version_deinit(struct version *version)
{
	for (size_t i = 0; i < version->count; i++)
		free(version->items[i].key);
	free(version->items);
	*version = (struct version){ 0 };
}

/* ---- entries ---- */

static int add(struct version *version, enum store_table table, struct store_bytes key,
	       const struct store_bytes *value)
{
	size_t value_size = value != NULL ? value->size : 0;
	if (!array_reserve(version->items, version->count + 1, &version->capacity))
		return -ENOMEM;
	uint8_t *bytes = malloc(key.size + value_size);
	if (bytes == NULL)
		return -ENOMEM;
	memcpy(bytes, key.data, key.size);
	if (value_size > 0)
		memcpy(bytes + key.size, value->data, value_size);
	version->items[version->count] = (struct version_entry){ .table = table,
								 .is_there = value != NULL,
								 .key = bytes,
								 .key_size = key.size,
								 .value = bytes + key.size,
								 .value_size = value_size,
								 .rank = version->count };
	version->count++;
	return DNSBLV6_OK;
}

static int compare_places(const struct version_entry *left, const struct version_entry *right)
{
	if (left->table != right->table)
		return left->table < right->table ? -1 : 1;
	return dnsblv6_key_compare(left->key, left->key_size, right->key, right->key_size);
}

static int compare_entries(const void *a, const void *b)
{
	const struct version_entry *left = a;
	const struct version_entry *right = b;
	int difference = compare_places(left, right);
	return difference != 0 ? difference
			       : (left->rank > right->rank) - (left->rank < right->rank);
}

/* The oldest of each key is what it was in the version. */
static void unite(struct version *version)
{
	size_t count = 0;
	if (version->count > 0)
		qsort(version->items, version->count, sizeof(*version->items), compare_entries);
	for (size_t i = 0; i < version->count; i++) {
		struct version_entry *item = &version->items[i];
		if (count > 0 && compare_places(&version->items[count - 1], item) == 0)
			free(item->key);
		else
			version->items[count++] = *item;
	}
	version->count = count;
}

size_t version_first(const struct version *version, enum store_table table)
{
	size_t i = 0;
	while (i < version->count && version->items[i].table < table)
		i++;
	return i < version->count && version->items[i].table == table ? i : version->count;
}

/* ---- one change ---- */

static int add_names(struct reader *reader, uint64_t number, struct version *version)
{
	struct history_names names = { .reader = reader, .number = number };
	struct dnsblv6_name_change change;
	int ret;
	while ((ret = history_next_name(&names, &change)) == DNSBLV6_OK) {
		const struct store_bytes key = { change.key, change.key_size };
		const struct store_bytes record = { change.before.record,
						    change.before.record_size };
		ret = add(version, STORE_RECORDS, key, record.size > 0 ? &record : NULL);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int add_part(struct version *version, struct store_bytes part)
{
	static const enum store_table tables[] = { STORE_RECORDS, STORE_SEGMENTS, STORE_SETS,
						   STORE_FACTS };
	struct dnsblv6_undo undo;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_undo_next(part.data, part.size, &offset, &undo)) == DNSBLV6_OK) {
		const struct store_bytes key = { undo.key, undo.key_size };
		const struct store_bytes value = { undo.value, undo.value_size };
		ret = add(version, tables[undo.table], key, undo.is_there ? &value : NULL);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int add_undo(struct reader *reader, uint64_t number, struct version *version)
{
	struct store_bytes part;
	int ret = DNSBLV6_OK;
	for (uint32_t i = 0; ret == DNSBLV6_OK; i++) {
		ret = history_undo_part(reader, number, i, &part);
		if (ret == DNSBLV6_OK)
			ret = add_part(version, part);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* ---- versions ---- */

/* The change that begins at serial. */
static int find(struct reader *reader, uint32_t serial, enum version_scope scope,
		struct version *version, uint64_t *ret_number)
{
	bool is_kept = true;
	uint64_t number;
	int ret = history_newest(reader, &number);
	for (uint64_t newest = number; ret == DNSBLV6_OK; number--) {
		struct dnsblv6_change change;
		ret = history_get(reader, number, &change);
		if (ret != DNSBLV6_OK)
			break;
		if (number == newest)
			version->newest = change.to_serial;
		*ret_number = number + 1; /* behind all: nothing has changed since */
		if (version->newest == serial)
			return DNSBLV6_OK;
		is_kept =
			is_kept && change.has_names && (scope == VERSION_NAMES || change.has_undo);
		*ret_number = number;
		if (change.from_serial == serial)
			return is_kept ? DNSBLV6_OK : VERSION_EGONE;
	}
	return ret == DNSBLV6_ENOTFOUND ? VERSION_EUNKNOWN : ret;
}

int version_load(struct reader *reader, uint32_t serial, enum version_scope scope,
		 struct version *ret_version)
{
	uint64_t newest;
	uint64_t number = 0;
	ret_version->serial = serial;
	int ret = find(reader, serial, scope, ret_version, &number);
	if (ret == DNSBLV6_OK)
		ret = history_newest(reader, &newest);
	for (; ret == DNSBLV6_OK && number <= newest; number++) {
		ret = add_names(reader, number, ret_version);
		if (ret == DNSBLV6_OK && scope == VERSION_WHOLE)
			ret = add_undo(reader, number, ret_version);
	}
	unite(ret_version);
	return ret;
}

int version_previous(struct reader *reader, uint32_t *ret_serial)
{
	struct dnsblv6_change change = { .verb = DNSBLV6_CHANGE_SIGN };
	uint64_t number;
	int ret = history_newest(reader, &number);
	for (; ret == DNSBLV6_OK && change.verb == DNSBLV6_CHANGE_SIGN; number--)
		ret = history_get(reader, number, &change);
	if (ret == DNSBLV6_OK)
		*ret_serial = change.from_serial;
	return ret == DNSBLV6_ENOTFOUND ? VERSION_EFIRST : ret;
}
