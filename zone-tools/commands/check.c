/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * check.c - dnsblv6-zone check: every finding of lists or of a store, one a line.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"
#include "zone-tools/commands/rows.h"

#include "zone-tools/reading/compare.h"
#include "zone-tools/reading/contents.h"
#include "zone-tools/plan/guard.h"
#include "zone-tools/plan/plan.h"
#include "zone-tools/plan/room.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/reading/validity.h"
#include "zone-tools/records/store_settings.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/process/progress.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

struct check {
	const char *store;
	char **lists; /* ends with NULL, as argv */
	struct sources_options sources;
	struct guard_limits limits;
	struct findings findings;
	struct progress progress;
	uint64_t lines_max;		/* of the difference of lists and store */
	struct dnsblv6_signing signing; /* of the store; zero when it is not signed */
	struct store_settings recalled; /* what it remembers; the value may be of it */
};

#define AT(member) OPTIONS_AT(struct check, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "check this store, and lists against it" }, AT(store) },
	{ { 0, "value", ":A:TEXT", "of addresses in plain lists (:127.0.0.2)" },
	  AT(sources.value),
	  .take = rows_take_value },
	ROWS_IGNORE_COLUMNS(struct check, sources),
	ROWS_SOURCES(struct check, sources),
	ROWS_MAX_LISTED(struct check, limits),
	ROWS_ALL(struct check, lines_max),
	ROWS_CONFIG,
};

static const struct options_table table = {
	.program = "dnsblv6-zone check",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "[options] [--store FILE] [LIST ...]",
	.summary = "Reports every finding, one a line. Exit 0: none; 1: some.",
	OPTIONS_ROWS(rows),
};

static void parse_command_line(struct check *check, int argc, char **argv)
{
	options_parse(&table, argc, argv, check);
	if (check->store == NULL && optind == argc)
		options_fail(&table, "nothing to check: give --store or a LIST");
}

/* ---- a store ---- */

static void refuse_record(struct check *check, struct store_bytes key, const char *reason)
{
	struct findings_place place = { check->store, 0 };
	findings_add(&check->findings, FINDING_REFUSAL, place, "damaged record",
		     (const char *)key.data, key.size, reason);
}

/* In a signed store one without signatures would be bogus to validators. */
static int check_bitmap(const struct dnsblv6_signing *signing, struct store_bytes value)
{
	struct dnsblv6_bitmap map;
	struct dnsblv6_signatures signatures;
	int ret = dnsblv6_record_decode_bitmap(value.data, value.size, &map);
	if (ret == DNSBLV6_OK && signing->expires_s != 0)
		ret = dnsblv6_record_decode_signatures(value.data, value.size, &signatures);
	if (ret == DNSBLV6_OK && signing->other_algorithm != 0)
		ret = dnsblv6_record_decode_other_signatures(value.data, value.size, &signatures);
	return ret;
}

static int check_record(const struct dnsblv6_signing *signing, struct store_bytes key,
			struct store_bytes value)
{
	struct dnsblv6_labels name;
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret = dnsblv6_key_to_labels(key.data, key.size, &name);
	if (ret != DNSBLV6_OK)
		return ret;
	if (dnsblv6_record_kind(value.data, value.size) == DNSBLV6_RECORD_BITMAP)
		return check_bitmap(signing, value);
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK)
		continue;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int check_segment(const struct dnsblv6_signing *signing, struct store_bytes key,
			 struct store_bytes value)
{
	struct dnsblv6_segment segment;
	uint16_t origin;
	(void)signing;
	return dnsblv6_segment_decode(key.data, key.size, value.data, value.size, &origin,
				      &segment);
}

static int check_table(struct check *check, struct reader *reader, enum store_table which,
		       int (*check_entry)(const struct dnsblv6_signing *, struct store_bytes,
					  struct store_bytes))
{
	struct store_bytes key;
	struct store_bytes value;
	int ret = reader_seek(reader, which, NULL, 0, &key, &value);
	while (ret == DNSBLV6_OK) {
		int status = check_entry(&check->signing, key, value);
		if (status != DNSBLV6_OK)
			refuse_record(check, key, store_strerror(status));
		ret = reader_next(reader, which, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int check_records(struct check *check, struct reader *reader)
{
	int ret = contents_read_signing(reader, &check->signing);
	if (ret == DNSBLV6_OK)
		ret = check_table(check, reader, STORE_RECORDS, check_record);
	if (ret == DNSBLV6_OK)
		ret = check_table(check, reader, STORE_SEGMENTS, check_segment);
	if (ret == DNSBLV6_OK)
		ret = validity_check(reader, check->store, check->sources.now_s, &check->findings);
	return ret;
}

static int check_store(struct check *check, struct dnsblv6_facts *ret_facts)
{
	struct reader *reader = NULL;
	struct findings_place place = { check->store, 0 };
	int ret = verify_store(check->store, &zone_store, ret_facts);
	if (ret == DNSBLV6_OK)
		ret = reader_start(check->store, &zone_store, &reader);
	if (ret == DNSBLV6_OK)
		ret = check_records(check, reader);
	reader_close(reader);
	if (ret == DNSBLV6_OK && ret_facts->expires_s != 0 &&
	    ret_facts->expires_s <= check->sources.now_s)
		findings_add(&check->findings, FINDING_REFUSAL, place, "store has expired", NULL, 0,
			     "$TIMESTAMP of its list");
	if (ret == DNSBLV6_OK)
		return EX_OK;
	/* And not a disk, a permission or a verifier that was killed, which say nothing of the file. */
	int status = commands_exit_status(ret);
	bool is_finding = status == EX_DATAERR;
	log_error(check->store, "store not %s (%s)", is_finding ? "sound" : "read",
		  store_strerror(ret));
	return is_finding ? 1 : status;
}

/* Plain lists have the value that the next build would give them. */
static int recall_value(struct check *check)
{
	int ret = store_settings_read(check->store, &check->recalled);
	if (ret == DNSBLV6_OK && check->sources.value == NULL)
		check->sources.value = store_settings_get(&check->recalled, "value");
	return ret == DNSBLV6_ENOTFOUND ? EX_OK : commands_end(check->store, "store not read", ret);
}

/* ---- lists ---- */

static void tell_difference(struct check *check, const struct compare_result *result)
{
	struct findings_place place = { check->store, 0 };
	char what[160];
	if (compare_is_same(result))
		return;
	snprintf(what, sizeof(what),
		 "lists differ from the store, prefixes=%" PRIu64 " names=%" PRIu64
		 " names-listed=%" PRIu64 " names-stored=%" PRIu64,
		 result->prefix_count, result->name_count, result->names_listed,
		 result->names_stored);
	findings_add(&check->findings, FINDING_REFUSAL, place, what, NULL, 0,
		     "+ in the lists, - in the store, ~ with other values");
}

/* The store is whole, as check_store() has found. */
static int compare(struct check *check, const struct listing *listing, const struct plan *plan)
{
	struct compare_job job = { .store = check->store,
				   .listing = listing,
				   .plan = plan,
				   .lines_max = check->lines_max,
				   .stream = stdout };
	struct compare_result result;
	int ret = compare_store(&job, &result);
	if (ret == DNSBLV6_OK)
		tell_difference(check, &result);
	return commands_end(check->store, "store not read", ret);
}

static int check_lists(struct check *check, const struct dnsblv6_facts *before)
{
	struct listing listing;
	struct plan plan = { 0 };
	if (listing_init(&listing) != DNSBLV6_OK)
		return EX_TEMPFAIL;
	int status = commands_exit_status(
		sources_read_except(&listing, &check->sources, &check->findings));
	for (char **list = check->lists; *list != NULL; list++) {
		int ret = sources_read(&listing, *list, &check->sources, &check->findings,
				       &check->progress);
		if (ret != DNSBLV6_OK && status == EX_OK)
			status = ret == -EINVAL ? EX_USAGE : commands_exit_status(ret);
	}
	if (status == EX_OK)
		status = commands_exit_status(plan_make(&listing, &plan));
	if (status == EX_OK)
		status = commands_exit_status(
			plan_add_names(&plan, &listing, NULL, &check->findings));
	if (status == EX_OK) {
		guard_rest(&plan.counts, &listing, &check->findings);
		guard_totals(&plan.counts, before, check->store, &check->limits, &check->findings);
		/* Without a store it is not known whether the zone is a classic one, for which fewer are permitted. */
		room_check_values(&plan, before != NULL ? before->style : DNSBLV6_STYLE_DOTTED,
				  &check->findings);
	}
	progress_end(&check->progress);
	if (status == EX_OK && before != NULL)
		status = compare(check, &listing, &plan);
	findings_tell_skipped(&check->findings);
	plan_deinit(&plan);
	listing_deinit(&listing);
	return status;
}

static int run(void *context)
{
	struct check *check = context;
	struct dnsblv6_facts facts;
	int status = EX_OK;
	if (check->store != NULL)
		status = check_store(check, &facts);
	if (status == EX_OK && check->store != NULL)
		status = recall_value(check);
	if (status == EX_OK && *check->lists != NULL)
		status = check_lists(check, check->store != NULL ? &facts : NULL);
	store_settings_deinit(&check->recalled);
	if (status != EX_OK)
		return status;
	return check->findings.refusal_count + check->findings.warning_count > 0 ? 1 : EX_OK;
}

static int run_command(int argc, char **argv)
{
	struct check check = { .limits = GUARD_LIMITS_DEFAULT,
			       .lines_max = FINDINGS_SHOWN,
			       .findings = { .stream = stdout, .limit = UINT64_MAX } };
	check.sources.now_s = (uint64_t)time(NULL);
	parse_command_line(&check, argc, argv);
	progress_init(&check.progress);
	check.lists = argv + optind;
	return check.store != NULL ? commands_fence(check.store, "read", run, &check) : run(&check);
}

int check_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_MAYBE_ZONE, argc, argv, run_command);
}
