/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/plan.h"

#include "lib/format/array.h"
#include "lib/format/wellknown.h"

#include <errno.h>
#include <stdlib.h>

void plan_deinit(struct plan *plan)
{
	free(plan->origins);
	names_deinit(&plan->names);
	pieces_deinit(&plan->clients);
	if (plan->sets != NULL)
		set_pool_deinit(plan->sets);
	free(plan->sets);
	free(plan->is_used);
	*plan = (struct plan){ 0 };
}

/* How many pieces have each set, while an origin's parts are counted. */
struct uses {
	struct plan *plan; /* that notes the most values; NULL: none */
	size_t *counts;
	size_t capacity;
	bool has_last; /* the piece met last, which may go on in the next part */
	struct dnsblv6_segment last;
};

static void note_values(struct plan *plan, const struct dnsblv6_segment *piece)
{
	size_t count;
	(void)set_pool_members(plan->sets, piece->set, &count);
	if (count <= plan->most_values.count)
		return;
	plan->most_values.count = count;
	plan->most_values.addr = piece->first;
}

static int add_use(struct uses *uses, const struct dnsblv6_segment *piece)
{
	size_t known = uses->capacity;
	if (!array_reserve(uses->counts, (size_t)piece->set + 1, &uses->capacity))
		return -ENOMEM;
	for (; known < uses->capacity; known++)
		uses->counts[known] = 0;
	bool goes_on = uses->has_last && uses->last.set == piece->set &&
		       dnsblv6_addr_compare(dnsblv6_addr_next(uses->last.last), piece->first) == 0;
	if (uses->plan != NULL && uses->counts[piece->set] == 0)
		note_values(uses->plan, piece);
	uses->counts[piece->set] += !goes_on;
	uses->last = *piece;
	uses->has_last = true;
	return DNSBLV6_OK;
}

static int add_uses(struct uses *uses, const struct pieces *pieces)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces->count; i++)
		ret = add_use(uses, &pieces->items[i]);
	return ret;
}

/* The set that the most pieces have: segments then say only what differs from it. */
static int choose_default(struct plan *plan, const struct uses *uses, struct plan_origin *origin)
{
	const struct dnsblv6_value plain = { .a = LISTING_A_DEFAULT, .ttl = LISTING_TTL_DEFAULT };
	uint32_t value;
	uint32_t best = DNSBLV6_SET_NONE;
	size_t used_count = 0;
	for (uint32_t set = 1; set < uses->capacity; set++) {
		used_count += uses->counts[set] > 0;
		if (uses->counts[set] > (best == DNSBLV6_SET_NONE ? 0 : uses->counts[best]))
			best = set;
	}
	origin->has_segments = used_count > 1;
	origin->default_set = best;
	if (best != DNSBLV6_SET_NONE)
		return DNSBLV6_OK;
	int ret = value_pool_add(&plan->listing->pool, &plain, &value);
	return ret == DNSBLV6_OK ? set_pool_add_value(plan->sets, value, &origin->default_set)
				 : ret;
}

/* The whole space has both families; but ::/16, which has ::ffff:0:0/96 in it, is IPv6 alone. */
static bool is_inside(struct dnsblv6_prefix prefix, struct dnsblv6_addr addr)
{
	return dnsblv6_prefix_contains(prefix, addr) &&
	       (prefix.prefix_len == 0 ||
		dnsblv6_prefix_is_ipv4(prefix) == dnsblv6_addr_is_ipv4(addr));
}

int plan_add_testpoints(struct plan_part *part, struct dnsblv6_prefix inside)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < DNSBLV6_TESTPOINT_COUNT; i++) {
		const struct dnsblv6_testpoint *point = dnsblv6_testpoint_get(i);
		struct dnsblv6_prefix unit = dnsblv6_unit_of(point->addr);
		if (point->is_listed && is_inside(inside, point->addr))
			ret = pieces_add_missing(&part->pieces, unit.first,
						 dnsblv6_prefix_last(unit), part->default_set);
	}
	return ret;
}

static int add_canaries(struct plan_part *part, struct dnsblv6_prefix inside)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < DNSBLV6_CANARY_COUNT; i++) {
		const struct dnsblv6_canary *canary = dnsblv6_canary_get(i);
		if (is_inside(inside, canary->block))
			ret = ranges_add_block(&part->ipv4, dnsblv6_block_of(canary->block),
					       &canary->map);
	}
	return ret;
}

static int fill_ranges(struct plan_part *part)
{
	int ret = ranges_add_pieces(&part->ipv4, &part->pieces);
	if (ret == DNSBLV6_OK)
		ret = ranges_add_pieces(&part->ipv6, &part->pieces);
	ranges_normalise(&part->ipv4);
	ranges_normalise(&part->ipv6);
	return ret;
}

/* A bit is one of a whole unit: any address in that of the point makes it listed. */
static bool lists_clear_point(const struct pieces *pieces)
{
	for (size_t i = 0; i < DNSBLV6_TESTPOINT_COUNT; i++) {
		const struct dnsblv6_testpoint *point = dnsblv6_testpoint_get(i);
		struct dnsblv6_prefix unit = dnsblv6_unit_of(point->addr);
		size_t at = pieces_index(pieces, unit.first);
		if (point->is_listed || at == pieces->count)
			continue;
		struct dnsblv6_addr first = pieces->items[at].first;
		if (dnsblv6_addr_is_ipv4(first) == dnsblv6_prefix_is_ipv4(unit) &&
		    dnsblv6_addr_compare(first, dnsblv6_prefix_last(unit)) <= 0)
			return true;
	}
	return false;
}

/* Canaries have one value for ever: what a list says about their blocks does not count. */
static int clear_canaries(struct pieces *pieces)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < DNSBLV6_CANARY_COUNT; i++) {
		struct dnsblv6_prefix block = dnsblv6_block_of(dnsblv6_canary_get(i)->block);
		struct dnsblv6_addr last = dnsblv6_prefix_last(block);
		size_t at = pieces_index(pieces, block.first);
		if (at == pieces->count || !dnsblv6_addr_is_ipv4(pieces->items[at].first) ||
		    dnsblv6_addr_compare(pieces->items[at].first, last) > 0)
			continue;
		ret = pieces_remove(pieces, block.first, last);
	}
	return ret;
}

static void add_count(uint64_t *count, uint64_t more)
{
	*count = more > UINT64_MAX - *count ? UINT64_MAX : *count + more;
}

void plan_counts_add(struct plan_counts *counts, const struct plan_counts *more)
{
	add_count(&counts->ipv4, more->ipv4);
	add_count(&counts->ipv6, more->ipv6);
	add_count(&counts->blocks, more->blocks);
	counts->has_clear_point |= more->has_clear_point;
}

void plan_part_deinit(struct plan_part *part)
{
	pieces_deinit(&part->pieces);
	ranges_deinit(&part->ipv4);
	ranges_deinit(&part->ipv6);
}

int plan_count(struct plan_part *part, struct plan_counts *ret_counts)
{
	part->ipv4.is_ipv4 = true;
	int ret = clear_canaries(&part->pieces);
	if (ret == DNSBLV6_OK)
		ret = fill_ranges(part);
	if (ret != DNSBLV6_OK)
		return ret;
	part->lists_ipv4 = part->ipv4.count > 0;
	part->lists_ipv6 = part->ipv6.count > 0;
	const struct plan_counts counts = {
		.ipv4 = ranges_unit_count(&part->ipv4),
		.ipv6 = ranges_unit_count(&part->ipv6),
		.blocks = ranges_block_count(&part->ipv4) + ranges_block_count(&part->ipv6),
		.has_clear_point = lists_clear_point(&part->pieces),
	};
	plan_counts_add(ret_counts, &counts);
	return DNSBLV6_OK;
}

int plan_complete(struct plan_part *part, struct dnsblv6_prefix inside)
{
	int ret = plan_add_testpoints(part, inside);
	if (ret == DNSBLV6_OK)
		ret = add_canaries(part, inside);
	return ret == DNSBLV6_OK ? fill_ranges(part) : ret;
}

/* ---- part by part ---- */

/* Of IPv6 the half that all of its test points are in: an IPv6 prefix has no IPv4. */
static struct dnsblv6_prefix prefix_of_part(unsigned part)
{
	if (part == DATASET_PART_IPV6)
		return (struct dnsblv6_prefix){ { 0, 0 }, 1 };
	return dnsblv6_prefix_make(dnsblv6_addr_from_ipv4(part << PREFIXES_PART_BITS),
				   DNSBLV6_IPV4_BASE_LEN + 8);
}

bool plan_has_points(unsigned part)
{
	struct dnsblv6_prefix inside = prefix_of_part(part);
	bool is_found = false;
	for (size_t i = 0; i < DNSBLV6_TESTPOINT_COUNT; i++)
		is_found |= is_inside(inside, dnsblv6_testpoint_get(i)->addr);
	for (size_t i = 0; i < DNSBLV6_CANARY_COUNT; i++)
		is_found |= is_inside(inside, dnsblv6_canary_get(i)->block);
	return is_found;
}

bool plan_has_names(const struct plan *plan, uint16_t origin, unsigned part)
{
	const uint64_t *parts = plan->origins[origin].parts;
	return (parts[part / 64] >> (part % 64) & 1) != 0 || plan_has_points(part);
}

int plan_load(const struct plan *plan, uint16_t origin, unsigned part, struct plan_part *ret_part)
{
	struct plan_counts counts = { 0 };
	int ret = resolve_part(plan->listing, origin, part, plan->sets, &ret_part->pieces);
	ret_part->default_set = plan->origins[origin].default_set;
	if (ret == DNSBLV6_OK)
		ret = plan_count(ret_part, &counts);
	if (ret != DNSBLV6_OK || !plan_has_points(part))
		return ret;
	return plan_complete(ret_part, prefix_of_part(part));
}

int plan_load_pieces(const struct plan *plan, uint16_t origin, struct pieces *ret_pieces)
{
	int ret = DNSBLV6_OK;
	for (unsigned i = 0; ret == DNSBLV6_OK && i < DATASET_PARTS; i++) {
		struct plan_part part = { 0 };
		ret = plan_load(plan, origin, i, &part);
		if (ret == DNSBLV6_OK)
			ret = pieces_append_all(ret_pieces, &part.pieces);
		plan_part_deinit(&part);
	}
	return ret;
}

int plan_walk_part(const struct plan *plan, uint16_t origin, unsigned number,
		   enum dnsblv6_style style, tree_fn fn, void *context)
{
	struct plan_part part = { 0 };
	int ret = plan_load(plan, origin, number, &part);
	if (ret == DNSBLV6_OK)
		ret = tree_walk(number == DATASET_PART_IPV6 ? &part.ipv6 : &part.ipv4, style, fn,
				context);
	plan_part_deinit(&part);
	return ret;
}

/* No name stands for more than a /8: the parts of IPv4 are the top of its tree. */
int plan_walk(const struct plan *plan, uint16_t origin, bool is_ipv4, enum dnsblv6_style style,
	      tree_fn fn, void *context)
{
	uint8_t octets[TREE_OCTETS];
	int ret = DNSBLV6_OK;
	if (!is_ipv4)
		return plan_walk_part(plan, origin, DATASET_PART_IPV6, style, fn, context);
	tree_fill_order(octets);
	for (unsigned i = 0; ret == DNSBLV6_OK && i < TREE_OCTETS; i++)
		ret = plan_walk_part(plan, origin, style == DNSBLV6_STYLE_FLAT ? i : octets[i],
				     style, fn, context);
	return ret;
}

/* ---- the plan ---- */

static int count_part(struct plan *plan, uint16_t number, unsigned index, struct uses *uses)
{
	struct plan_origin *origin = &plan->origins[number];
	struct plan_part part = { 0 };
	int ret = resolve_part(plan->listing, number, index, plan->sets, &part.pieces);
	if (ret == DNSBLV6_OK)
		ret = plan_count(&part, &plan->counts);
	if (ret == DNSBLV6_OK)
		ret = add_uses(uses, &part.pieces);
	if (part.ipv4.count > 0)
		origin->parts[index / 64] |= (uint64_t)1 << (index % 64);
	origin->lists_ipv4 |= part.lists_ipv4;
	origin->lists_ipv6 |= part.lists_ipv6;
	plan_part_deinit(&part);
	return ret;
}

/* Known when the sets of all origins are. */
static int mark_used(struct plan *plan, const struct uses *uses)
{
	bool *grown = realloc(plan->is_used, plan->sets->count * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	plan->is_used = grown;
	for (size_t set = plan->used_count; set < plan->sets->count; set++)
		grown[set] = false;
	plan->used_count = plan->sets->count;
	for (size_t set = 0; set < plan->sets->count && set < uses->capacity; set++)
		grown[set] |= uses->counts[set] > 0;
	return DNSBLV6_OK;
}

/* Counts come first, from the list alone; then the format's own entries join. */
static int make_origin(struct plan *plan, uint16_t number)
{
	struct uses uses = { .plan = plan };
	int ret = DNSBLV6_OK;
	for (unsigned part = 0; ret == DNSBLV6_OK && part < DATASET_PARTS; part++)
		ret = count_part(plan, number, part, &uses);
	if (ret == DNSBLV6_OK)
		ret = choose_default(plan, &uses, &plan->origins[number]);
	if (ret == DNSBLV6_OK)
		ret = mark_used(plan, &uses);
	if (ret == DNSBLV6_OK)
		plan->is_used[plan->origins[number].default_set] = true;
	free(uses.counts);
	return ret;
}

static int resolve_clients(struct plan *plan)
{
	struct uses uses = { 0 };
	int ret = resolve_origin(plan->listing, DNSBLV6_ORIGIN_ACL, plan->sets, &plan->clients);
	if (ret == DNSBLV6_OK)
		ret = add_uses(&uses, &plan->clients);
	if (ret == DNSBLV6_OK)
		ret = mark_used(plan, &uses);
	free(uses.counts);
	return ret;
}

int plan_make(struct listing *listing, struct plan *ret_plan)
{
	*ret_plan = (struct plan){ .listing = listing,
				   .counts = { .clear_point = listing->clear_point } };
	ret_plan->origins = calloc(listing->origin_count, sizeof(*ret_plan->origins));
	ret_plan->sets = calloc(1, sizeof(*ret_plan->sets));
	if (ret_plan->origins == NULL || ret_plan->sets == NULL)
		return -ENOMEM;
	ret_plan->origin_count = listing->origin_count;
	int ret = set_pool_init(ret_plan->sets);
	for (size_t i = 0; ret == DNSBLV6_OK && i < listing->origin_count; i++)
		ret = make_origin(ret_plan, (uint16_t)i);
	return ret == DNSBLV6_OK && listing->has_acl ? resolve_clients(ret_plan) : ret;
}

int plan_add_names(struct plan *plan, struct listing *listing, const struct spec *spec,
		   struct findings *findings)
{
	if (listing->has_acl && listing->dataset_count == 1)
		findings_add(findings, FINDING_REFUSAL, (struct findings_place){ .file = NULL },
			     "zone refused", NULL, 0, "an acl alone lists nothing");
	int ret = names_make(listing, spec, findings, &plan->names);
	plan->counts.names = plan->names.listed_count;
	return ret;
}
