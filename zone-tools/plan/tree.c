/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/tree.h"

#include "zone-tools/names/names_rrs.h"

#include "lib/format/dnssec.h"
#include "lib/format/record.h"

#include <string.h>

enum { BLOCK_UNITS = 128 };

/* ---- names ---- */

/* "*.2.0.192" without its first label is the block's own name, with another one a name below it. */
enum { ASTERISK_SIZE = 2, END_LABEL = 'z' };

int tree_name_make(enum dnsblv6_style style, const struct tree_name *name,
		   struct dnsblv6_labels *ret_labels)
{
	int ret = dnsblv6_name_make(style, name->block, ret_labels);
	if (ret != DNSBLV6_OK || name->kind == TREE_BLOCK)
		return ret;
	if (ret_labels->size < ASTERISK_SIZE || ret_labels->wire[1] != '*')
		return DNSBLV6_EPREFIX;
	if (name->kind == TREE_END) {
		ret_labels->wire[1] = END_LABEL;
		return DNSBLV6_OK;
	}
	ret_labels->size = (uint8_t)(ret_labels->size - ASTERISK_SIZE);
	memmove(ret_labels->wire, ret_labels->wire + ASTERISK_SIZE, ret_labels->size);
	return DNSBLV6_OK;
}

size_t tree_name_encode(const struct tree_name *name, uint32_t ttl, uint8_t *ret_data)
{
	static const uint8_t unlisted[] = NAMES_UNLISTED;
	const struct dnsblv6_rr rr = { .type = DNSBLV6_TYPE_HINFO,
				       .rdata_size = sizeof(unlisted) - 1,
				       .ttl = ttl,
				       .rdata = unlisted };
	size_t size = DNSBLV6_BITMAP_RECORD_SIZE;
	if (name->kind == TREE_BLOCK)
		dnsblv6_record_encode_bitmap(&name->map, ret_data);
	else
		(void)dnsblv6_record_encode_rrs(&rr, 1, ret_data, TREE_RECORD_MAX, &size);
	return size;
}

/* ---- the walk ---- */

/* Borders of whole blocks, the whole family first, and behind them the block of one bitmap. */
static const unsigned ipv4_levels[] = { DNSBLV6_IPV4_BASE_LEN, DNSBLV6_IPV4_BASE_LEN + 8,
					DNSBLV6_IPV4_BASE_LEN + 16, DNSBLV6_IPV4_BASE_LEN + 24,
					DNSBLV6_IPV4_BASE_LEN + 25 };
static const unsigned ipv6_levels[] = { 0, 16, 32, 48, 56, 57 };

struct tree_borders tree_borders(bool is_ipv4)
{
	return is_ipv4 ? (struct tree_borders){ ipv4_levels + 1, 3 }
		       : (struct tree_borders){ ipv6_levels + 1, 4 };
}

struct tree {
	const struct ranges *ranges;
	const unsigned *levels;
	unsigned last_level; /* whose children are bitmaps */
	unsigned unit_length;
	tree_fn fn;
	void *context;
	uint8_t octets[TREE_OCTETS]; /* see tree_fill_order() */
};

/* A place in the tree: the units first to last. */
struct place {
	uint64_t first;
	uint64_t last;
	unsigned level;
	size_t index; /* of the first range that does not end before it */
	bool is_below_wildcard;
};

static int call(const struct tree *tree, uint64_t first, unsigned length, enum tree_kind kind,
		const struct dnsblv6_bitmap *map)
{
	struct tree_name name = { .block = dnsblv6_prefix_make(
					  ranges_first_addr(tree->ranges, first), length),
				  .kind = kind };
	if (map != NULL)
		name.map = *map;
	return tree->fn(tree->context, &name);
}

static int call_whole(const struct tree *tree, const struct place *place)
{
	struct dnsblv6_bitmap full = dnsblv6_bitmap_make_full();
	return call(tree, place->first, tree->levels[place->level], TREE_BLOCK, &full);
}

static int call_mark(const struct tree *tree, const struct place *place, enum tree_kind kind)
{
	return call(tree, place->first, tree->levels[place->level], kind, NULL);
}

/* The bits of the block of 128 units at first; *index moves to the first range behind it. */
static void fill_map(const struct ranges *ranges, uint64_t first, size_t *index,
		     struct dnsblv6_bitmap *map)
{
	uint64_t last = first | (BLOCK_UNITS - 1);
	*map = (struct dnsblv6_bitmap){ { 0 } };
	for (; *index < ranges->count && ranges->items[*index].first <= last; (*index)++) {
		struct range range = ranges->items[*index];
		uint64_t from = range.first > first ? range.first : first;
		uint64_t to = range.last < last ? range.last : last;
		if (from <= to)
			dnsblv6_bitmap_add_range(map, (unsigned)(from - first),
						 (unsigned)(to - first));
		if (range.last > last)
			break;
	}
}

static int call_block(const struct tree *tree, uint64_t first, const struct dnsblv6_bitmap *map)
{
	if (dnsblv6_bitmap_is_empty(map))
		return DNSBLV6_OK;
	return call(tree, first, tree->levels[tree->last_level + 1], TREE_BLOCK, map);
}

/* The two bitmaps of a place at the last border; above it only what is whole has a wildcard. */
static int walk_bitmaps(const struct tree *tree, const struct place *place)
{
	struct dnsblv6_bitmap lower;
	struct dnsblv6_bitmap upper;
	size_t index = place->index;
	fill_map(tree->ranges, place->first, &index, &lower);
	fill_map(tree->ranges, place->first + BLOCK_UNITS, &index, &upper);
	int ret = call_block(tree, place->first, &lower);
	return ret == DNSBLV6_OK ? call_block(tree, place->first + BLOCK_UNITS, &upper) : ret;
}

/* ---- children ---- */

static unsigned child_bits(const struct tree *tree, const struct place *place)
{
	return tree->unit_length - tree->levels[place->level + 1];
}

static struct place make_child(const struct tree *tree, const struct place *parent, uint64_t number,
			       size_t index, bool has_wildcard)
{
	unsigned bits = child_bits(tree, parent);
	uint64_t first = parent->first + (number << bits);
	return (struct place){ .first = first,
			       .last = first + (((uint64_t)1 << bits) - 1),
			       .level = parent->level + 1,
			       .index = index,
			       .is_below_wildcard = has_wildcard };
}

/* How many children of place are listed whole. */
static uint64_t count_whole(const struct tree *tree, const struct place *place)
{
	const struct ranges *ranges = tree->ranges;
	unsigned bits = child_bits(tree, place);
	uint64_t units = (uint64_t)1 << bits;
	uint64_t count = 0;
	for (size_t i = place->index; i < ranges->count && ranges->items[i].first <= place->last;
	     i++) {
		struct range range = ranges->items[i];
		uint64_t from = range.first > place->first ? range.first - place->first : 0;
		uint64_t to = (range.last < place->last ? range.last : place->last) - place->first;
		uint64_t first = from == 0 ? 0 : ((from - 1) >> bits) + 1;
		uint64_t end = to - from < units - 1 ? 0 : (to - (units - 1)) / units + 1;
		count += end > first ? end - first : 0;
	}
	return count;
}

/*
 * Is a place that is listed in part a wildcard and names for what it is not for? Only at a border of
 * 65,536 children, where it would be too many names otherwise: resolvers may tell such exceptions as
 * listed for a while (docs/decisions/50-exceptions-in-whole-blocks.md). A wildcard has two names
 * itself, and every child that is not whole costs two at least. The choice depends on whole children
 * alone, so a change that leaves each place as whole or not as it was moves no name of others (region.h).
 */
static bool wants_wildcard(const struct tree *tree, const struct place *place)
{
	unsigned child_levels = tree->levels[place->level + 1] - tree->levels[place->level];
	if (place->level == 0 || child_levels <= 8)
		return false; /* there is no whole block as wide as level 0 */
	uint64_t all = (uint64_t)1 << child_levels;
	uint64_t whole = count_whole(tree, place);
	return whole > 2 + 2 * (all - whole);
}

static int walk_place(const struct tree *tree, const struct place *place);

static int walk_child(const struct tree *tree, const struct place *child)
{
	const struct ranges *ranges = tree->ranges;
	bool is_empty =
		child->index == ranges->count || ranges->items[child->index].first > child->last;
	bool is_whole = !is_empty && ranges->items[child->index].first <= child->first &&
			ranges->items[child->index].last >= child->last;
	if (is_whole)
		return child->is_below_wildcard ? DNSBLV6_OK : call_whole(tree, child);
	if (!is_empty)
		return walk_place(tree, child);
	if (!child->is_below_wildcard)
		return DNSBLV6_OK;
	int ret = call_mark(tree, child, TREE_MARK);
	return ret == DNSBLV6_OK ? call_mark(tree, child, TREE_END) : ret;
}

/* The first child from number on that may have names, as those of a run of ranges have not. */
static uint64_t skip_children(const struct tree *tree, const struct place *place, uint64_t number,
			      size_t index, bool has_wildcard)
{
	const struct ranges *ranges = tree->ranges;
	unsigned bits = child_bits(tree, place);
	if (index == ranges->count || ranges->items[index].first > place->last)
		return has_wildcard ? number : UINT64_MAX;
	struct range range = ranges->items[index];
	uint64_t at = place->first + (number << bits);
	if (!has_wildcard)
		return range.first <= at ? number : (range.first - place->first) >> bits;
	if (range.first > at)
		return number;
	if (range.last >= place->last)
		return UINT64_MAX;
	uint64_t end = (range.last + 1 - place->first) >> bits; /* behind the last whole one */
	return end > number ? end : number;
}

/* In the order of the addresses, which for fixed-width hexadecimal is the order of the keys. */
static int walk_ascending(const struct tree *tree, const struct place *place, bool has_wildcard)
{
	unsigned bits = child_bits(tree, place);
	uint64_t count = ((place->last - place->first) >> bits) + 1;
	size_t index = place->index;
	uint64_t number = skip_children(tree, place, 0, index, has_wildcard);
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && number < count) {
		struct place child = make_child(tree, place, number, index, has_wildcard);
		while (child.index < tree->ranges->count &&
		       tree->ranges->items[child.index].last < child.first)
			child.index++;
		ret = walk_child(tree, &child);
		index = child.index;
		while (index < tree->ranges->count && tree->ranges->items[index].last <= child.last)
			index++;
		if (number + 1 == count)
			break;
		number = skip_children(tree, place, number + 1, index, has_wildcard);
	}
	return ret;
}

void tree_fill_order(uint8_t *ret_octets)
{
	size_t count = 0;
	ret_octets[count++] = 0;
	for (unsigned a = 1; a < 10; a++) {
		ret_octets[count++] = (uint8_t)a;
		for (unsigned b = a * 10; b < a * 10 + 10; b++) {
			ret_octets[count++] = (uint8_t)b;
			for (unsigned c = b * 10; c < b * 10 + 10 && c < TREE_OCTETS; c++)
				ret_octets[count++] = (uint8_t)c;
		}
	}
}

/* Where the ranges of each child begin. */
static void find_children(const struct tree *tree, const struct place *place, size_t *indices)
{
	const struct ranges *ranges = tree->ranges;
	unsigned bits = child_bits(tree, place);
	size_t index = place->index;
	for (uint64_t number = 0; number < TREE_OCTETS; number++) {
		uint64_t first = place->first + (number << bits);
		while (index < ranges->count && ranges->items[index].last < first)
			index++;
		indices[number] = index;
	}
}

static int walk_octets(const struct tree *tree, const struct place *place)
{
	size_t indices[TREE_OCTETS];
	int ret = DNSBLV6_OK;
	find_children(tree, place, indices);
	for (unsigned rank = 0; ret == DNSBLV6_OK && rank < TREE_OCTETS; rank++) {
		unsigned number = tree->octets[rank];
		struct place child = make_child(tree, place, number, indices[number], false);
		ret = walk_child(tree, &child);
	}
	return ret;
}

/* A place that is listed in part. */
static int walk_place(const struct tree *tree, const struct place *place)
{
	if (place->level == tree->last_level)
		return walk_bitmaps(tree, place);
	bool has_wildcard = wants_wildcard(tree, place);
	bool has_end = has_wildcard || place->is_below_wildcard;
	int ret = DNSBLV6_OK;
	if (has_wildcard)
		ret = call_whole(tree, place);
	else if (place->is_below_wildcard)
		ret = call_mark(tree, place, TREE_MARK);
	if (ret == DNSBLV6_OK)
		ret = tree->ranges->is_ipv4 ? walk_octets(tree, place)
					    : walk_ascending(tree, place, has_wildcard);
	return ret == DNSBLV6_OK && has_end ? call_mark(tree, place, TREE_END) : ret;
}

/* Flat names: every block that has something listed. */
static int walk_flat(const struct tree *tree)
{
	const struct ranges *ranges = tree->ranges;
	size_t index = 0;
	uint64_t at = 0; /* units below are done */
	while (index < ranges->count) {
		struct dnsblv6_bitmap map;
		if (at < ranges->items[index].first)
			at = ranges->items[index].first;
		at &= ~(uint64_t)(BLOCK_UNITS - 1);
		uint64_t last = at | (BLOCK_UNITS - 1);
		fill_map(ranges, at, &index, &map);
		int ret = call_block(tree, at, &map);
		if (ret != DNSBLV6_OK || last == UINT64_MAX)
			return ret;
		while (index < ranges->count && ranges->items[index].last <= last)
			index++;
		at = last + 1;
	}
	return DNSBLV6_OK;
}

int tree_walk(const struct ranges *ranges, enum dnsblv6_style style, tree_fn fn, void *context)
{
	struct tree tree = { .ranges = ranges,
			     .levels = ranges->is_ipv4 ? ipv4_levels : ipv6_levels,
			     .last_level = (unsigned)tree_borders(ranges->is_ipv4).count,
			     .unit_length = ranges->is_ipv4 ? 128 : 64,
			     .fn = fn,
			     .context = context };
	const struct place root = { .last = ranges->is_ipv4 ? UINT32_MAX : UINT64_MAX };
	if (ranges->count == 0)
		return DNSBLV6_OK;
	if (style == DNSBLV6_STYLE_FLAT)
		return walk_flat(&tree);
	tree_fill_order(tree.octets);
	return ranges->is_ipv4 ? walk_octets(&tree, &root) : walk_ascending(&tree, &root, false);
}

/* ---- back ---- */

/* Where the labels begin that stand for octets or groups alone: behind "0", "1", "*" and "z". */
static size_t head_size(const uint8_t *labels, size_t size)
{
	bool is_head = size > 2 && labels[0] == 1 &&
		       (labels[1] == '*' || labels[1] == END_LABEL || labels[1] == '0' ||
			labels[1] == '1');
	return is_head ? 2 : 0;
}

/* The whole block that the last labels, from at on, are the name of. */
static bool parse_place(const uint8_t *labels, size_t size, size_t at,
			struct dnsblv6_prefix *ret_block)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 2] = { 1, '*' };
	if (at >= size || size - at > DNSBLV6_LABELS_MAX)
		return false;
	memcpy(name + 2, labels + at, size - at);
	return dnsblv6_name_parse(DNSBLV6_STYLE_DOTTED, name, size - at + 2, ret_block) ==
	       DNSBLV6_OK;
}

/* The child of block that a name below it is in, or at. False for names that are block's own. */
static bool find_child(struct dnsblv6_prefix block, const uint8_t *labels, size_t size,
		       struct dnsblv6_prefix *ret_child)
{
	struct dnsblv6_prefix place;
	bool is_found = false;
	for (size_t at = 0; at < size; at += 1u + labels[at]) {
		if (!parse_place(labels, size, at, &place))
			continue;
		if (place.prefix_len <= block.prefix_len)
			break;
		*ret_child = place;
		is_found = true;
	}
	return is_found;
}

static bool is_inside(struct dnsblv6_prefix inner, struct dnsblv6_prefix outer)
{
	return inner.prefix_len >= outer.prefix_len &&
	       dnsblv6_prefix_contains(outer, inner.first) &&
	       dnsblv6_prefix_is_ipv4(inner) == dnsblv6_prefix_is_ipv4(outer);
}

static struct range range_of(const struct ranges *ranges, struct dnsblv6_prefix block)
{
	struct dnsblv6_addr last = dnsblv6_prefix_last(block);
	if (ranges->is_ipv4)
		return (struct range){ dnsblv6_addr_ipv4(block.first), dnsblv6_addr_ipv4(last) };
	return (struct range){ block.first.hi, last.hi };
}

/* The innermost open block is done: it lists what no child of it has taken out. */
static int close_open(struct tree_reading *reading)
{
	struct tree_open *open = &reading->open[--reading->open_count];
	struct range whole = range_of(reading->ranges, open->block);
	const struct ranges all = { .items = &whole, .count = 1, .is_ipv4 = open->holes.is_ipv4 };
	ranges_normalise(&open->holes);
	int ret = ranges_add_difference(reading->ranges, &all, &open->holes);
	ranges_deinit(&open->holes);
	return ret;
}

static int add_hole(struct tree_reading *reading, unsigned i, const uint8_t *labels, size_t size)
{
	struct tree_open *open = &reading->open[i];
	struct dnsblv6_prefix child;
	if (!find_child(open->block, labels, size, &child))
		return DNSBLV6_OK;
	struct range hole = range_of(reading->ranges, child);
	struct ranges *holes = &open->holes;
	if (holes->count > 0 && holes->items[holes->count - 1].first == hole.first)
		return DNSBLV6_OK;
	return ranges_add(holes, hole.first, hole.last);
}

bool tree_place(const uint8_t *labels, size_t size, struct dnsblv6_prefix *ret_place)
{
	/* "0.192" is a mark, "0.2.0.192" a bitmap: all labels are tried first. */
	return parse_place(labels, size, 0, ret_place) ||
	       parse_place(labels, size, head_size(labels, size), ret_place);
}

static int read_dotted(struct tree_reading *reading, const uint8_t *labels, size_t size,
		       const struct dnsblv6_bitmap *map)
{
	struct dnsblv6_prefix place;
	struct dnsblv6_prefix block;
	int ret = DNSBLV6_OK;
	if (!tree_place(labels, size, &place))
		return DNSBLV6_OK;
	if (dnsblv6_prefix_is_ipv4(place) != reading->ranges->is_ipv4)
		return DNSBLV6_OK;
	while (ret == DNSBLV6_OK && reading->open_count > 0 &&
	       !is_inside(place, reading->open[reading->open_count - 1].block))
		ret = close_open(reading);
	for (unsigned i = 0; ret == DNSBLV6_OK && i < reading->open_count; i++)
		ret = add_hole(reading, i, labels, size);
	if (ret != DNSBLV6_OK || map == NULL ||
	    dnsblv6_name_parse(DNSBLV6_STYLE_DOTTED, labels, size, &block) != DNSBLV6_OK)
		return ret;
	if (labels[1] != '*' || reading->open_count == 4)
		return ranges_add_block(reading->ranges, block, map);
	reading->open[reading->open_count++] =
		(struct tree_open){ block, { .is_ipv4 = reading->ranges->is_ipv4 } };
	return DNSBLV6_OK;
}

int tree_read(struct tree_reading *reading, const uint8_t *labels, size_t size,
	      const struct dnsblv6_bitmap *map)
{
	struct dnsblv6_prefix block;
	if (reading->style == DNSBLV6_STYLE_DOTTED)
		return read_dotted(reading, labels, size, map);
	if (map == NULL || dnsblv6_name_parse(reading->style, labels, size, &block) != DNSBLV6_OK ||
	    dnsblv6_prefix_is_ipv4(block) != reading->ranges->is_ipv4)
		return DNSBLV6_OK;
	return ranges_add_block(reading->ranges, block, map);
}

int tree_end(struct tree_reading *reading)
{
	int ret = DNSBLV6_OK;
	while (reading->open_count > 0) {
		int status = close_open(reading);
		ret = ret == DNSBLV6_OK ? status : ret;
	}
	ranges_normalise(reading->ranges);
	return ret;
}
