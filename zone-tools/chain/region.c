/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

static void deinit(struct region *region)
{
	free(region->start);
	region->start = NULL;
	plan_part_deinit(&region->after);
	pieces_deinit(&region->difference);
}

void region_print(const struct region *region, const struct dnsblv6_labels *origin,
		  struct difference *difference)
{
	static const char signs[] = {
		[PIECES_LEFT] = '+', [PIECES_RIGHT] = '-', [PIECES_BOTH] = '~'
	};
	for (size_t i = 0; i < region->difference.count; i++) {
		const struct dnsblv6_segment *piece = &region->difference.items[i];
		difference_print(difference, signs[piece->set], piece->first, piece->last, origin);
	}
}

struct dnsblv6_key region_start(const struct region *region)
{
	struct dnsblv6_key key = { .size = (uint16_t)region->start_size };
	memcpy(key.bytes, region->start, region->start_size);
	return key;
}

struct dnsblv6_key region_end(const struct region *region)
{
	struct dnsblv6_key key = region_start(region);
	key.bytes[key.size - 1]++; /* a separator or a digit: never 0xff */
	return key;
}

void regions_deinit(struct regions *regions)
{
	for (size_t i = 0; i < regions->count; i++)
		deinit(&regions->items[i]);
	free(regions->items);
	*regions = (struct regions){ 0 };
}

/* ---- what is listed in a prefix, before and after ---- */

static int add_piece(void *context, const struct contents_origin *origin, struct dnsblv6_addr first,
		     struct dnsblv6_addr last, uint32_t set)
{
	const struct dnsblv6_segment piece = { first, last, set };
	(void)origin;
	return dnsblv6_addr_is_ipv4(first) ? pieces_append(context, first, last, set)
					   : pieces_append_ipv6(context, &piece);
}

static struct dnsblv6_addr greater(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	return dnsblv6_addr_compare(a, b) >= 0 ? a : b;
}

static struct dnsblv6_addr smaller(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	return dnsblv6_addr_compare(a, b) <= 0 ? a : b;
}

static int cut_changes(const struct pieces *changes, struct dnsblv6_prefix prefix,
		       struct pieces *ret_cut)
{
	struct dnsblv6_addr end = dnsblv6_prefix_last(prefix);
	bool is_ipv4 = dnsblv6_prefix_is_ipv4(prefix);
	int ret = DNSBLV6_OK;
	for (size_t i = pieces_index(changes, prefix.first); ret == DNSBLV6_OK; i++) {
		const struct dnsblv6_segment *change = &changes->items[i];
		if (i == changes->count || dnsblv6_addr_is_ipv4(change->first) != is_ipv4 ||
		    dnsblv6_addr_compare(change->first, end) > 0)
			break;
		ret = pieces_append(ret_cut, greater(change->first, prefix.first),
				    smaller(change->last, end), change->set);
	}
	return ret;
}

static bool is_same(const struct pieces *a, const struct pieces *b)
{
	bool is_equal = a->count == b->count;
	for (size_t i = 0; is_equal && i < a->count; i++)
		is_equal = a->items[i].set == b->items[i].set &&
			   dnsblv6_addr_compare(a->items[i].first, b->items[i].first) == 0 &&
			   dnsblv6_addr_compare(a->items[i].last, b->items[i].last) == 0;
	return is_equal;
}

static int load_pieces(const struct regions_job *job, struct dnsblv6_prefix prefix,
		       struct plan_part *before, struct region *region)
{
	struct pieces changes = { 0 };
	int ret = contents_walk_prefix(job->records, job->segments, job->facts, job->origin, prefix,
				       add_piece, &before->pieces);
	if (ret == DNSBLV6_OK)
		ret = cut_changes(job->changes, prefix, &changes);
	if (ret == DNSBLV6_OK)
		ret = pieces_change(&before->pieces, &changes, job->set, &region->after.pieces);
	pieces_deinit(&changes);
	region->after.default_set = job->origin->origin.default_set;
	return ret;
}

struct counted_region {
	struct region region;
	struct plan_counts before;
	struct plan_counts after;
};

/* What both sides list, and whether that differs; then the one afterwards is completed. */
static int count_sides(struct plan_part *before, struct region *region,
		       struct plan_counts *ret_before, struct plan_counts *ret_after)
{
	int ret = plan_count(before, ret_before);
	/* Counted on both sides, so that one which is added or removed makes no difference. */
	if (ret == DNSBLV6_OK)
		ret = plan_add_testpoints(&region->after, region->prefix);
	if (ret == DNSBLV6_OK)
		ret = plan_count(&region->after, ret_after);
	region->is_changed = !is_same(&before->pieces, &region->after.pieces);
	if (ret == DNSBLV6_OK && region->is_changed)
		ret = pieces_compare(&region->after.pieces, &before->pieces, &region->difference);
	return ret == DNSBLV6_OK ? plan_complete(&region->after, region->prefix) : ret;
}

static int load(const struct regions_job *job, struct dnsblv6_prefix prefix,
		struct counted_region *ret_counted)
{
	struct plan_part before = { 0 };
	*ret_counted = (struct counted_region){ .region.prefix = prefix };
	struct region *region = &ret_counted->region;
	int ret = load_pieces(job, prefix, &before, region);
	if (ret == DNSBLV6_OK)
		ret = count_sides(&before, region, &ret_counted->before, &ret_counted->after);
	plan_part_deinit(&before);
	return ret;
}

/* ---- which prefix ---- */

/* An IPv6 prefix may have ::ffff:0:0/96 in it, whose addresses are IPv4 all the same. */
static bool is_inside(struct dnsblv6_addr addr, struct dnsblv6_prefix prefix)
{
	return dnsblv6_addr_is_ipv4(addr) == dnsblv6_prefix_is_ipv4(prefix) &&
	       dnsblv6_prefix_contains(prefix, addr);
}

/* The widest one that has at as its first address and no address behind last, or the narrowest. */
static struct dnsblv6_prefix choose_prefix(struct dnsblv6_addr at, struct dnsblv6_addr last)
{
	struct tree_borders borders = tree_borders(dnsblv6_addr_is_ipv4(at));
	struct dnsblv6_prefix prefix = { 0 };
	for (size_t i = 0; i < borders.count; i++) {
		prefix = dnsblv6_prefix_make(at, borders.lengths[i]);
		if (dnsblv6_addr_compare(prefix.first, at) == 0 &&
		    dnsblv6_addr_compare(dnsblv6_prefix_last(prefix), last) <= 0)
			break;
	}
	return prefix;
}

/* Is there a wildcard for prefix in the version before? */
static int find_wildcard(const struct regions_job *job, struct dnsblv6_prefix prefix,
			 bool *ret_is_there)
{
	const struct dnsblv6_labels *origin = &job->origin->origin.name;
	struct dnsblv6_labels name;
	struct dnsblv6_labels full;
	struct dnsblv6_key wanted;
	struct store_bytes key;
	struct store_bytes value;
	int ret = dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, prefix, &name);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_name_join(name.wire, name.size, origin->wire, origin->size, &full);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(full.wire, full.size, &wanted);
	if (ret == DNSBLV6_OK)
		ret = writer_walk_seek(job->records, wanted.bytes, wanted.size, &key, &value);
	*ret_is_there = ret == DNSBLV6_OK && key.size == wanted.size &&
			memcmp(key.data, wanted.bytes, key.size) == 0;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* Below a wildcard names depend on it: the region is what the widest one stands for. */
static int climb_to_wildcard(const struct regions_job *job, struct dnsblv6_prefix *prefix)
{
	struct tree_borders borders = tree_borders(dnsblv6_prefix_is_ipv4(*prefix));
	for (size_t i = 0; i < borders.count && borders.lengths[i] < prefix->prefix_len; i++) {
		bool is_there;
		struct dnsblv6_prefix above =
			dnsblv6_prefix_make(prefix->first, borders.lengths[i]);
		int ret = find_wildcard(job, above, &is_there);
		if (ret != DNSBLV6_OK)
			return ret;
		if (is_there) {
			*prefix = above;
			break;
		}
	}
	return DNSBLV6_OK;
}

/* All of it will be listed, so there may be a wildcard above it. */
static bool is_full(const struct region *region)
{
	bool is_ipv4 = dnsblv6_prefix_is_ipv4(region->prefix);
	const struct ranges *ranges = is_ipv4 ? &region->after.ipv4 : &region->after.ipv6;
	struct dnsblv6_addr last = dnsblv6_prefix_last(region->prefix);
	return ranges->count == 1 &&
	       dnsblv6_addr_compare(ranges_first_addr(ranges, ranges->items[0].first),
				    region->prefix.first) <= 0 &&
	       dnsblv6_addr_compare(ranges_last_addr(ranges, ranges->items[0].last), last) >= 0;
}

/* The next wider border; false at the widest. */
static bool climb(struct dnsblv6_prefix *prefix)
{
	struct tree_borders borders = tree_borders(dnsblv6_prefix_is_ipv4(*prefix));
	for (size_t i = borders.count; i > 0; i--) {
		if (borders.lengths[i - 1] < prefix->prefix_len) {
			*prefix = dnsblv6_prefix_make(prefix->first, borders.lengths[i - 1]);
			return true;
		}
	}
	return false;
}

/* ---- all of them ---- */

static int set_start(const struct regions_job *job, struct region *region)
{
	const struct dnsblv6_labels *name = &job->origin->origin.name;
	struct dnsblv6_key origin;
	struct dnsblv6_key start;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &origin);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_of_prefix(
			&origin, dnsblv6_style_read((enum dnsblv6_style)job->facts->style),
			region->prefix, &start);
	if (ret != DNSBLV6_OK)
		return ret;
	region->start = malloc(start.size);
	if (region->start == NULL)
		return -ENOMEM;
	memcpy(region->start, start.bytes, start.size);
	region->start_size = start.size;
	return DNSBLV6_OK;
}

static void subtract(struct plan_counts *counts, const struct plan_counts *part)
{
	counts->ipv4 -= part->ipv4;
	counts->ipv6 -= part->ipv6;
	counts->blocks -= part->blocks;
}

/* Regions inside the new one, which has climbed over them, are taken back. */
static int drop_inside(const struct regions_job *job, struct regions *regions,
		       struct dnsblv6_prefix prefix)
{
	while (regions->count > 0) {
		struct region *last = &regions->items[regions->count - 1];
		struct counted_region again;
		if (!is_inside(last->prefix.first, prefix))
			break;
		int ret = load(job, last->prefix, &again);
		deinit(&again.region);
		if (ret != DNSBLV6_OK)
			return ret;
		subtract(&regions->before, &again.before);
		subtract(&regions->after, &again.after);
		deinit(last);
		regions->count--;
	}
	return DNSBLV6_OK;
}

/* The region for the change at number index, from at on. */
static int make_region(const struct regions_job *job, struct dnsblv6_addr at, size_t index,
		       struct counted_region *ret_counted)
{
	struct dnsblv6_prefix prefix = choose_prefix(at, job->changes->items[index].last);
	bool has_wildcards =
		dnsblv6_style_read((enum dnsblv6_style)job->facts->style) == DNSBLV6_STYLE_DOTTED;
	int ret = has_wildcards ? climb_to_wildcard(job, &prefix) : DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = load(job, prefix, ret_counted);
	while (ret == DNSBLV6_OK && has_wildcards && is_full(&ret_counted->region) &&
	       climb(&prefix)) {
		deinit(&ret_counted->region);
		ret = load(job, prefix, ret_counted);
	}
	return ret;
}

static int add_region(const struct regions_job *job, struct regions *regions,
		      struct dnsblv6_addr at, size_t index)
{
	struct counted_region counted = { 0 };
	int ret = make_region(job, at, index, &counted);
	if (ret == DNSBLV6_OK)
		ret = drop_inside(job, regions, counted.region.prefix);
	if (ret == DNSBLV6_OK)
		ret = set_start(job, &counted.region);
	if (ret == DNSBLV6_OK &&
	    !array_reserve(regions->items, regions->count + 1, &regions->capacity))
		ret = -ENOMEM;
	if (ret != DNSBLV6_OK) {
		deinit(&counted.region);
		return ret;
	}
	plan_counts_add(&regions->before, &counted.before);
	plan_counts_add(&regions->after, &counted.after);
	regions->items[regions->count++] = counted.region;
	return DNSBLV6_OK;
}

/* Regions for all of one change that the last region does not reach. */
static int add_change(const struct regions_job *job, struct regions *regions, size_t index)
{
	const struct dnsblv6_segment *change = &job->changes->items[index];
	struct dnsblv6_addr at = change->first;
	for (;;) {
		if (regions->count == 0 ||
		    !is_inside(at, regions->items[regions->count - 1].prefix)) {
			int ret = add_region(job, regions, at, index);
			if (ret != DNSBLV6_OK)
				return ret;
		}
		struct dnsblv6_addr done =
			dnsblv6_prefix_last(regions->items[regions->count - 1].prefix);
		if (dnsblv6_addr_compare(done, change->last) >= 0)
			return DNSBLV6_OK;
		at = dnsblv6_addr_next(done);
	}
}

/* ---- a zone of classic names ---- */

/* Adds one family, as it is before the changes and as it is after them. */
static int load_family(const struct regions_job *job, bool is_ipv4, struct pieces *before,
		       struct pieces *after)
{
	struct pieces old = { 0 };
	struct pieces changes = { 0 };
	struct pieces new = { 0 };
	int ret = contents_walk_before(job->segments, job->facts, job->origin, is_ipv4, add_piece,
				       &old);
	for (size_t i = 0; ret == DNSBLV6_OK && i < job->changes->count; i++) {
		const struct dnsblv6_segment *change = &job->changes->items[i];
		if (dnsblv6_addr_is_ipv4(change->first) == is_ipv4)
			ret = pieces_append(&changes, change->first, change->last, change->set);
	}
	if (ret == DNSBLV6_OK)
		ret = pieces_change(&old, &changes, job->set, &new);
	if (ret == DNSBLV6_OK)
		ret = pieces_append_all(before, &old);
	if (ret == DNSBLV6_OK)
		ret = pieces_append_all(after, &new);
	pieces_deinit(&old);
	pieces_deinit(&changes);
	pieces_deinit(&new);
	return ret;
}

/* All of it is one region: its wildcards depend on what there is beside them. */
static int make_whole(const struct regions_job *job, struct regions *regions)
{
	static const struct dnsblv6_prefix everywhere = { { 0, 0 }, 0 };
	struct plan_part before = { 0 };
	struct region region = { .prefix = everywhere };
	region.after.default_set = job->origin->origin.default_set;
	int ret = load_family(job, true, &before.pieces, &region.after.pieces);
	if (ret == DNSBLV6_OK)
		ret = load_family(job, false, &before.pieces, &region.after.pieces);
	if (ret == DNSBLV6_OK)
		ret = count_sides(&before, &region, &regions->before, &regions->after);
	plan_part_deinit(&before);
	if (ret == DNSBLV6_OK && !array_reserve(regions->items, 1, &regions->capacity))
		ret = -ENOMEM;
	if (ret != DNSBLV6_OK)
		deinit(&region);
	else
		regions->items[regions->count++] = region;
	return ret;
}

int regions_make(const struct regions_job *job, struct regions *ret_regions)
{
	int ret = DNSBLV6_OK;
	if (job->facts->style == DNSBLV6_STYLE_CLASSIC)
		return make_whole(job, ret_regions);
	for (size_t i = 0; ret == DNSBLV6_OK && i < job->changes->count; i++)
		ret = add_change(job, ret_regions, i);
	return ret;
}
