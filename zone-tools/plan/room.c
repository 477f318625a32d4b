/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/room.h"

#include "zone-tools/plan/classic.h"
#include "zone-tools/plan/tree.h"
#include "zone-tools/records/apex.h"

#include "lib/format/wellknown.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- of a plan ---- */

static int count_block(void *context, const struct tree_name *name)
{
	(void)name;
	++*(uint64_t *)context;
	return DNSBLV6_OK;
}

/* Flat blocks may be too many to walk. */
static void count_part(const struct plan *plan, uint16_t origin, unsigned number,
		       enum dnsblv6_style style, uint64_t *count)
{
	struct plan_part part = { 0 };
	int ret = plan_load(plan, origin, number, &part);
	const struct ranges *ranges = number == DATASET_PART_IPV6 ? &part.ipv6 : &part.ipv4;
	if (ret == DNSBLV6_OK && dnsblv6_style_asked(style, ranges->is_ipv4) == DNSBLV6_STYLE_FLAT)
		*count += ranges_block_count(ranges);
	if (ret == DNSBLV6_OK && style != DNSBLV6_STYLE_FLAT)
		(void)tree_walk(ranges, DNSBLV6_STYLE_DOTTED, count_block, count);
	plan_part_deinit(&part);
}

static int count_name(void *context, const struct classic_name *name)
{
	(void)name;
	++*(uint64_t *)context;
	return DNSBLV6_OK;
}

/* The names of one list, its metadata among them. */
static uint64_t count_origin(const struct plan *plan, uint16_t origin, enum dnsblv6_style style)
{
	struct pieces pieces = { 0 };
	uint64_t count = 0;
	if (style == DNSBLV6_STYLE_CLASSIC) {
		if (plan_load_pieces(plan, origin, &pieces) == DNSBLV6_OK)
			(void)classic_walk(&pieces, count_name, &count);
		pieces_deinit(&pieces);
		return count;
	}
	for (unsigned part = 0; part < DATASET_PARTS; part++)
		count_part(plan, origin, part, style, &count);
	return 1 + count;
}

/*
 * No style of bitmaps has more names than blocks that list something, but for those of the format; and
 * where a zone has both, twice as many.
 */
static bool has_room_surely(const struct plan *plan, const struct spec *spec, uint64_t max_records)
{
	uint64_t own = 1 + DNSBLV6_TESTPOINT_COUNT + DNSBLV6_CANARY_COUNT;
	uint64_t most = 1 + 2 * (plan->counts.blocks + plan->origin_count * own) +
			plan->names.count + spec->ns_count;
	return spec->style != DNSBLV6_STYLE_CLASSIC && most <= max_records;
}

/* The records that builder.h would write. */
static uint64_t count_records(const struct plan *plan, const struct spec *spec)
{
	const struct names_plan *names = &plan->names;
	struct dnsblv6_labels glue;
	bool has_apex = names->count > 0 && names->items[0].key_size == 0;
	uint64_t count = 1 + names->count - has_apex;
	for (size_t i = 0; i < plan->origin_count; i++)
		count += count_origin(plan, (uint16_t)i, spec->style);
	for (size_t i = 0; i < spec->ns_count; i++)
		count += apex_glue_name(spec, i, &glue);
	return count;
}

/* ---- of a list ---- */

/* About: entries of one block are counted one by one, and a dotted prefix as one name. */
static double weigh_entry(const struct entry *entry, enum dnsblv6_style style)
{
	bool is_ipv4 = dnsblv6_addr_is_ipv4(entry->first);
	int block_len = is_ipv4 ? 96 + 25 : 57;
	if (entry->value == ENTRY_EXCLUDED)
		return 0;
	if (dnsblv6_style_asked(style, is_ipv4) != DNSBLV6_STYLE_FLAT ||
	    entry->prefix_len >= block_len)
		return 1;
	return ldexp(1, block_len - entry->prefix_len);
}

static double weigh_list(const struct dataset *dataset, enum dnsblv6_style style,
			 struct entry *ret_widest)
{
	struct dataset_walk walk = dataset_walk_all(dataset);
	struct entry entry;
	double all = (double)dataset->name_count;
	double most = 0;
	while (dataset_next(&walk, &entry)) {
		double weight = weigh_entry(&entry, style);
		all += weight;
		if (weight <= most)
			continue;
		most = weight;
		*ret_widest = entry;
	}
	return all * (double)dataset->origin_count;
}

static const struct dataset *find_largest(const struct listing *listing, enum dnsblv6_style style,
					  struct entry *ret_widest)
{
	const struct dataset *largest = NULL;
	double most = 0;
	for (size_t i = 0; i < listing->dataset_count; i++) {
		const struct dataset *dataset = &listing->datasets[i];
		struct entry widest = { 0 };
		bool is_acl =
			dataset->origin_count > 0 && dataset->origins[0] == DNSBLV6_ORIGIN_ACL;
		double weight = is_acl ? 0 : weigh_list(dataset, style, &widest);
		if (weight <= most)
			continue;
		most = weight;
		largest = dataset;
		*ret_widest = widest;
	}
	return largest;
}

/* ---- both ---- */

void room_check_values(const struct plan *plan, enum dnsblv6_style style, struct findings *findings)
{
	bool is_classic = style == DNSBLV6_STYLE_CLASSIC;
	size_t permitted = is_classic ? NAMES_SOURCES_MAX : DNSBLV6_SET_VALUES_MAX;
	size_t count = plan->most_values.count;
	char what[80];
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	if (count <= permitted)
		return;
	snprintf(what, sizeof(what), "zone would have too many values for one address, values=%zu",
		 count);
	size_t size = dnsblv6_addr_format(plan->most_values.addr, text);
	findings_add(findings, FINDING_REFUSAL, (struct findings_place){ .file = NULL }, what, text,
		     size,
		     is_classic ? "more than 48 values for one address of a classic zone"
				: "more than 255 values for one address");
}

void room_check(const struct plan *plan, const struct listing *listing, const struct spec *spec,
		uint64_t max_records, struct findings *findings)
{
	char what[120];
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	struct entry widest = { 0 };
	room_check_values(plan, spec->style, findings);
	if (has_room_surely(plan, spec, max_records))
		return;
	uint64_t count = count_records(plan, spec);
	if (count <= max_records)
		return;
	const struct dataset *largest = find_largest(listing, spec->style, &widest);
	struct findings_place place = { largest != NULL ? largest->list : NULL, 0 };
	snprintf(what, sizeof(what),
		 "zone would have too many records, records=%" PRIu64 " permitted=%" PRIu64, count,
		 max_records);
	if (widest.prefix_len == 0 ||
	    dnsblv6_style_asked(spec->style, dnsblv6_addr_is_ipv4(widest.first)) !=
		    DNSBLV6_STYLE_FLAT) {
		findings_add(findings, FINDING_REFUSAL, place, what, NULL, 0,
			     "most are of this list; see --max-records");
		return;
	}
	struct dnsblv6_prefix prefix = { widest.first, widest.prefix_len };
	size_t size = dnsblv6_prefix_format(prefix, text);
	findings_add(findings, FINDING_REFUSAL, place, what, text, size,
		     "most are of this list, and this is its widest prefix: flat names spell out "
		     "every /25 and /57; see --max-records");
}
