/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/past.h"

#include "zone-tools/plan/tree.h"

#include <string.h>

/* ---- names of a version ---- */

/* Names stand before what is of other tables. */
static int compare(const struct version_entry *entry, const uint8_t *key, size_t size)
{
	return entry->table == STORE_RECORDS
		       ? dnsblv6_key_compare(entry->key, entry->key_size, key, size)
		       : 1;
}

/* The first entry of the version that is no name before key; their count when there is none. */
static size_t find_entry(const struct version *version, const uint8_t *key, size_t size)
{
	size_t low = 0;
	size_t high = version->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&version->items[middle], key, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int has_name(const struct past *past, const struct dnsblv6_key *key, bool *ret_has)
{
	struct store_bytes value;
	size_t at = find_entry(past->version, key->bytes, key->size);
	if (at < past->version->count &&
	    compare(&past->version->items[at], key->bytes, key->size) == 0) {
		*ret_has = past->version->items[at].is_there;
		return DNSBLV6_OK;
	}
	int ret = reader_get(past->reader, STORE_RECORDS, key->bytes, key->size, &value);
	*ret_has = ret == DNSBLV6_OK;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* ---- regions ---- */

static int has_wildcard(const struct past *past, struct dnsblv6_prefix block, bool *ret_has)
{
	const struct dnsblv6_labels *origin = &past->origin->origin.name;
	struct dnsblv6_labels name;
	struct dnsblv6_labels full;
	struct dnsblv6_key key;
	int ret = dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, block, &name);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_name_join(name.wire, name.size, origin->wire, origin->size, &full);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(full.wire, full.size, &key);
	return ret == DNSBLV6_OK ? has_name(past, &key, ret_has) : ret;
}

int past_region(const struct past *left, const struct past *right, const uint8_t *labels,
		size_t size, struct dnsblv6_prefix *ret_region, bool *ret_is_there)
{
	struct dnsblv6_prefix place;
	*ret_is_there = tree_place(labels, size, &place);
	if (!*ret_is_there)
		return DNSBLV6_OK;
	const struct tree_borders borders = tree_borders(dnsblv6_prefix_is_ipv4(place));
	for (size_t i = 0; i < borders.count && borders.lengths[i] < place.prefix_len; i++) {
		struct dnsblv6_prefix above = dnsblv6_prefix_make(place.first, borders.lengths[i]);
		bool has = false;
		int ret = has_wildcard(left, above, &has);
		if (ret == DNSBLV6_OK && !has)
			ret = has_wildcard(right, above, &has);
		if (ret != DNSBLV6_OK)
			return ret;
		if (has) {
			place = above;
			break;
		}
	}
	*ret_region = place;
	return DNSBLV6_OK;
}

/* ---- what is listed in one ---- */

/* Names of the store and of the version, in order; those of the version stand for the store's. */
struct merge {
	const struct past *past;
	struct dnsblv6_key start; /* what all of them begin with */
	size_t at;		  /* of the version's next one */
	int status;		  /* of the store's next one: it is in key and value */
	struct store_bytes key;
	struct store_bytes value;
};

static bool is_inside(const struct merge *merge, const uint8_t *key, size_t size)
{
	return size >= merge->start.size && memcmp(key, merge->start.bytes, merge->start.size) == 0;
}

static bool has_stored(const struct merge *merge)
{
	return merge->status == DNSBLV6_OK && is_inside(merge, merge->key.data, merge->key.size);
}

static const struct version_entry *entry_at(const struct merge *merge)
{
	const struct version *version = merge->past->version;
	if (merge->at >= version->count || version->items[merge->at].table != STORE_RECORDS)
		return NULL;
	const struct version_entry *entry = &version->items[merge->at];
	return is_inside(merge, entry->key, entry->key_size) ? entry : NULL;
}

static int begin(const struct past *past, struct dnsblv6_prefix region, struct merge *ret_merge)
{
	const struct dnsblv6_labels *name = &past->origin->origin.name;
	struct dnsblv6_key origin;
	struct merge merge = { .past = past };
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &origin);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_of_prefix(&origin, DNSBLV6_STYLE_DOTTED, region, &merge.start);
	if (ret != DNSBLV6_OK)
		return ret;
	merge.at = find_entry(past->version, merge.start.bytes, merge.start.size);
	merge.status = reader_seek(past->reader, STORE_RECORDS, merge.start.bytes, merge.start.size,
				   &merge.key, &merge.value);
	*ret_merge = merge;
	return DNSBLV6_OK;
}

static int step(struct merge *merge, struct tree_reading *reading)
{
	size_t origin_size = merge->past->origin->origin.name.size;
	const struct version_entry *entry = entry_at(merge);
	bool is_stored = has_stored(merge);
	int order = -1;
	int ret = DNSBLV6_OK;
	if (is_stored)
		order = entry != NULL ? compare(entry, merge->key.data, merge->key.size) : 1;
	if (order <= 0 && entry->is_there)
		ret = contents_read_name(reading, origin_size,
					 (struct store_bytes){ entry->key, entry->key_size },
					 (struct store_bytes){ entry->value, entry->value_size });
	if (order > 0)
		ret = contents_read_name(reading, origin_size, merge->key, merge->value);
	merge->at += order <= 0;
	if (is_stored && order >= 0)
		merge->status =
			reader_next(merge->past->reader, STORE_RECORDS, &merge->key, &merge->value);
	return ret;
}

int past_read(const struct past *past, struct dnsblv6_prefix region, struct ranges *ranges)
{
	struct ranges found = { .is_ipv4 = ranges->is_ipv4 };
	struct tree_reading reading = { .ranges = &found, .style = DNSBLV6_STYLE_DOTTED };
	struct merge merge;
	int ret = begin(past, region, &merge);
	while (ret == DNSBLV6_OK && (has_stored(&merge) || entry_at(&merge) != NULL))
		ret = step(&merge, &reading);
	int status = tree_end(&reading);
	if (ret == DNSBLV6_OK && merge.status != DNSBLV6_OK && merge.status != DNSBLV6_ENOTFOUND)
		ret = merge.status;
	if (ret == DNSBLV6_OK)
		ret = status;
	if (ret == DNSBLV6_OK)
		ret = ranges_add_part(ranges, &found, 0, UINT64_MAX);
	ranges_deinit(&found);
	return ret;
}
