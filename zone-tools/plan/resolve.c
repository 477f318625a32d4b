/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/resolve.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/format/array.h"

/* ---- pieces ---- */

static bool is_less(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	return dnsblv6_addr_compare(a, b) < 0;
}

/*
 * The order of finished pieces: IPv4 before IPv6. While pieces are made, each
 * family is worked on alone and addresses are plain numbers: an IPv6 prefix
 * such as ::/0 reaches across the numbers that are IPv4.
 */
static int order(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	bool a_is_ipv4 = dnsblv6_addr_is_ipv4(a);
	bool b_is_ipv4 = dnsblv6_addr_is_ipv4(b);
	if (a_is_ipv4 != b_is_ipv4)
		return a_is_ipv4 ? -1 : 1;
	return dnsblv6_addr_compare(a, b);
}

static bool touches(const struct dnsblv6_segment *piece, struct dnsblv6_addr first)
{
	return dnsblv6_addr_compare(dnsblv6_addr_next(piece->last), first) == 0;
}

int pieces_append(struct pieces *pieces, struct dnsblv6_addr first, struct dnsblv6_addr last,
		  uint32_t set)
{
	if (set == DNSBLV6_SET_NONE)
		return DNSBLV6_OK;
	struct dnsblv6_segment *previous =
		pieces->count > 0 ? &pieces->items[pieces->count - 1] : NULL;
	if (previous != NULL && previous->set == set && touches(previous, first)) {
		previous->last = last;
		return DNSBLV6_OK;
	}
	if (!array_reserve(pieces->items, pieces->count + 1, &pieces->capacity))
		return -ENOMEM;
	assert(pieces->items != NULL); /* there is room now: static analysis cannot tell */
	pieces->items[pieces->count++] = (struct dnsblv6_segment){ first, last, set };
	return DNSBLV6_OK;
}

int pieces_append_all(struct pieces *pieces, const struct pieces *more)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < more->count; i++)
		ret = pieces_append(pieces, more->items[i].first, more->items[i].last,
				    more->items[i].set);
	return ret;
}

void pieces_deinit(struct pieces *pieces)
{
	free(pieces->items);
	*pieces = (struct pieces){ 0 };
}

/* made, if that went well, in the place of pieces. Returns ret. */
static int replace(struct pieces *pieces, struct pieces *made, int ret)
{
	pieces_deinit(ret == DNSBLV6_OK ? pieces : made);
	if (ret == DNSBLV6_OK)
		*pieces = *made;
	return ret;
}

size_t pieces_index(const struct pieces *pieces, struct dnsblv6_addr addr)
{
	size_t low = 0;
	size_t high = pieces->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (order(pieces->items[middle].last, addr) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t pieces_find(const struct pieces *pieces, struct dnsblv6_addr addr)
{
	size_t i = pieces_index(pieces, addr);
	if (i == pieces->count || order(pieces->items[i].first, addr) > 0)
		return DNSBLV6_SET_NONE;
	return pieces->items[i].set;
}

/* ---- uniting two lists of pieces ---- */

/* Walks a list; at is where the rest of the piece under it begins. */
struct walk {
	const struct pieces *pieces;
	size_t index;
	struct dnsblv6_addr at;
};

static struct walk walk_make(const struct pieces *pieces)
{
	struct walk walk = { pieces, 0, { 0, 0 } };
	if (pieces->count > 0)
		walk.at = pieces->items[0].first;
	return walk;
}

static bool walk_has_more(const struct walk *walk)
{
	return walk->index < walk->pieces->count;
}

static const struct dnsblv6_segment *walk_piece(const struct walk *walk)
{
	return &walk->pieces->items[walk->index];
}

/* Everything up to and with last is done. */
static void walk_past(struct walk *walk, struct dnsblv6_addr last)
{
	if (is_less(last, walk_piece(walk)->last)) {
		walk->at = dnsblv6_addr_next(last);
		return;
	}
	walk->index++;
	if (walk_has_more(walk))
		walk->at = walk_piece(walk)->first;
}

/* What becomes of addresses that the left list has in one set and the right one in another. */
struct rule {
	int (*combine)(const struct rule *rule, uint32_t left, uint32_t right, uint32_t *ret_set);
	struct set_pool *sets;
	uint32_t added;
};

/* Both lists, left and right, and where the walk is in them. */
struct merge {
	struct walk left;
	struct walk right;
};

static uint32_t set_at(const struct walk *walk, struct dnsblv6_addr at)
{
	bool is_there = walk_has_more(walk) && dnsblv6_addr_compare(walk->at, at) == 0;
	return is_there ? walk_piece(walk)->set : DNSBLV6_SET_NONE;
}

/* Where the next piece of either begins. */
static struct dnsblv6_addr merge_first(const struct merge *merge)
{
	if (!walk_has_more(&merge->right))
		return merge->left.at;
	if (!walk_has_more(&merge->left) || is_less(merge->right.at, merge->left.at))
		return merge->right.at;
	return merge->left.at;
}

/* How far nothing changes in walk from at on, but not beyond last. */
static struct dnsblv6_addr limit(const struct walk *walk, struct dnsblv6_addr at,
				 struct dnsblv6_addr last)
{
	if (!walk_has_more(walk))
		return last;
	struct dnsblv6_addr own = dnsblv6_addr_compare(walk->at, at) == 0
					  ? walk_piece(walk)->last
					  : dnsblv6_addr_previous(walk->at);
	return is_less(own, last) ? own : last;
}

static void walk_on(struct walk *walk, struct dnsblv6_addr last)
{
	if (walk_has_more(walk) && !is_less(last, walk->at))
		walk_past(walk, last);
}

static int merge_step(struct merge *merge, const struct rule *rule, struct pieces *result)
{
	static const struct dnsblv6_addr greatest = { UINT64_MAX, UINT64_MAX };
	uint32_t set;
	struct dnsblv6_addr first = merge_first(merge);
	struct dnsblv6_addr last =
		limit(&merge->left, first, limit(&merge->right, first, greatest));
	int ret = rule->combine(rule, set_at(&merge->left, first), set_at(&merge->right, first),
				&set);
	if (ret == DNSBLV6_OK)
		ret = pieces_append(result, first, last, set);
	walk_on(&merge->left, last);
	walk_on(&merge->right, last);
	return ret;
}

static int merge_pieces(const struct pieces *left, const struct pieces *right,
			const struct rule *rule, struct pieces *ret_result)
{
	struct merge merge = { walk_make(left), walk_make(right) };
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && (walk_has_more(&merge.left) || walk_has_more(&merge.right)))
		ret = merge_step(&merge, rule, ret_result);
	return ret;
}

static int combine_all(const struct rule *rule, uint32_t left, uint32_t right, uint32_t *ret_set)
{
	if (left != DNSBLV6_SET_NONE && right != DNSBLV6_SET_NONE)
		return set_pool_unite(rule->sets, left, right, ret_set);
	*ret_set = left != DNSBLV6_SET_NONE ? left : right;
	return DNSBLV6_OK;
}

static int unite(const struct pieces *left, const struct pieces *right, struct set_pool *sets,
		 struct pieces *ret_result)
{
	const struct rule rule = { .combine = combine_all, .sets = sets };
	return merge_pieces(left, right, &rule, ret_result);
}

static int combine_change(const struct rule *rule, uint32_t left, uint32_t right, uint32_t *ret_set)
{
	*ret_set = left;
	if (right == PIECES_REMOVED)
		*ret_set = DNSBLV6_SET_NONE;
	else if (right == PIECES_ADDED && left == DNSBLV6_SET_NONE)
		*ret_set = rule->added;
	return DNSBLV6_OK;
}

int pieces_change(const struct pieces *pieces, const struct pieces *changes, uint32_t set,
		  struct pieces *ret_result)
{
	const struct rule rule = { .combine = combine_change, .added = set };
	return merge_pieces(pieces, changes, &rule, ret_result);
}

static int combine_difference(const struct rule *rule, uint32_t left, uint32_t right,
			      uint32_t *ret_set)
{
	(void)rule;
	*ret_set = DNSBLV6_SET_NONE;
	if (left != right)
		*ret_set = (left != DNSBLV6_SET_NONE ? PIECES_LEFT : 0) |
			   (right != DNSBLV6_SET_NONE ? PIECES_RIGHT : 0);
	return DNSBLV6_OK;
}

int pieces_compare(const struct pieces *left, const struct pieces *right, struct pieces *ret_result)
{
	const struct rule rule = { .combine = combine_difference };
	return merge_pieces(left, right, &rule, ret_result);
}

int pieces_add_missing(struct pieces *pieces, struct dnsblv6_addr first, struct dnsblv6_addr last,
		       uint32_t set)
{
	struct pieces wider = { 0 };
	size_t i = 0;
	int ret = DNSBLV6_OK;
	bool is_done = false;

	for (; ret == DNSBLV6_OK && i < pieces->count; i++) {
		const struct dnsblv6_segment *piece = &pieces->items[i];
		if (!is_done && order(first, piece->first) < 0) {
			bool is_before = order(last, piece->first) < 0;
			ret = pieces_append(&wider, first,
					    is_before ? last : dnsblv6_addr_previous(piece->first),
					    set);
			is_done = is_before;
		}
		if (ret == DNSBLV6_OK)
			ret = pieces_append(&wider, piece->first, piece->last, piece->set);
		if (!is_done && order(piece->last, first) >= 0) {
			is_done = order(piece->last, last) >= 0;
			first = dnsblv6_addr_next(piece->last);
		}
	}
	if (ret == DNSBLV6_OK && !is_done)
		ret = pieces_append(&wider, first, last, set);
	return replace(pieces, &wider, ret);
}

int pieces_remove(struct pieces *pieces, struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	struct pieces rest = { 0 };
	int ret = DNSBLV6_OK;

	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces->count; i++) {
		struct dnsblv6_segment piece = pieces->items[i];
		if (order(piece.last, first) < 0 || order(piece.first, last) > 0) {
			ret = pieces_append(&rest, piece.first, piece.last, piece.set);
			continue;
		}
		if (order(piece.first, first) < 0)
			ret = pieces_append(&rest, piece.first, dnsblv6_addr_previous(first),
					    piece.set);
		if (ret == DNSBLV6_OK && order(piece.last, last) > 0)
			ret = pieces_append(&rest, dnsblv6_addr_next(last), piece.last, piece.set);
	}
	return replace(pieces, &rest, ret);
}

/* ---- one dataset ---- */

static bool is_of_prefix(const struct entry *entry, struct dnsblv6_prefix prefix)
{
	return entry->prefix_len == prefix.prefix_len &&
	       dnsblv6_addr_compare(entry->first, prefix.first) == 0;
}

/* What the sweep over idle exclusions has met: those of one prefix come next to each other. */
struct idle_sweep {
	struct idle_exclusions *idle;
	unsigned part;
	bool has_listed; /* one that reaches to listed_last is listed from before or here on */
	struct dnsblv6_addr listed_last;
	bool has_group;
	struct dnsblv6_prefix group;
	bool is_listed; /* one of the group */
	bool is_excluded;
};

/* A wide prefix is counted in the first of the parts that it is in. */
static bool counts_here(const struct idle_sweep *sweep)
{
	unsigned length = sweep->group.prefix_len - (unsigned)DNSBLV6_IPV4_BASE_LEN;
	return sweep->part == DATASET_PART_IPV6 || length >= 8 ||
	       (sweep->part & ((1u << (8 - length)) - 1)) == 0;
}

static void end_group(struct idle_sweep *sweep)
{
	struct dnsblv6_addr last = dnsblv6_prefix_last(sweep->group);
	if (!sweep->has_group)
		return;
	/* Prefixes nest or are apart: what reaches this one's first address holds it. */
	if (sweep->is_listed &&
	    (!sweep->has_listed || dnsblv6_addr_compare(sweep->listed_last, last) < 0))
		sweep->listed_last = last;
	sweep->has_listed |= sweep->is_listed;
	bool is_held = sweep->has_listed &&
		       dnsblv6_addr_compare(sweep->listed_last, sweep->group.first) >= 0;
	if (!sweep->is_excluded || is_held || !counts_here(sweep))
		return;
	sweep->idle->count++;
	sweep->idle->one = sweep->group;
}

static int add_idle(struct dataset *dataset, unsigned part, struct idle_exclusions *idle)
{
	struct idle_sweep sweep = { .idle = idle, .part = part };
	struct dataset_walk walk = dataset_walk_part(dataset, part);
	struct entry entry;
	int ret = dataset_sort(dataset, part);
	while (ret == DNSBLV6_OK && dataset_next(&walk, &entry)) {
		if (!sweep.has_group || !is_of_prefix(&entry, sweep.group)) {
			end_group(&sweep);
			sweep.has_group = true;
			sweep.group = (struct dnsblv6_prefix){ entry.first, entry.prefix_len };
			sweep.is_listed = false;
			sweep.is_excluded = false;
		}
		sweep.is_excluded |= entry.value == ENTRY_EXCLUDED;
		sweep.is_listed |= entry.value != ENTRY_EXCLUDED;
	}
	end_group(&sweep);
	return ret;
}

int resolve_idle_exclusions(struct dataset *dataset, struct idle_exclusions *ret_idle)
{
	int ret = DNSBLV6_OK;
	for (unsigned part = 0;
	     ret == DNSBLV6_OK && dataset->has_exclusions && part < DATASET_PARTS; part++)
		ret = add_idle(dataset, part, ret_idle);
	return ret;
}

/* The prefixes that hold the point of the sweep, the widest first: prefixes nest or are apart. */
struct sweep {
	struct pieces *pieces;
	struct {
		struct dnsblv6_prefix prefix;
		struct dnsblv6_addr last;
		uint32_t set;
		bool is_excluded;
	} open[129]; /* one for each prefix length there is */
	unsigned open_count;
	struct dnsblv6_addr at;	   /* everything before is in pieces */
	struct dnsblv6_addr limit; /* the last address that is of interest */
	bool has_set;
	uint32_t value; /* with has_set: the one met last, whose set is last_set */
	uint32_t last_set;
};

/* What the innermost open prefix says, from at up to last. */
static int emit(struct sweep *sweep, struct dnsblv6_addr last)
{
	uint32_t set = sweep->open[sweep->open_count - 1].set;
	if (is_less(last, sweep->at))
		return DNSBLV6_OK;
	return pieces_append(sweep->pieces, sweep->at, last, set);
}

static int close_top(struct sweep *sweep)
{
	struct dnsblv6_addr last = sweep->open[sweep->open_count - 1].last;
	int ret = emit(sweep, last);
	sweep->at = dnsblv6_addr_next(last);
	sweep->open_count--;
	/* Behind the last address of all, nothing that is still open has anything left. */
	if (sweep->at.hi == 0 && sweep->at.lo == 0)
		sweep->open_count = 0;
	return ret;
}

static int set_of(struct sweep *sweep, const struct entry *entry, struct set_pool *sets,
		  uint32_t *ret_set)
{
	int ret = DNSBLV6_OK;
	if (sweep->has_set && sweep->value == entry->value) {
		*ret_set = sweep->last_set;
		return DNSBLV6_OK;
	}
	sweep->last_set = DNSBLV6_SET_NONE;
	if (entry->value != ENTRY_EXCLUDED)
		ret = set_pool_add_value(sets, entry->value, &sweep->last_set);
	sweep->has_set = ret == DNSBLV6_OK;
	sweep->value = entry->value;
	*ret_set = sweep->last_set;
	return ret;
}

/* Another entry of the prefix that is innermost. Nothing of it has been emitted yet. */
static int add_duplicate(struct sweep *sweep, const struct entry *entry,
			 enum duplicate_policy policy, struct set_pool *sets)
{
	uint32_t set;
	if (policy == DUPLICATE_FIRST || sweep->open[sweep->open_count - 1].is_excluded)
		return DNSBLV6_OK;
	if (entry->value == ENTRY_EXCLUDED) {
		sweep->open[sweep->open_count - 1].is_excluded = true;
		sweep->open[sweep->open_count - 1].set = DNSBLV6_SET_NONE;
		return DNSBLV6_OK;
	}
	int ret = set_of(sweep, entry, sets, &set);
	if (ret != DNSBLV6_OK)
		return ret;
	return set_pool_unite(sets, sweep->open[sweep->open_count - 1].set, set,
			      &sweep->open[sweep->open_count - 1].set);
}

static int open_prefix(struct sweep *sweep, const struct entry *entry, struct set_pool *sets)
{
	struct dnsblv6_prefix prefix = { entry->first, entry->prefix_len };
	struct dnsblv6_addr last = dnsblv6_prefix_last(prefix);
	uint32_t set;
	int ret = set_of(sweep, entry, sets, &set);
	if (ret == DNSBLV6_OK && sweep->open_count > 0 && is_less(sweep->at, entry->first))
		ret = emit(sweep, dnsblv6_addr_previous(entry->first));
	if (ret != DNSBLV6_OK)
		return ret;
	sweep->open[sweep->open_count].prefix = prefix;
	sweep->open[sweep->open_count].last = is_less(sweep->limit, last) ? sweep->limit : last;
	sweep->open[sweep->open_count].set = set;
	sweep->open[sweep->open_count].is_excluded = entry->value == ENTRY_EXCLUDED;
	sweep->open_count++;
	sweep->at = entry->first;
	return DNSBLV6_OK;
}

static int sweep_entry(struct sweep *sweep, const struct entry *entry, enum duplicate_policy policy,
		       struct set_pool *sets)
{
	while (sweep->open_count > 0 &&
	       is_less(sweep->open[sweep->open_count - 1].last, entry->first)) {
		int ret = close_top(sweep);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	if (sweep->open_count > 0 && is_of_prefix(entry, sweep->open[sweep->open_count - 1].prefix))
		return add_duplicate(sweep, entry, policy, sets);
	return open_prefix(sweep, entry, sets);
}

static struct dnsblv6_addr last_of_part(unsigned part)
{
	uint32_t first = part << PREFIXES_PART_BITS;
	if (part == DATASET_PART_IPV6)
		return (struct dnsblv6_addr){ UINT64_MAX, UINT64_MAX };
	return dnsblv6_addr_from_ipv4(first | ((1u << PREFIXES_PART_BITS) - 1));
}

static int resolve_dataset(struct dataset *dataset, unsigned part, struct set_pool *sets,
			   struct pieces *ret_pieces)
{
	struct sweep sweep = { .pieces = ret_pieces, .limit = last_of_part(part) };
	struct dataset_walk walk = dataset_walk_part(dataset, part);
	struct entry entry;
	int ret = dataset_sort(dataset, part);
	while (ret == DNSBLV6_OK && dataset_next(&walk, &entry))
		ret = sweep_entry(&sweep, &entry, dataset->policy, sets);
	while (ret == DNSBLV6_OK && sweep.open_count > 0)
		ret = close_top(&sweep);
	return ret;
}

/* ---- all datasets of an origin ---- */

/*
 * Pieces of datasets, united in pairs, and these in pairs: level n has those of 2^n datasets, if it
 * is not empty. One behind the other, each dataset would be united with all before it.
 */
struct stack {
	struct pieces levels[32]; /* a listing has fewer datasets than a uint32_t can count */
};

/* added in the place of what is in both, which is earlier. Empties added if that fails, too. */
static int unite_into(struct pieces *earlier, struct pieces *added, struct set_pool *sets)
{
	struct pieces united = { 0 };
	if (earlier->count == 0)
		return DNSBLV6_OK;
	if (added->count == 0) {
		pieces_deinit(added);
		*added = *earlier;
		*earlier = (struct pieces){ 0 };
		return DNSBLV6_OK;
	}
	int ret = unite(earlier, added, sets, &united);
	pieces_deinit(earlier);
	pieces_deinit(added);
	*added = united;
	return ret;
}

/* Takes added, which is not empty. */
static int push(struct stack *stack, struct pieces *added, struct set_pool *sets)
{
	struct pieces *level = stack->levels;
	int ret = DNSBLV6_OK;
	for (; ret == DNSBLV6_OK && level->count > 0; level++)
		ret = unite_into(level, added, sets);
	pieces_deinit(level);
	*level = *added;
	return ret;
}

/* The whole, and an empty stack. */
static int pop_all(struct stack *stack, struct set_pool *sets, struct pieces *ret_pieces)
{
	const size_t count = sizeof(stack->levels) / sizeof(stack->levels[0]);
	int ret = DNSBLV6_OK;
	for (size_t i = 0; i < count; i++) {
		if (ret == DNSBLV6_OK)
			ret = unite_into(&stack->levels[i], ret_pieces, sets);
		pieces_deinit(&stack->levels[i]);
	}
	return ret;
}

static int add_dataset(struct dataset *dataset, unsigned part, struct set_pool *sets,
		       struct stack *stack)
{
	struct pieces own = { 0 };
	int ret = resolve_dataset(dataset, part, sets, &own);
	if (ret == DNSBLV6_OK && own.count > 0)
		return push(stack, &own, sets);
	pieces_deinit(&own);
	return ret;
}

static int resolve_excepted_part(struct listing *listing, unsigned part, struct pieces *ret_changes)
{
	struct set_pool sets = { 0 };
	size_t count = ret_changes->count;
	int ret = set_pool_init(&sets);
	if (ret == DNSBLV6_OK)
		ret = resolve_dataset(&listing->excepted, part, &sets, ret_changes);
	for (size_t i = count; i < ret_changes->count; i++)
		ret_changes->items[i].set = PIECES_REMOVED;
	set_pool_deinit(&sets);
	return ret;
}

int resolve_excepted(struct listing *listing, bool is_ipv4, struct pieces *ret_changes)
{
	unsigned end = is_ipv4 ? DATASET_PART_IPV6 : DATASET_PARTS;
	int ret = DNSBLV6_OK;
	for (unsigned part = is_ipv4 ? 0 : DATASET_PART_IPV6; ret == DNSBLV6_OK && part < end;
	     part++)
		ret = resolve_excepted_part(listing, part, ret_changes);
	return ret;
}

static int remove_excepted(struct listing *listing, unsigned part, struct pieces *pieces)
{
	struct pieces excepted = { 0 };
	struct pieces rest = { 0 };
	int ret = resolve_excepted_part(listing, part, &excepted);
	if (ret == DNSBLV6_OK)
		ret = pieces_change(pieces, &excepted, DNSBLV6_SET_NONE, &rest);
	pieces_deinit(&excepted);
	return replace(pieces, &rest, ret);
}

static int resolve_lists(struct listing *listing, uint16_t origin, unsigned part,
			 struct set_pool *sets, struct pieces *ret_pieces)
{
	const struct connected *connected = listing_connected(listing, origin);
	struct stack stack = { 0 };
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < connected->count; i++)
		ret = add_dataset(&listing->datasets[connected->datasets[i]], part, sets, &stack);
	int popped = pop_all(&stack, sets, ret_pieces);
	ret = ret == DNSBLV6_OK ? popped : ret;
	bool has_excepted =
		listing->excepted.entry_count > 0 || listing->excepted.ipv4.parts != NULL;
	if (ret == DNSBLV6_OK && has_excepted && origin != DNSBLV6_ORIGIN_ACL)
		ret = remove_excepted(listing, part, ret_pieces);
	return ret;
}

int pieces_append_ipv6(struct pieces *pieces, const struct dnsblv6_segment *piece)
{
	static const struct dnsblv6_addr before = { 0, 0xfffeffffffff };
	static const struct dnsblv6_addr behind = { 0, 0x1000000000000 };
	bool ends_before = !is_less(before, piece->last);
	bool starts_behind = !is_less(piece->first, behind);
	int ret = DNSBLV6_OK;

	if (ends_before || starts_behind)
		return pieces_append(pieces, piece->first, piece->last, piece->set);
	if (!is_less(before, piece->first))
		ret = pieces_append(pieces, piece->first, before, piece->set);
	if (ret == DNSBLV6_OK && !is_less(piece->last, behind))
		ret = pieces_append(pieces, behind, piece->last, piece->set);
	return ret;
}

int resolve_part(struct listing *listing, uint16_t origin, unsigned part, struct set_pool *sets,
		 struct pieces *ret_pieces)
{
	struct pieces ipv6 = { 0 };
	if (part != DATASET_PART_IPV6)
		return resolve_lists(listing, origin, part, sets, ret_pieces);
	int ret = resolve_lists(listing, origin, part, sets, &ipv6);
	for (size_t i = 0; ret == DNSBLV6_OK && i < ipv6.count; i++)
		ret = pieces_append_ipv6(ret_pieces, &ipv6.items[i]);
	pieces_deinit(&ipv6);
	return ret;
}

int resolve_origin(struct listing *listing, uint16_t origin, struct set_pool *sets,
		   struct pieces *ret_pieces)
{
	int ret = DNSBLV6_OK;
	for (unsigned part = 0; ret == DNSBLV6_OK && part < DATASET_PARTS; part++) {
		struct pieces pieces = { 0 };
		ret = resolve_part(listing, origin, part, sets, &pieces);
		if (ret == DNSBLV6_OK)
			ret = pieces_append_all(ret_pieces, &pieces);
		pieces_deinit(&pieces);
	}
	return ret;
}
