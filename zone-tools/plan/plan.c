/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/plan.h"

#include "zone-tools/base/array.h"

#include "lib/format/wellknown.h"

#include <errno.h>
#include <stdlib.h>

void plan_deinit(struct plan *plan)
{
	for (size_t i = 0; i < plan->origin_count; i++)
		plan_origin_deinit(&plan->origins[i]);
	free(plan->origins);
	names_deinit(&plan->names);
	pieces_deinit(&plan->clients);
	set_pool_deinit(&plan->sets);
	*plan = (struct plan){ 0 };
}

/* The set that the most pieces have: segments then say only what differs from it. */
static int choose_default(struct plan *plan, struct plan_origin *origin)
{
	const struct dnsblv6_value plain = { .a = LISTING_A_DEFAULT, .ttl = LISTING_TTL_DEFAULT };
	uint32_t value;
	size_t *uses = calloc(plan->sets.count, sizeof(*uses));
	if (uses == NULL)
		return -ENOMEM;
	uint32_t best = DNSBLV6_SET_NONE;
	for (size_t i = 0; i < origin->pieces.count; i++)
		uses[origin->pieces.items[i].set]++;
	for (uint32_t set = 1; set < plan->sets.count; set++) {
		if (uses[set] > uses[best])
			best = set;
	}
	free(uses);
	origin->default_set = best;
	if (best != DNSBLV6_SET_NONE)
		return DNSBLV6_OK;
	int ret = value_pool_add(plan->pool, &plain, &value);
	return ret == DNSBLV6_OK ? set_pool_add_value(&plan->sets, value, &origin->default_set)
				 : ret;
}

/* The whole space has both families; but ::/16, which has ::ffff:0:0/96 in it, is IPv6 alone. */
static bool is_inside(struct dnsblv6_prefix prefix, struct dnsblv6_addr addr)
{
	return dnsblv6_prefix_contains(prefix, addr) &&
	       (prefix.prefix_len == 0 ||
		dnsblv6_prefix_is_ipv4(prefix) == dnsblv6_addr_is_ipv4(addr));
}

int plan_add_testpoints(struct plan_origin *origin, struct dnsblv6_prefix inside)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < DNSBLV6_TESTPOINT_COUNT; i++) {
		const struct dnsblv6_testpoint *point = dnsblv6_testpoint_get(i);
		struct dnsblv6_prefix unit = dnsblv6_unit_of(point->addr);
		if (point->is_listed && is_inside(inside, point->addr))
			ret = pieces_add_missing(&origin->pieces, unit.first,
						 dnsblv6_prefix_last(unit), origin->default_set);
	}
	return ret;
}

static int add_canaries(struct plan_origin *origin, struct dnsblv6_prefix inside)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
		const struct dnsblv6_canary *canary = dnsblv6_canary_get(i);
		uint64_t first = dnsblv6_addr_ipv4(canary->block);
		if (!is_inside(inside, canary->block))
			continue;
		for (unsigned host = 0; ret == DNSBLV6_OK && host < DNSBLV6_BITMAP_HOSTS; host++) {
			if (dnsblv6_bitmap_get(&canary->map, host))
				ret = ranges_add(&origin->ipv4, first + host, first + host);
		}
	}
	return ret;
}

static int fill_ranges(struct plan_origin *origin)
{
	int ret = ranges_add_pieces(&origin->ipv4, &origin->pieces);
	if (ret == DNSBLV6_OK)
		ret = ranges_add_pieces(&origin->ipv6, &origin->pieces);
	ranges_normalise(&origin->ipv4);
	ranges_normalise(&origin->ipv6);
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
		ret = pieces_remove(pieces, block.first, dnsblv6_prefix_last(block));
	}
	return ret;
}

void plan_origin_deinit(struct plan_origin *origin)
{
	pieces_deinit(&origin->pieces);
	ranges_deinit(&origin->ipv4);
	ranges_deinit(&origin->ipv6);
}

int plan_count(struct plan_origin *origin, struct plan_counts *ret_counts)
{
	origin->ipv4.is_ipv4 = true;
	int ret = clear_canaries(&origin->pieces);
	if (ret == DNSBLV6_OK)
		ret = fill_ranges(origin);
	if (ret != DNSBLV6_OK)
		return ret;
	origin->lists_ipv4 = origin->ipv4.count > 0;
	origin->lists_ipv6 = origin->ipv6.count > 0;
	ret_counts->has_clear_point |= lists_clear_point(&origin->pieces);
	ret_counts->ipv4 += ranges_unit_count(&origin->ipv4);
	ret_counts->ipv6 += ranges_unit_count(&origin->ipv6);
	ret_counts->blocks += ranges_block_count(&origin->ipv4) + ranges_block_count(&origin->ipv6);
	return DNSBLV6_OK;
}

int plan_complete(struct plan_origin *origin, struct dnsblv6_prefix inside)
{
	int ret = plan_add_testpoints(origin, inside);
	if (ret == DNSBLV6_OK)
		ret = add_canaries(origin, inside);
	return ret == DNSBLV6_OK ? fill_ranges(origin) : ret;
}

/* Counts come first, from the list alone; then the format's own entries join. */
static int make_origin(struct plan *plan, const struct listing *listing, uint16_t number)
{
	static const struct dnsblv6_prefix everywhere = { { 0, 0 }, 0 };
	struct plan_origin *origin = &plan->origins[number];
	int ret = resolve_origin(listing, number, &plan->sets, &origin->pieces);
	if (ret == DNSBLV6_OK)
		ret = plan_count(origin, &plan->counts);
	if (ret == DNSBLV6_OK)
		ret = choose_default(plan, origin);
	return ret == DNSBLV6_OK ? plan_complete(origin, everywhere) : ret;
}

int plan_make(struct listing *listing, struct plan *ret_plan)
{
	*ret_plan = (struct plan){ .pool = &listing->pool };
	ret_plan->origins = calloc(listing->origin_count, sizeof(*ret_plan->origins));
	if (ret_plan->origins == NULL)
		return -ENOMEM;
	ret_plan->origin_count = listing->origin_count;
	int ret = set_pool_init(&ret_plan->sets);
	for (size_t i = 0; ret == DNSBLV6_OK && i < listing->origin_count; i++)
		ret = make_origin(ret_plan, listing, (uint16_t)i);
	if (ret == DNSBLV6_OK && listing->has_acl)
		ret = resolve_origin(listing, DNSBLV6_ORIGIN_ACL, &ret_plan->sets,
				     &ret_plan->clients);
	return ret;
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
