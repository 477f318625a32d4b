/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/changes.h"

#include "zone-tools/lists/plain.h"

#include <string.h>
#include <unistd.h>

/* Values of the merged list: the sets that have just one of them get these numbers. */
enum { VALUE_ADDED = PIECES_ADDED - 1, VALUE_REMOVED = PIECES_REMOVED - 1 };

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

/* ---- one dataset of all ---- */

static int add_entries(struct dataset *all, const struct dataset *from, uint32_t value)
{
	struct dataset_walk walk = dataset_walk_all(from);
	struct entry entry;
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && dataset_next(&walk, &entry)) {
		struct dnsblv6_prefix prefix = { entry.first, entry.prefix_len };
		ret = dataset_add_entry(all, prefix,
					entry.value == ENTRY_EXCLUDED ? ENTRY_EXCLUDED : value);
	}
	return ret;
}

static int read_into(const struct change_source *source, const struct sources_options *options,
		     struct findings *findings, struct dataset *all)
{
	struct listing listing;
	int ret = listing_init(&listing);
	if (ret == DNSBLV6_OK)
		ret = read_source(source, &listing, options, findings);
	for (size_t i = 0; ret == DNSBLV6_OK && i < listing.dataset_count; i++)
		ret = add_entries(all, &listing.datasets[i],
				  source->is_removal ? VALUE_REMOVED : VALUE_ADDED);
	listing_deinit(&listing);
	return ret;
}

/* So that the set of those with one value has the number that pieces_change() knows. */
static int reserve_sets(struct set_pool *sets)
{
	uint32_t set;
	int ret = set_pool_init(sets);
	if (ret == DNSBLV6_OK)
		ret = set_pool_add_value(sets, VALUE_ADDED, &set);
	return ret == DNSBLV6_OK ? set_pool_add_value(sets, VALUE_REMOVED, &set) : ret;
}

static void refuse_contradictions(const struct pieces *changes, struct findings *findings)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct dnsblv6_segment *change = &changes->items[i];
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		if (change->set == PIECES_ADDED || change->set == PIECES_REMOVED)
			continue;
		dnsblv6_prefix_format(dnsblv6_prefix_of_range(change->first, change->last), text);
		findings_add(findings, FINDING_REFUSAL, (struct findings_place){ .file = NULL },
			     "change refused", text, strlen(text), "both added and removed");
	}
}

/* What is never listed is no more, whether a source speaks of it or not. */
static int remove_excepted(struct listing *all, struct pieces *changes)
{
	int ret = DNSBLV6_OK;
	for (int is_ipv4 = 1; ret == DNSBLV6_OK && is_ipv4 >= 0; is_ipv4--) {
		struct pieces excepted = { 0 };
		ret = resolve_excepted(all, is_ipv4 != 0, &excepted);
		for (size_t i = 0; ret == DNSBLV6_OK && i < excepted.count; i++)
			ret = pieces_add_missing(changes, excepted.items[i].first,
						 excepted.items[i].last, PIECES_REMOVED);
		pieces_deinit(&excepted);
	}
	return ret;
}

static int resolve(struct listing *all, const struct change_source *sources, size_t source_count,
		   const struct sources_options *options, struct findings *findings,
		   struct set_pool *sets, struct pieces *ret_changes)
{
	struct dataset *dataset;
	int ret = listing_add_dataset(all, DUPLICATE_ALL, &dataset);
	if (ret == DNSBLV6_OK)
		ret = dataset_add_origin(dataset, 0);
	for (size_t i = 0; ret == DNSBLV6_OK && i < source_count; i++)
		ret = read_into(&sources[i], options, findings, dataset);
	if (ret == DNSBLV6_OK)
		ret = sources_read_except(all, options, findings);
	if (ret == DNSBLV6_OK)
		ret = resolve_origin(all, 0, sets, ret_changes);
	if (ret != DNSBLV6_OK)
		return ret;
	refuse_contradictions(ret_changes, findings);
	return remove_excepted(all, ret_changes);
}

int changes_read(const struct change_source *sources, size_t source_count,
		 const struct sources_options *options, struct findings *findings,
		 struct pieces *ret_changes)
{
	struct listing all;
	struct set_pool sets = { 0 };
	int ret = listing_init(&all);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = reserve_sets(&sets);
	if (ret == DNSBLV6_OK)
		ret = resolve(&all, sources, source_count, options, findings, &sets, ret_changes);
	set_pool_deinit(&sets);
	listing_deinit(&all);
	return ret;
}
