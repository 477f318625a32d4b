/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/ranges.h"

#include "zone-tools/base/array.h"
#include "zone-tools/plan/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BITS = 7, BLOCK_UNITS = 1 << BLOCK_BITS, OCTETS = 256 };

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

/* ---- the walk ---- */

struct walk {
	const struct ranges *ranges;
	ranges_fn fn;
	void *context;
	uint8_t octets[OCTETS]; /* see fill_order() */
	uint8_t ranks[OCTETS];
};

static struct dnsblv6_prefix block_at(const struct ranges *ranges, uint64_t first, unsigned bits)
{
	unsigned base = ranges->is_ipv4 ? DNSBLV6_IPV4_BASE_LEN : 0;
	return dnsblv6_prefix_make(ranges_first_addr(ranges, first), base + bits);
}

static int call(const struct walk *walk, uint64_t first, unsigned bits,
		const struct dnsblv6_bitmap *map)
{
	return walk->fn(walk->context, block_at(walk->ranges, first, bits), map);
}

static int call_full(const struct walk *walk, uint64_t first, unsigned bits)
{
	struct dnsblv6_bitmap full = dnsblv6_bitmap_make_full();
	return call(walk, first, bits, &full);
}

/*
 * The block of 128 units at first; *index is the first range that may touch it
 * and moves to the first that may touch a later one. Nothing when it is empty.
 */
static int walk_block(const struct walk *walk, uint64_t first, size_t *index)
{
	const struct ranges *ranges = walk->ranges;
	struct dnsblv6_bitmap map = { { 0 } };
	uint64_t last = first | (BLOCK_UNITS - 1);

	for (; *index < ranges->count && ranges->items[*index].first <= last; (*index)++) {
		struct range range = ranges->items[*index];
		uint64_t from = range.first > first ? range.first : first;
		uint64_t to = range.last < last ? range.last : last;
		if (from <= to)
			dnsblv6_bitmap_add_range(&map, (unsigned)(from - first),
						 (unsigned)(to - first));
		if (range.last > last)
			break;
	}
	if (dnsblv6_bitmap_is_empty(&map))
		return DNSBLV6_OK;
	return call(walk, first, ranges->is_ipv4 ? 25 : 57, &map);
}

/*
 * The order of octets as labels: "0", "1", "10", "100", "101", ... octets[i] is
 * the i-th of them, ranks[] the reverse.
 */
static void fill_order(struct walk *walk)
{
	size_t count = 0;
	walk->octets[count++] = 0;
	for (unsigned a = 1; a < 10; a++) {
		walk->octets[count++] = (uint8_t)a;
		for (unsigned b = a * 10; b < a * 10 + 10; b++) {
			walk->octets[count++] = (uint8_t)b;
			for (unsigned c = b * 10; c < b * 10 + 10 && c < OCTETS; c++)
				walk->octets[count++] = (uint8_t)c;
		}
	}
	for (unsigned i = 0; i < OCTETS; i++)
		walk->ranks[walk->octets[i]] = (uint8_t)i;
}

/* Which children of a node have something listed, by rank, and where their ranges start. */
struct children {
	uint64_t present[OCTETS / 64];
	size_t indices[OCTETS];
};

static void add_child(struct children *children, unsigned rank, size_t index)
{
	uint64_t bit = (uint64_t)1 << (rank % 64);
	if ((children->present[rank / 64] & bit) != 0)
		return;
	children->present[rank / 64] |= bit;
	children->indices[rank] = index;
}

/* index: the first range that may touch the node first to last. */
static void find_children(const struct walk *walk, uint64_t first, uint64_t last, size_t index,
			  struct children *children)
{
	const struct ranges *ranges = walk->ranges;
	uint64_t child_units = (last - first + 1) / OCTETS;

	memset(children->present, 0, sizeof(children->present));
	for (; index < ranges->count && ranges->items[index].first <= last; index++) {
		struct range range = ranges->items[index];
		uint64_t from = range.first > first ? (range.first - first) / child_units : 0;
		uint64_t to = range.last < last ? (range.last - first) / child_units : OCTETS - 1;
		for (uint64_t child = from; child <= to; child++)
			add_child(children, walk->ranks[child], index);
	}
}

static int walk_octets(const struct walk *walk, uint64_t first, unsigned octet_count, size_t index);

static int walk_children(const struct walk *walk, uint64_t first, uint64_t last,
			 unsigned octet_count, size_t index)
{
	struct children children;
	uint64_t child_units = (last - first + 1) / OCTETS;
	find_children(walk, first, last, index, &children);
	for (unsigned word = 0; word < OCTETS / 64; word++) {
		for (uint64_t bits = children.present[word]; bits != 0; bits &= bits - 1) {
			unsigned rank = word * 64 + (unsigned)__builtin_ctzll(bits);
			int ret = walk_octets(walk, first + walk->octets[rank] * child_units,
					      octet_count + 1, children.indices[rank]);
			if (ret != DNSBLV6_OK)
				return ret;
		}
	}
	return DNSBLV6_OK;
}

/* The node of octet_count leading octets at first, which range index touches. */
static int walk_octets(const struct walk *walk, uint64_t first, unsigned octet_count, size_t index)
{
	const struct range range = walk->ranges->items[index];
	uint64_t last = first + ((uint64_t)1 << (32 - 8 * octet_count)) - 1;
	if (octet_count > 0 && range.first <= first && range.last >= last)
		return call_full(walk, first, 8 * octet_count);
	if (octet_count < 3)
		return walk_children(walk, first, last, octet_count, index);
	int ret = walk_block(walk, first, &index);
	return ret != DNSBLV6_OK ? ret : walk_block(walk, first + BLOCK_UNITS, &index);
}

/* How many leading bits the widest whole IPv6 block has that starts at first and ends by last. */
static unsigned widest_ipv6(uint64_t first, uint64_t last)
{
	static const unsigned borders[] = { 16, 32, 48, 56 };
	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++) {
		uint64_t below = UINT64_MAX >> borders[i];
		if ((first & below) == 0 && last - first >= below)
			return borders[i];
	}
	return 57;
}

/* In the order of the addresses, which for fixed-width hexadecimal is the order of the keys. */
static int walk_ascending(const struct walk *walk, bool has_whole_blocks)
{
	const struct ranges *ranges = walk->ranges;
	size_t index = 0;
	uint64_t at = 0; /* units below are done */

	while (index < ranges->count) {
		struct range range = ranges->items[index];
		if (at < range.first)
			at = range.first;
		at &= ~(uint64_t)(BLOCK_UNITS - 1);
		unsigned bits =
			has_whole_blocks && at >= range.first ? widest_ipv6(at, range.last) : 57;
		uint64_t last = bits == 57 ? at | (BLOCK_UNITS - 1) : at | UINT64_MAX >> bits;
		int ret = bits == 57 ? walk_block(walk, at, &index) : call_full(walk, at, bits);
		if (ret != DNSBLV6_OK)
			return ret;
		while (index < ranges->count && ranges->items[index].last <= last)
			index++;
		if (last == UINT64_MAX)
			break;
		at = last + 1;
	}
	return DNSBLV6_OK;
}

int ranges_walk(const struct ranges *ranges, enum dnsblv6_style style, ranges_fn fn, void *context)
{
	struct walk walk = { .ranges = ranges, .fn = fn, .context = context };
	fill_order(&walk);
	if (ranges->count == 0)
		return DNSBLV6_OK;
	if (ranges->is_ipv4 && style == DNSBLV6_STYLE_DOTTED)
		return walk_octets(&walk, 0, 0, 0);
	return walk_ascending(&walk, style == DNSBLV6_STYLE_DOTTED);
}
