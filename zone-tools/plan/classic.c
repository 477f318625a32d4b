/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/classic.h"

#include "zone-tools/names/names_rrs.h"
#include "zone-tools/plan/tree.h"

#include "lib/format/wellknown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	OCTETS = 256,
	NIBBLES = 16,
	DIGITS = 10,			      /* labels that are octets and nibbles */
	CHILDREN = OCTETS + NIBBLES - DIGITS, /* 0 to 255, then a to f */
	ADDRESS_BITS = 128,
};

/* The value of a node whose addresses do not all have the same one. */
#define SET_MIXED UINT32_MAX

/* What a node is in one family. */
struct side {
	bool is_there;
	struct dnsblv6_prefix prefix;
	size_t index; /* the first piece that may touch it */
};

struct node {
	struct dnsblv6_labels labels;
	struct side ipv4;
	struct side ipv6;
};

struct walk {
	struct pieces ipv4; /* borrowed */
	struct pieces ipv6; /* ours, with the mapped test point */
	classic_fn fn;
	void *context;
	uint16_t order[CHILDREN]; /* children as their labels are sorted */
	uint16_t nibbles[NIBBLES];
};

/* Children that a node may have, in order. */
struct order {
	const uint16_t *items;
	size_t count;
};

/* ---- children ---- */

static uint16_t child_of_nibble(unsigned nibble)
{
	return (uint16_t)(nibble < DIGITS ? nibble : OCTETS + nibble - DIGITS);
}

static bool is_octet(unsigned child)
{
	return child < OCTETS;
}

static bool is_nibble(unsigned child)
{
	return child < DIGITS || child >= OCTETS;
}

static unsigned nibble_of_child(unsigned child)
{
	return child < DIGITS ? child : child - OCTETS + DIGITS;
}

/* The order of labels: "0", "1", "10", "100", "101", ... "99", "a", ... "f". */
static void fill_order(uint16_t *order)
{
	uint8_t octets[TREE_OCTETS];
	tree_fill_order(octets);
	for (unsigned i = 0; i < CHILDREN; i++)
		order[i] = i < OCTETS ? octets[i] : (uint16_t)i;
}

static int add_label(const struct dnsblv6_labels *above, const char *text, size_t text_size,
		     struct dnsblv6_labels *ret_labels)
{
	uint8_t label[4] = { (uint8_t)text_size };
	memcpy(label + 1, text, text_size);
	return dnsblv6_name_join(label, 1 + text_size, above->wire, above->size, ret_labels);
}

static int add_child_label(const struct dnsblv6_labels *above, unsigned child,
			   struct dnsblv6_labels *ret_labels)
{
	char text[DNSBLV6_OCTET_SIZE];
	size_t size = 1;
	if (child >= OCTETS)
		text[0] = (char)('a' + child - OCTETS);
	else
		size = dnsblv6_name_octet(child, text);
	return add_label(above, text, size, ret_labels);
}

/* ---- what the children are ---- */

struct children {
	uint32_t sets[CHILDREN]; /* of the whole child, or SET_MIXED; set only where one may be */
	uint32_t ipv6_sets[NIBBLES];
	size_t ipv4_index[OCTETS]; /* the first piece that touches a child with a set */
	size_t ipv6_index[NIBBLES];
};

/* The bits of addr behind the first from ones, bit_count of them: an octet or a nibble. */
static unsigned bits_at(struct dnsblv6_addr addr, unsigned from, unsigned bit_count)
{
	uint64_t half = from < 64 ? addr.hi : addr.lo;
	return (unsigned)(half >> (64 - from % 64 - bit_count)) & ((1U << bit_count) - 1);
}

static struct dnsblv6_prefix child_prefix(struct dnsblv6_prefix prefix, unsigned number,
					  unsigned bit_count)
{
	struct dnsblv6_addr first = prefix.first;
	unsigned from = prefix.prefix_len;
	uint64_t bits = (uint64_t)number << (64 - from % 64 - bit_count);
	if (from < 64)
		first.hi |= bits;
	else
		first.lo |= bits;
	return dnsblv6_prefix_make(first, from + bit_count);
}

static void add_piece(const struct side *side, unsigned bit_count,
		      const struct dnsblv6_segment *piece, size_t index, uint32_t *sets,
		      size_t *indices)
{
	const struct dnsblv6_prefix prefix = side->prefix;
	struct dnsblv6_addr end = dnsblv6_prefix_last(prefix);
	bool begins_before = dnsblv6_addr_compare(piece->first, prefix.first) <= 0;
	bool ends_behind = dnsblv6_addr_compare(piece->last, end) >= 0;
	unsigned first = begins_before ? 0 : bits_at(piece->first, prefix.prefix_len, bit_count);
	unsigned last = ends_behind ? (1U << bit_count) - 1
				    : bits_at(piece->last, prefix.prefix_len, bit_count);
	for (unsigned i = first; i <= last; i++) {
		struct dnsblv6_prefix child = child_prefix(prefix, i, bit_count);
		bool is_whole = dnsblv6_addr_compare(piece->first, child.first) <= 0 &&
				dnsblv6_addr_compare(piece->last, dnsblv6_prefix_last(child)) >= 0;
		if (sets[i] == DNSBLV6_SET_NONE)
			indices[i] = index;
		sets[i] = is_whole ? piece->set : SET_MIXED;
	}
}

static void add_pieces(const struct pieces *pieces, const struct side *side, unsigned bit_count,
		       uint32_t *sets, size_t *indices)
{
	struct dnsblv6_addr end = dnsblv6_prefix_last(side->prefix);
	for (size_t i = side->index; i < pieces->count; i++) {
		const struct dnsblv6_segment *piece = &pieces->items[i];
		if (dnsblv6_addr_compare(piece->first, end) > 0)
			break;
		if (dnsblv6_addr_compare(piece->last, side->prefix.first) >= 0)
			add_piece(side, bit_count, piece, i, sets, indices);
	}
}

static void find_children(const struct walk *walk, const struct node *node,
			  struct children *children)
{
	memset(children->sets, 0, sizeof(children->sets));
	memset(children->ipv6_sets, 0, sizeof(children->ipv6_sets));
	if (node->ipv4.is_there)
		add_pieces(&walk->ipv4, &node->ipv4, 8, children->sets, children->ipv4_index);
	if (!node->ipv6.is_there)
		return;
	add_pieces(&walk->ipv6, &node->ipv6, 4, children->ipv6_sets, children->ipv6_index);
	for (unsigned i = 0; i < NIBBLES; i++) {
		uint32_t *set = &children->sets[child_of_nibble(i)];
		bool is_both = node->ipv4.is_there && i < DIGITS;
		*set = is_both && *set != children->ipv6_sets[i] ? SET_MIXED
								 : children->ipv6_sets[i];
	}
}

static struct order order_of(const struct walk *walk, const struct node *node)
{
	return node->ipv4.is_there ? (struct order){ walk->order, CHILDREN }
				   : (struct order){ walk->nibbles, NIBBLES };
}

static bool has_child(const struct node *node, unsigned child)
{
	return (node->ipv4.is_there && is_octet(child)) ||
	       (node->ipv6.is_there && is_nibble(child));
}

/* How many children from number from on have it. */
static size_t count_set(const struct order *order, size_t from, const struct children *children,
			uint32_t set)
{
	size_t count = 0;
	for (size_t i = from; i < order->count; i++)
		count += children->sets[order->items[i]] == set;
	return count;
}

/*
 * Children of a wildcard for each one that it must not list: resolvers may tell those as listed for
 * a while after a change (docs/decisions/50-exceptions-in-whole-blocks.md).
 */
enum { LISTED_PER_EXCEPTION = 16 };

/*
 * What the wildcard of node is for, DNSBLV6_SET_NONE: there is none. The set that most children
 * have, or of several such the one that comes first, when exceptions are few. The apex has none.
 */
static uint32_t choose_wildcard(const struct walk *walk, const struct node *node,
				const struct children *children)
{
	const struct order order = order_of(walk, node);
	uint32_t best = DNSBLV6_SET_NONE;
	size_t best_count = 0;
	size_t none_count = 0;
	if (node->labels.size == 0)
		return DNSBLV6_SET_NONE;
	for (size_t i = 0; i < order.count; i++) {
		uint32_t set = children->sets[order.items[i]];
		if (!has_child(node, order.items[i]) || set == SET_MIXED)
			continue;
		none_count += set == DNSBLV6_SET_NONE;
		if (set == best || set == DNSBLV6_SET_NONE)
			continue;
		size_t count = count_set(&order, i, children, set);
		if (count > best_count) {
			best_count = count;
			best = set;
		}
	}
	return best_count > LISTED_PER_EXCEPTION * none_count + 1 ? best : DNSBLV6_SET_NONE;
}

/* ---- the walk ---- */

static int call(const struct walk *walk, const struct dnsblv6_labels *labels,
		struct dnsblv6_prefix prefix, uint32_t set)
{
	const struct classic_name name = { *labels, prefix, set };
	return walk->fn(walk->context, &name);
}

static int call_wildcard(const struct walk *walk, const struct dnsblv6_labels *above,
			 struct dnsblv6_prefix prefix, uint32_t set)
{
	struct dnsblv6_labels labels;
	int ret = add_label(above, "*", 1, &labels);
	return ret == DNSBLV6_OK ? call(walk, &labels, prefix, set) : ret;
}

static bool is_leaf(const struct side *side)
{
	return side->is_there && side->prefix.prefix_len == ADDRESS_BITS;
}

/* The network of a wildcard at node, for its text. */
static struct dnsblv6_prefix prefix_of(const struct node *node)
{
	return node->ipv4.is_there ? node->ipv4.prefix : node->ipv6.prefix;
}

static int walk_node(const struct walk *walk, const struct node *node);

/* One with an address and, below it, a network of the other family. */
static int walk_merged_leaf(const struct walk *walk, const struct node *node, uint32_t ipv4_set,
			    uint32_t ipv6_set)
{
	struct node below = *node;
	int ret = DNSBLV6_OK;
	below.ipv4.is_there = false;
	if (ipv4_set != DNSBLV6_SET_NONE)
		ret = call(walk, &node->labels, node->ipv4.prefix, ipv4_set);
	if (ret != DNSBLV6_OK || ipv6_set == DNSBLV6_SET_NONE)
		return ret;
	return ipv6_set == SET_MIXED
		       ? walk_node(walk, &below)
		       : call_wildcard(walk, &below.labels, below.ipv6.prefix, ipv6_set);
}

/* A child all of which has one value, which is not that of the wildcard beside it. */
static int walk_uniform(const struct walk *walk, const struct node *node, uint32_t set)
{
	if (set == DNSBLV6_SET_NONE || (is_leaf(&node->ipv4) && !node->ipv6.is_there) ||
	    is_leaf(&node->ipv6))
		return call(walk, &node->labels, prefix_of(node), set);
	if (is_leaf(&node->ipv4))
		return walk_merged_leaf(walk, node, set, set);
	return call_wildcard(walk, &node->labels, prefix_of(node), set);
}

static int walk_child(const struct walk *walk, const struct node *node,
		      const struct children *children, unsigned child, uint32_t wildcard)
{
	uint32_t set = children->sets[child];
	unsigned nibble = nibble_of_child(child);
	/* Most are so, and nothing is made for them. */
	if (set == wildcard || !has_child(node, child))
		return DNSBLV6_OK;
	struct node below = { .ipv4.is_there = node->ipv4.is_there && is_octet(child),
			      .ipv6.is_there = node->ipv6.is_there && is_nibble(child) };
	int ret = add_child_label(&node->labels, child, &below.labels);
	if (below.ipv4.is_there) {
		below.ipv4.prefix = child_prefix(node->ipv4.prefix, child, 8);
		below.ipv4.index = children->ipv4_index[child];
	}
	if (below.ipv6.is_there) {
		below.ipv6.prefix = child_prefix(node->ipv6.prefix, nibble, 4);
		below.ipv6.index = children->ipv6_index[nibble];
	}
	if (ret != DNSBLV6_OK)
		return ret;
	if (set != SET_MIXED)
		return walk_uniform(walk, &below, set);
	if (!is_leaf(&below.ipv4))
		return walk_node(walk, &below);
	return walk_merged_leaf(walk, &below, pieces_find(&walk->ipv4, below.ipv4.prefix.first),
				children->ipv6_sets[nibble]);
}

static int walk_node(const struct walk *walk, const struct node *node)
{
	const struct order order = order_of(walk, node);
	struct children children;
	int ret = DNSBLV6_OK;
	find_children(walk, node, &children);
	uint32_t wildcard = choose_wildcard(walk, node, &children);
	if (wildcard != DNSBLV6_SET_NONE)
		ret = call_wildcard(walk, &node->labels, prefix_of(node), wildcard);
	for (size_t i = 0; ret == DNSBLV6_OK && i < order.count; i++)
		ret = walk_child(walk, node, &children, order.items[i], wildcard);
	return ret;
}

/* Those of IPv6, with 127.0.0.2 at its place among them. */
static int take_ipv6(const struct pieces *pieces, size_t from, struct pieces *ret_ipv6)
{
	const struct dnsblv6_testpoint *point = dnsblv6_testpoint_get(0);
	const struct dnsblv6_segment mapped = { point->addr, point->addr,
						pieces_find(pieces, point->addr) };
	ret_ipv6->items = calloc(pieces->count - from + 1, sizeof(*ret_ipv6->items));
	if (ret_ipv6->items == NULL)
		return -ENOMEM;
	bool is_due = mapped.set != DNSBLV6_SET_NONE;
	for (size_t i = from; i < pieces->count; i++) {
		if (is_due && dnsblv6_addr_compare(mapped.first, pieces->items[i].first) < 0) {
			ret_ipv6->items[ret_ipv6->count++] = mapped;
			is_due = false;
		}
		ret_ipv6->items[ret_ipv6->count++] = pieces->items[i];
	}
	if (is_due)
		ret_ipv6->items[ret_ipv6->count++] = mapped;
	return DNSBLV6_OK;
}

int classic_walk(const struct pieces *pieces, classic_fn fn, void *context)
{
	const struct node apex = {
		.ipv4 = { true,
			  dnsblv6_prefix_make(dnsblv6_addr_from_ipv4(0), DNSBLV6_IPV4_BASE_LEN),
			  0 },
		.ipv6 = { .is_there = true },
	};
	struct walk walk = { .ipv4 = *pieces, .fn = fn, .context = context };
	size_t count = 0;
	while (count < pieces->count && dnsblv6_addr_is_ipv4(pieces->items[count].first))
		count++;
	walk.ipv4.count = count;
	fill_order(walk.order);
	for (unsigned i = 0; i < NIBBLES; i++)
		walk.nibbles[i] = child_of_nibble(i);
	int ret = take_ipv6(pieces, count, &walk.ipv6);
	if (ret == DNSBLV6_OK)
		ret = walk_node(&walk, &apex);
	pieces_deinit(&walk.ipv6);
	return ret;
}

/* ---- records ---- */

int classic_record(const struct classic_name *name, const struct dnsblv6_value *values,
		   size_t value_count, uint32_t ttl, uint8_t *ret_data, size_t data_max,
		   size_t *ret_size)
{
	struct names_rrs rrs;
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	rrs.count = 0;
	if (value_count > NAMES_SOURCES_MAX)
		return CLASSIC_EVALUES;
	size_t size = name->prefix.prefix_len == ADDRESS_BITS
			      ? dnsblv6_addr_format(name->prefix.first, text)
			      : dnsblv6_prefix_format(name->prefix, text);
	for (size_t i = 0; i < value_count; i++)
		names_rrs_add_value(&values[i], text, size, &rrs);
	if (value_count == 0)
		names_rrs_add_unlisted(ttl, &rrs);
	names_rrs_settle(&rrs);
	return dnsblv6_record_encode_rrs(rrs.rrs, rrs.count, ret_data, data_max, ret_size);
}
