/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * history.c - dnsblv6-zone log: what changed in a store, and when, out of its journal.
 */

#include "zone-tools/commands/commands.h"
#include "lib/format/array.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/reading/contents.h"
#include "zone-tools/reading/difference.h"
#include "zone-tools/reading/past.h"
#include "zone-tools/reading/versions.h"
#include "zone-tools/plan/ranges.h"

#include "lib/common/options.h"
#include "lib/common/utc.h"
#include "lib/common/version.h"
#include "lib/store/history.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 10, SHOWN = 20 }; /* changes; prefixes of each */

#define SINCE_NONE UINT64_MAX

struct history_log {
	const char *store;
	uint64_t count; /* 0: not given */
	uint64_t since_serial;
	bool is_whole; /* every prefix is printed */
	bool is_brief; /* none is */
	struct version since;
	struct version before; /* the change that is printed: what was different then */
	struct version after;
	bool has_versions; /* these two, or since and now */
	uint64_t shown;	   /* prefixes of each change */
	struct reader *reader;
	struct dnsblv6_facts facts;
};

#define AT(member) OPTIONS_AT(struct history_log, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "store to read" }, AT(store), .is_required = true },
	{ { 'n', "count", "NUMBER", "of changes, the newest (10)" },
	  AT(count),
	  .min = 1,
	  .max = UINT32_MAX },
	{ { 0, "since", "SERIAL", "what is different now from that version" },
	  AT(since_serial),
	  .max = UINT32_MAX },
	{ { 0, "all", NULL, "print every prefix, not the first 20 of a change" }, AT(is_whole) },
	{ { 0, "brief", NULL, "print one line for each change" }, AT(is_brief) },
	ROWS_CONFIG,
};

static const struct options_table table = {
	.program = "dnsblv6-zone log",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE [options]",
	.summary = "Prints what changed in a store, the newest change first.",
	OPTIONS_ROWS(rows),
};

/* ---- what was listed and what is ---- */

/* The units of one family and origin at the names that changed. */
struct sides {
	struct ranges before;
	struct ranges after;
};

static bool is_of_list(const struct contents_origin *origin, const struct dnsblv6_labels *name)
{
	const struct dnsblv6_labels *apex = &origin->origin.name;
	return name->size >= apex->size &&
	       memcmp(name->wire + name->size - apex->size, apex->wire, apex->size) == 0;
}

static int add_state(const struct history_log *log, const struct contents_origin *origin,
		     const struct dnsblv6_labels *name, const struct dnsblv6_name_state *state,
		     struct ranges *ranges)
{
	struct dnsblv6_prefix block;
	struct dnsblv6_bitmap map;
	size_t origin_size = origin->origin.name.size;
	if (state->record_size == 0 ||
	    dnsblv6_record_decode_bitmap(state->record, state->record_size, &map) != DNSBLV6_OK)
		return DNSBLV6_OK; /* there is no name, or it is the zone's own */
	if (dnsblv6_name_parse((enum dnsblv6_style)log->facts.style, name->wire,
			       name->size - origin_size, &block) != DNSBLV6_OK ||
	    dnsblv6_prefix_is_ipv4(block) != ranges->is_ipv4)
		return DNSBLV6_OK;
	return ranges_add_block(ranges, block, &map);
}

static int add_change(const struct history_log *log, const struct contents_origin *origin,
		      const struct dnsblv6_name_change *change, struct sides *sides)
{
	struct dnsblv6_labels name;
	int ret = dnsblv6_key_to_labels(change->key, change->key_size, &name);
	if (ret != DNSBLV6_OK)
		return STORE_ECORRUPT;
	if (!is_of_list(origin, &name))
		return DNSBLV6_OK;
	ret = add_state(log, origin, &name, &change->before, &sides->before);
	return ret == DNSBLV6_OK ? add_state(log, origin, &name, &change->after, &sides->after)
				 : ret;
}

static int load_names(const struct history_log *log, uint64_t number,
		      const struct contents_origin *origin, struct sides *sides)
{
	struct history_names names = { .reader = log->reader, .number = number };
	struct dnsblv6_name_change change;
	int ret;
	while ((ret = history_next_name(&names, &change)) == DNSBLV6_OK) {
		ret = add_change(log, origin, &change, sides);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* What has been written since that version, as one change. */
static int load_version(const struct history_log *log, const struct contents_origin *origin,
			struct sides *sides)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < log->since.count; i++) {
		const struct version_entry *entry = &log->since.items[i];
		struct dnsblv6_name_change change = { .key = entry->key,
						      .key_size = (uint16_t)entry->key_size };
		struct store_bytes now = { 0 };
		ret = reader_get(log->reader, STORE_RECORDS, entry->key, entry->key_size, &now);
		if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND)
			return ret;
		change.before.record = entry->value;
		change.before.record_size = (uint16_t)entry->value_size;
		change.after.record = now.data;
		change.after.record_size = (uint16_t)now.size;
		ret = add_change(log, origin, &change, sides);
	}
	return ret;
}

/* ---- in dotted names: regions ---- */

/* Those of one family around the names that changed. */
struct changed_regions {
	struct past before;
	struct past after;
	bool is_ipv4;
	struct dnsblv6_prefix *items;
	size_t count;
	size_t capacity;
};

static int add_region(struct changed_regions *regions, const uint8_t *key, size_t key_size)
{
	const struct contents_origin *origin = regions->before.origin;
	struct dnsblv6_labels name;
	struct dnsblv6_prefix region;
	bool is_there;
	if (dnsblv6_key_to_labels(key, key_size, &name) != DNSBLV6_OK)
		return STORE_ECORRUPT;
	if (!is_of_list(origin, &name))
		return DNSBLV6_OK;
	int ret = past_region(&regions->before, &regions->after, name.wire,
			      name.size - origin->origin.name.size, &region, &is_there);
	if (ret != DNSBLV6_OK || !is_there || dnsblv6_prefix_is_ipv4(region) != regions->is_ipv4)
		return ret;
	const struct dnsblv6_prefix *last =
		regions->count > 0 ? &regions->items[regions->count - 1] : NULL;
	if (last != NULL && last->prefix_len == region.prefix_len &&
	    dnsblv6_addr_compare(last->first, region.first) == 0)
		return DNSBLV6_OK;
	if (!array_reserve(regions->items, regions->count + 1, &regions->capacity))
		return -ENOMEM;
	regions->items[regions->count++] = region;
	return DNSBLV6_OK;
}

static int find_regions(const struct history_log *log, uint64_t number,
			struct changed_regions *regions)
{
	struct history_names names = { .reader = log->reader, .number = number };
	struct dnsblv6_name_change change;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; number == 0 && ret == DNSBLV6_OK && i < log->since.count; i++)
		ret = add_region(regions, log->since.items[i].key, log->since.items[i].key_size);
	if (number == 0 || ret != DNSBLV6_OK)
		return ret;
	while ((ret = history_next_name(&names, &change)) == DNSBLV6_OK) {
		ret = add_region(regions, change.key, change.key_size);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* Wide before narrow, which are in them. */
static int compare_regions(const void *a, const void *b)
{
	const struct dnsblv6_prefix *left = a;
	const struct dnsblv6_prefix *right = b;
	int by_first = dnsblv6_addr_compare(left->first, right->first);
	return by_first != 0 ? by_first : left->prefix_len - right->prefix_len;
}

static int read_regions(struct changed_regions *regions, struct sides *sides)
{
	const struct dnsblv6_prefix *done = NULL;
	int ret = DNSBLV6_OK;
	if (regions->count > 0)
		qsort(regions->items, regions->count, sizeof(*regions->items), compare_regions);
	for (size_t i = 0; ret == DNSBLV6_OK && i < regions->count; i++) {
		const struct dnsblv6_prefix *region = &regions->items[i];
		if (done != NULL && dnsblv6_prefix_contains(*done, region->first))
			continue;
		done = region;
		ret = past_read(&regions->before, *region, &sides->before);
		if (ret == DNSBLV6_OK)
			ret = past_read(&regions->after, *region, &sides->after);
	}
	return ret;
}

static int load_regions(const struct history_log *log, uint64_t number,
			const struct contents_origin *origin, struct sides *sides)
{
	const struct version *before = number != 0 ? &log->before : &log->since;
	struct changed_regions regions = { .before = { log->reader, origin, before },
					   .after = { log->reader, origin, &log->after },
					   .is_ipv4 = sides->before.is_ipv4 };
	int ret = find_regions(log, number, &regions);
	if (ret == DNSBLV6_OK)
		ret = read_regions(&regions, sides);
	free(regions.items);
	return ret;
}

/* ---- sides ---- */

/* Only there a name does not say by itself what was listed. */
static bool has_regions(const struct history_log *log)
{
	return dnsblv6_style_read((enum dnsblv6_style)log->facts.style) == DNSBLV6_STYLE_DOTTED;
}

/* Of one change, or with number 0 since a version. */
static int load_sides(const struct history_log *log, uint64_t number,
		      const struct contents_origin *origin, struct sides *sides)
{
	int ret;
	if (has_regions(log) && (log->has_versions || number == 0))
		ret = load_regions(log, number, origin, sides);
	else
		ret = number != 0 ? load_names(log, number, origin, sides)
				  : load_version(log, origin, sides);
	ranges_normalise(&sides->before);
	ranges_normalise(&sides->after);
	return ret;
}

/* ---- printing ---- */

/* What left has and right has not. */
static int print_difference(const struct contents_origin *origin, const struct ranges *left,
			    const struct ranges *right, char sign, struct difference *printed)
{
	struct ranges difference = { .is_ipv4 = left->is_ipv4 };
	int ret = ranges_add_difference(&difference, left, right);
	for (size_t i = 0; ret == DNSBLV6_OK && i < difference.count; i++)
		difference_print(printed, sign,
				 ranges_first_addr(&difference, difference.items[i].first),
				 ranges_last_addr(&difference, difference.items[i].last),
				 &origin->origin.name);
	ranges_deinit(&difference);
	return ret;
}

static int print_family(const struct history_log *log, uint64_t number,
			const struct contents_origin *origin, bool is_ipv4,
			struct difference *printed)
{
	struct sides sides = { .before = { .is_ipv4 = is_ipv4 }, .after = { .is_ipv4 = is_ipv4 } };
	int ret = load_sides(log, number, origin, &sides);
	if (ret == DNSBLV6_OK)
		ret = print_difference(origin, &sides.after, &sides.before, '+', printed);
	if (ret == DNSBLV6_OK)
		ret = print_difference(origin, &sides.before, &sides.after, '-', printed);
	ranges_deinit(&sides.before);
	ranges_deinit(&sides.after);
	return ret;
}

static int print_addresses(const struct history_log *log, uint64_t number)
{
	struct difference printed = { .stream = stdout, .limit = log->shown };
	int ret = DNSBLV6_OK;
	for (uint16_t i = 0; ret == DNSBLV6_OK; i++) {
		struct contents_origin origin;
		ret = contents_read_origin(log->reader, i, &origin);
		if (ret == DNSBLV6_OK)
			ret = print_family(log, number, &origin, true, &printed);
		if (ret == DNSBLV6_OK)
			ret = print_family(log, number, &origin, false, &printed);
	}
	difference_end(&printed);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static const char *verb_name(uint8_t verb)
{
	switch (verb) {
	case DNSBLV6_CHANGE_BUILD:
		return "build";
	case DNSBLV6_CHANGE_UPDATE:
		return "update";
	case DNSBLV6_CHANGE_ROLLBACK:
		return "rollback";
	default:
		return "sign";
	}
}

static void print_header(const struct dnsblv6_change *change)
{
	char when[UTC_TEXT_SIZE];
	utc_format(change->made_s, when);
	printf("%s %s serial=%" PRIu32 " before=%" PRIu32 " ipv4=%" PRIu64 " ipv6=%" PRIu64
	       " names=+%" PRIu64 ",~%" PRIu64 ",-%" PRIu64 "%s\n",
	       when, verb_name(change->verb), change->to_serial, change->from_serial,
	       change->ipv4_count, change->ipv6_count, change->added_count, change->changed_count,
	       change->removed_count, change->has_names ? "" : " (addresses not kept)");
}

/* The newest version is what is there; of others the journal may not have all. */
static int load_side(struct history_log *log, uint32_t serial, struct version *ret_version)
{
	if (serial == log->facts.serial)
		return DNSBLV6_OK;
	return version_load(log->reader, serial, VERSION_NAMES, ret_version);
}

static int print_change(struct history_log *log, uint64_t number,
			const struct dnsblv6_change *change)
{
	int ret = DNSBLV6_OK;
	if (has_regions(log))
		ret = load_side(log, change->from_serial, &log->before);
	if (ret == DNSBLV6_OK && has_regions(log))
		ret = load_side(log, change->to_serial, &log->after);
	log->has_versions = ret == DNSBLV6_OK;
	if (ret == DNSBLV6_OK || version_strerror(ret) != NULL)
		ret = print_addresses(log, number);
	version_deinit(&log->before);
	version_deinit(&log->after);
	return ret;
}

/* A change that is not there: older ones are forgotten, but what is behind a gap was not. */
static int check_forgotten(const struct history_log *log, uint64_t number)
{
	uint8_t behind[DNSBLV6_JOURNAL_KEY_SIZE];
	struct store_bytes key;
	struct store_bytes value;
	dnsblv6_journal_make_key(number + 1, 0, behind);
	int ret = reader_seek_before(log->reader, STORE_JOURNAL, behind, sizeof(behind), &key,
				     &value);
	if (ret == DNSBLV6_OK)
		return STORE_ECORRUPT;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int print_changes(struct history_log *log)
{
	uint32_t serial = log->facts.serial;
	uint64_t number;
	int ret = history_newest(log->reader, &number);
	for (uint64_t i = 0; ret == DNSBLV6_OK && i < log->count && number > 0; i++, number--) {
		struct dnsblv6_change change = { 0 };
		ret = history_get(log->reader, number, &change);
		if (ret == DNSBLV6_ENOTFOUND)
			return check_forgotten(log, number);
		if (ret == DNSBLV6_OK && change.to_serial != serial)
			ret = STORE_ECORRUPT;
		if (ret == DNSBLV6_OK)
			print_header(&change);
		if (ret == DNSBLV6_OK && log->shown > 0 && change.has_names)
			ret = print_change(log, number, &change);
		serial = change.from_serial;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int print_since(struct history_log *log)
{
	int ret =
		version_load(log->reader, (uint32_t)log->since_serial, VERSION_NAMES, &log->since);
	if (ret == DNSBLV6_OK) {
		printf("since serial=%" PRIu32 " until serial=%" PRIu32 "\n", log->since.serial,
		       log->facts.serial);
		ret = print_addresses(log, 0);
	}
	version_deinit(&log->since);
	return ret;
}

/* ---- the command ---- */

static void parse_command_line(struct history_log *log, int argc, char **argv)
{
	options_parse_alone(&table, argc, argv, log);
	if (log->is_whole && log->is_brief)
		options_fail(&table, "--all goes without --brief");
	if (log->since_serial != SINCE_NONE && (log->count != 0 || log->is_brief))
		options_fail(&table, "--since goes without --count and --brief");
}

static int print_all(struct history_log *log)
{
	int ret = reader_start(log->store, &zone_store, &log->reader);
	if (ret == DNSBLV6_OK)
		ret = contents_read_facts(log->reader, &log->facts);
	if (ret == DNSBLV6_OK)
		ret = log->since_serial != SINCE_NONE ? print_since(log) : print_changes(log);
	reader_close(log->reader);
	return ret;
}

static int read_store(void *context)
{
	struct history_log *log = context;
	return commands_end(log->store, "store not read", print_all(log));
}

static int run_command(int argc, char **argv)
{
	struct history_log log = { .since_serial = SINCE_NONE, .shown = SHOWN };
	parse_command_line(&log, argc, argv);
	if (log.count == 0)
		log.count = COUNT;
	if (log.is_whole || log.is_brief)
		log.shown = log.is_whole ? UINT64_MAX : 0;
	return commands_fence(log.store, "read", read_store, &log);
}

int history_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
