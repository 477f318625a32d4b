/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/ranges.h"

#include "lib/format/array.h"
#include "zone-tools/plan/resolve.h"

#include <errno.h>
#include <stdlib.h>

enum { BLOCK_BITS = 7 };

void ranges_deinit(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ .is_ipv4 = ranges->is_ipv4 };
}

int ranges_add(struct ranges *ranges, uint64_t first, uint64_t last)
{
	if (!array_reserve(ranges->items, ranges->count + 1, &ranges->capacity))
		return -ENOMEM;
	ranges->items[ranges->count++] = (struct range){ first, last };
	return DNSBLV6_OK;
}

int ranges_add_pieces(struct ranges *ranges, const struct pieces *pieces)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces->count; i++) {
		const struct dnsblv6_segment *piece = &pieces->items[i];
		if (dnsblv6_addr_is_ipv4(piece->first) != ranges->is_ipv4)
			continue;
		if (ranges->is_ipv4)
			ret = ranges_add(ranges, dnsblv6_addr_ipv4(piece->first),
					 dnsblv6_addr_ipv4(piece->last));
		else
			ret = ranges_add(ranges, piece->first.hi, piece->last.hi);
	}
	return ret;
}

static int compare(const void *a, const void *b)
{
	const struct range *left = a;
	const struct range *right = b;
	return (left->first > right->first) - (left->first < right->first);
}

static bool is_sorted(const struct ranges *ranges)
{
	for (size_t i = 1; i < ranges->count; i++) {
		if (ranges->items[i].first < ranges->items[i - 1].first)
			return false;
	}
	return true;
}

void ranges_normalise(struct ranges *ranges)
{
	if (!is_sorted(ranges))
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare);
	size_t count = 0;
	for (size_t i = 0; i < ranges->count; i++) {
		struct range next = ranges->items[i];
		struct range *previous = count > 0 ? &ranges->items[count - 1] : NULL;
		bool touches = previous != NULL &&
			       (previous->last == UINT64_MAX || next.first <= previous->last + 1);
		if (!touches)
			ranges->items[count++] = next;
		else if (next.last > previous->last)
			previous->last = next.last;
	}
	ranges->count = count;
}

/* What of range right leaves; *index is the first of right that may touch it. */
static int add_rest(struct ranges *ret, struct range range, const struct ranges *right,
		    size_t *index)
{
	uint64_t at = range.first;
	while (*index < right->count && right->items[*index].last < at)
		(*index)++;
	for (size_t i = *index; i < right->count && right->items[i].first <= range.last; i++) {
		struct range hole = right->items[i];
		if (hole.first > at) {
			int status = ranges_add(ret, at, hole.first - 1);
			if (status != DNSBLV6_OK)
				return status;
		}
		if (hole.last >= range.last)
			return DNSBLV6_OK;
		at = hole.last + 1;
	}
	return ranges_add(ret, at, range.last);
}

int ranges_add_difference(struct ranges *ret, const struct ranges *left, const struct ranges *right)
{
	size_t index = 0;
	int status = DNSBLV6_OK;
	for (size_t i = 0; status == DNSBLV6_OK && i < left->count; i++)
		status = add_rest(ret, left->items[i], right, &index);
	return status;
}

/* The first that does not end before a unit; count when there is none. */
static size_t find_range(const struct ranges *ranges, uint64_t unit)
{
	size_t low = 0;
	size_t high = ranges->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->items[middle].last < unit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int ranges_add_part(struct ranges *ranges, const struct ranges *from, uint64_t first, uint64_t last)
{
	int ret = DNSBLV6_OK;
	for (size_t i = find_range(from, first);
	     ret == DNSBLV6_OK && i < from->count && from->items[i].first <= last; i++) {
		struct range range = from->items[i];
		ret = ranges_add(ranges, range.first > first ? range.first : first,
				 range.last < last ? range.last : last);
	}
	return ret;
}

int ranges_add_block(struct ranges *ranges, struct dnsblv6_prefix block,
		     const struct dnsblv6_bitmap *map)
{
	uint64_t first = ranges->is_ipv4 ? dnsblv6_addr_ipv4(block.first) : block.first.hi;
	struct dnsblv6_addr last = dnsblv6_prefix_last(block);
	if (dnsblv6_bitmap_is_full(map))
		return ranges_add(ranges, first,
				  ranges->is_ipv4 ? dnsblv6_addr_ipv4(last) : last.hi);
	int ret = DNSBLV6_OK;
	for (unsigned host = 0; ret == DNSBLV6_OK && host < DNSBLV6_BITMAP_HOSTS; host++) {
		if (dnsblv6_bitmap_get(map, host))
			ret = ranges_add(ranges, first + host, first + host);
	}
	return ret;
}

struct dnsblv6_addr ranges_first_addr(const struct ranges *ranges, uint64_t first)
{
	if (ranges->is_ipv4)
		return dnsblv6_addr_from_ipv4((uint32_t)first);
	return (struct dnsblv6_addr){ first, 0 };
}

struct dnsblv6_addr ranges_last_addr(const struct ranges *ranges, uint64_t last)
{
	if (ranges->is_ipv4)
		return dnsblv6_addr_from_ipv4((uint32_t)last);
	return (struct dnsblv6_addr){ last, UINT64_MAX };
}

uint64_t ranges_unit_count(const struct ranges *ranges)
{
	uint64_t count = 0;
	for (size_t i = 0; i < ranges->count; i++) {
		uint64_t more = ranges->items[i].last - ranges->items[i].first;
		if (more >= UINT64_MAX - count)
			return UINT64_MAX;
		count += more + 1;
	}
	return count;
}

uint64_t ranges_block_count(const struct ranges *ranges)
{
	uint64_t count = 0;
	uint64_t behind = 0; /* blocks below this number are counted */
	for (size_t i = 0; i < ranges->count; i++) {
		uint64_t first = ranges->items[i].first >> BLOCK_BITS;
		uint64_t last = ranges->items[i].last >> BLOCK_BITS;
		if (first < behind)
			first = behind;
		if (last < first)
			continue;
		count += last - first + 1;
		behind = last + 1;
	}
	return count;
}
