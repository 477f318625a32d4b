/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/changes.h"

#include "zone-tools/lists/plain.h"

#include <string.h>
#include <unistd.h>

/* Of a change: one source adds it, and another one removes it. */
#define PIECES_CONTRADICT (PIECES_ADDED | PIECES_REMOVED)

/* ---- reading ---- */

/* Something that is neither is refused as an address would be. */
static bool is_file(const char *text, const struct sources_options *options)
{
	struct plain_entry entry;
	if (plain_parse(text, strlen(text), options, &entry) == NULL)
		return false;
	return strcmp(text, "-") == 0 || strchr(text, '/') == text || access(text, F_OK) == 0;
}

static int read_source(const struct change_source *source, struct listing *listing,
		       const struct sources_options *options, struct findings *findings)
{
	struct sources_options own = *options;
	own.is_removal = source->is_removal; /* what should not be listed may go */
	if (is_file(source->text, &own))
		return sources_read_plain(listing, source->text, &own, findings);
	return sources_read_entry(listing, source->text, source->is_removal ? "--remove" : "--add",
				  &own, findings);
}

/* ---- all sources ---- */

/*
 * A value is the length of the prefix by which a source speaks of an address, and whether it removes it:
 * of the values that an address has the greatest decides.
 */
static uint32_t make_value(uint8_t prefix_len, bool is_removal)
{
	return 2U * prefix_len + is_removal;
}

static int add_entries(struct dataset *dataset, const struct dataset *from, bool is_removal)
{
	struct dataset_walk walk = dataset_walk_all(from);
	struct entry entry;
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && dataset_next(&walk, &entry)) {
		struct dnsblv6_prefix prefix = { entry.first, entry.prefix_len };
		uint32_t value = make_value(entry.prefix_len, is_removal);
		ret = dataset_add_entry(dataset, prefix,
					entry.value == ENTRY_EXCLUDED ? ENTRY_EXCLUDED : value);
	}
	return ret;
}

static int begin_dataset(struct listing *all, struct dataset **ret_dataset)
{
	int ret = listing_add_dataset(all, DUPLICATE_ALL, ret_dataset);
	return ret == DNSBLV6_OK ? listing_connect(all, 0) : ret;
}

/* Exclusions are for their own source; what has none goes into the first dataset, as there may be many. */
static int add_source(struct listing *all, const struct dataset *from, bool is_removal)
{
	struct dataset *dataset = all->datasets;
	int ret = from->has_exclusions ? begin_dataset(all, &dataset) : DNSBLV6_OK;
	return ret == DNSBLV6_OK ? add_entries(dataset, from, is_removal) : ret;
}

static int read_into(const struct change_source *source, const struct sources_options *options,
		     struct findings *findings, struct listing *all)
{
	struct listing listing;
	int ret = listing_init(&listing);
	if (ret == DNSBLV6_OK)
		ret = read_source(source, &listing, options, findings);
	for (size_t i = 0; ret == DNSBLV6_OK && i < listing.dataset_count; i++)
		ret = add_source(all, &listing.datasets[i], source->is_removal);
	if (all->written_s < listing.written_s)
		all->written_s = listing.written_s;
	listing_deinit(&listing);
	return ret;
}

/* Which of the values of a set decides; those of one length are neighbours. */
static uint32_t decide(const struct set_pool *sets, uint32_t set)
{
	size_t count;
	const uint32_t *values = set_pool_members(sets, set, &count);
	uint32_t greatest = values[count - 1];
	if (count > 1 && values[count - 2] / 2 == greatest / 2)
		return PIECES_CONTRADICT;
	return greatest % 2 != 0 ? PIECES_REMOVED : PIECES_ADDED;
}

static int resolve_sources(struct listing *all, struct pieces *ret_changes)
{
	struct set_pool sets = { 0 };
	struct pieces pieces = { 0 };
	int ret = set_pool_init(&sets);
	if (ret == DNSBLV6_OK)
		ret = resolve_origin(all, 0, &sets, &pieces);
	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces.count; i++)
		ret = pieces_append(ret_changes, pieces.items[i].first, pieces.items[i].last,
				    decide(&sets, pieces.items[i].set));
	pieces_deinit(&pieces);
	set_pool_deinit(&sets);
	return ret;
}

static void refuse_contradictions(const struct pieces *changes, struct findings *findings)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct dnsblv6_segment *change = &changes->items[i];
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		if (change->set != PIECES_CONTRADICT)
			continue;
		dnsblv6_prefix_format(dnsblv6_prefix_of_range(change->first, change->last), text);
		findings_add(findings, FINDING_REFUSAL, (struct findings_place){ .file = NULL },
			     "change refused", text, strlen(text), "both added and removed");
	}
}

/* Adds the changes of one family, and that the excepted rest of it is removed. */
static int add_family(struct listing *all, bool is_ipv4, const struct pieces *changes,
		      struct pieces *result)
{
	struct pieces excepted = { 0 };
	struct pieces made = { 0 };
	int ret = resolve_excepted(all, is_ipv4, &excepted);
	/* A change of the changes: where they say nothing, it adds that all is removed. */
	for (size_t i = 0; i < excepted.count; i++)
		excepted.items[i].set = PIECES_ADDED;
	if (ret == DNSBLV6_OK)
		ret = pieces_change(changes, &excepted, PIECES_REMOVED, &made);
	if (ret == DNSBLV6_OK)
		ret = pieces_append_all(result, &made);
	pieces_deinit(&excepted);
	pieces_deinit(&made);
	return ret;
}

/* What is never listed is no more, whether a source speaks of it or not. */
static int remove_excepted(struct listing *all, struct pieces *changes)
{
	const struct dnsblv6_addr least = { 0, 0 };
	const struct pieces ipv4 = { changes->items, pieces_index(changes, least), 0 };
	const size_t rest = changes->count - ipv4.count;
	const struct pieces ipv6 = { rest > 0 ? changes->items + ipv4.count : NULL, rest, 0 };
	struct pieces result = { 0 };
	int ret = add_family(all, true, &ipv4, &result);
	if (ret == DNSBLV6_OK)
		ret = add_family(all, false, &ipv6, &result);
	pieces_deinit(ret == DNSBLV6_OK ? changes : &result);
	if (ret == DNSBLV6_OK)
		*changes = result;
	return ret;
}

static int resolve(struct listing *all, const struct change_source *sources, size_t source_count,
		   const struct sources_options *options, struct findings *findings,
		   struct pieces *ret_changes)
{
	struct dataset *first;
	int ret = begin_dataset(all, &first);
	for (size_t i = 0; ret == DNSBLV6_OK && i < source_count; i++)
		ret = read_into(&sources[i], options, findings, all);
	if (ret == DNSBLV6_OK)
		ret = sources_read_except(all, options, findings);
	if (ret == DNSBLV6_OK)
		ret = resolve_sources(all, ret_changes);
	if (ret != DNSBLV6_OK)
		return ret;
	refuse_contradictions(ret_changes, findings);
	return remove_excepted(all, ret_changes);
}

int changes_read(const struct change_source *sources, size_t source_count,
		 const struct sources_options *options, struct findings *findings,
		 struct pieces *ret_changes, uint64_t *ret_written_s)
{
	struct listing all;
	int ret = listing_init(&all);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = resolve(&all, sources, source_count, options, findings, ret_changes);
	*ret_written_s = all.written_s;
	listing_deinit(&all);
	return ret;
}
