/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * update.c - dnsblv6-zone update: some addresses more in a store, some less.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/lists/changes.h"
#include "zone-tools/lists/rbldnsd_value.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/followers.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"
#include "zone-tools/chain/updater.h"
#include "zone-tools/reading/difference.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>

struct update {
	struct change_source *sources; /* one for each --add and --remove; ours */
	size_t source_count;
	struct sources_options options;
	struct guard_limits limits;
	struct findings findings;
	struct keyfiles keyfiles;
	struct keydir keydir;
	struct dnsblv6_labels subzone;
	struct pieces changes;
	struct dnsblv6_value value; /* of what is added, if one was given */
	uint8_t value_text[RBLDNSD_TEXT_MAX];
	struct updater_job job;
	struct difference difference;
	struct secondaries secondaries;
	bool is_quiet;
	bool is_written;
};

/* ---- the command line ---- */

static void add_source(struct update *update, const char *what, bool is_removal)
{
	update->sources[update->source_count++] = (struct change_source){ what, is_removal };
}

static const char *take_add(void *update, const char *argument)
{
	add_source(update, argument, false);
	return NULL;
}

static const char *take_remove(void *update, const char *argument)
{
	add_source(update, argument, true);
	return NULL;
}

#define AT(member) OPTIONS_AT(struct update, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "store to change" }, AT(job.path), .is_required = true },
	{ { 'a', "add", "WHAT", "address, prefix, range, or file of them; may be repeated" },
	  .take = take_add },
	{ { 'r', "remove", "WHAT", "the same, to be listed no more" }, .take = take_remove },
	{ { 0, "value", ":A:TEXT", "of what is added (as most of the list)" },
	  AT(options.value),
	  .take = rows_take_value },
	{ { 0, "subzone", "NAME", "change the list of this sub-zone" },
	  AT(subzone),
	  .take = rows_take_name },
	ROWS_KEY(struct update, keyfiles, "the key that signs the zone"),
	ROWS_PUBLISH(struct update, keyfiles, "another key that the zone has; may be repeated"),
	ROWS_KEYDIR(struct update, keydir),
	ROWS_LIFETIME(struct update, job.lifetime_s),
	ROWS_TRUST_CLOCK(struct update, job.trusts_clock),
	ROWS_DRY_RUN(struct update, job.is_dry_run),
	ROWS_ALL(struct update, difference.limit),
	{ { 0, "serial", "NUMBER", "of the SOA (the time, or one more than before)" },
	  AT(job.serial),
	  .min = 1,
	  .max = UINT32_MAX },
	ROWS_SOURCES(struct update, options),
	ROWS_MAX_CHANGE(struct update, limits),
	ROWS_MAX_LISTED(struct update, limits),
	ROWS_MAX_RECORDS(struct update, job.max_records),
	ROWS_SECONDARIES(struct update, secondaries),
	ROWS_CONFIG,
	{ { 'q', "quiet", NULL, "do not print what was changed" }, AT(is_quiet) },
};

static const struct options_table table = {
	.program = "dnsblv6-zone update",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE [--add WHAT ...] [--remove WHAT ...] [options]",
	.summary = "Changes what a store lists, at a cost that depends on the change alone.\n"
		   "WHAT may be - for standard input.",
	OPTIONS_ROWS(rows),
};

static void parse_command_line(struct update *update, int argc, char **argv)
{
	options_parse_alone(&table, argc, argv, update);
	if (keyfiles_lack_active(&update->keyfiles))
		options_fail(&table, "--publish needs --key");
	const char *conflict = keydir_find_conflict(&update->keydir, &update->keyfiles);
	if (conflict != NULL)
		options_fail(&table, "%s", conflict);
	if (update->source_count == 0)
		options_fail(&table, "neither --add nor --remove given");
}

/* ---- the steps ---- */

static int refuse(struct update *update)
{
	findings_end(&update->findings);
	log_error(update->job.path, "store not changed, refusals=%" PRIu64,
		  update->findings.refusal_count);
	return EX_DATAERR;
}

static int read_changes(struct update *update)
{
	int ret = changes_read(update->sources, update->source_count, &update->options,
			       &update->findings, &update->changes, &update->job.lists_s);
	if (ret == -ENOMEM)
		return commands_end(update->job.path, "store not changed", ret);
	if (ret != DNSBLV6_OK)
		return commands_exit_status(ret);
	if (update->findings.refusal_count > 0)
		return refuse(update);
	findings_end(&update->findings);
	return EX_OK;
}

static int report(struct update *update, const struct updater_result *result)
{
	char zone[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(result->zone.wire, result->zone.size, zone);
	if (!update->is_quiet)
		printf("%s %s.: ipv4=%" PRIu64 " (%+" PRId64 ") ipv6=%" PRIu64 " (%+" PRId64
		       ") changed=%" PRIu64 " signed=%" PRIu64 " serial=%" PRIu32 "\n",
		       update->job.is_dry_run ? "would update" : "updated", zone,
		       result->ipv4_count, result->ipv4_change, result->ipv6_count,
		       result->ipv6_change, result->changed_count, result->signature_count,
		       result->serial);
	if (update->job.is_dry_run)
		return EX_OK;
	return followers_await(&update->secondaries, &result->zone, result->serial,
			       update->job.path);
}

/* Steps that are due are made before; no parent is asked, as updates may come in quick succession. */
static int prepare_keys(struct update *update)
{
	struct keydir *keydir = &update->keydir;
	struct resign_job how = { .lifetime_s = update->job.lifetime_s,
				  .trusts_clock = update->job.trusts_clock,
				  .findings = &update->findings };
	if (keydir->directory == NULL)
		return EX_OK;
	int status = keydir_open(keydir, update->job.path, NULL, true, update->job.now_s);
	if (status == EX_OK && !update->job.is_dry_run)
		status = keydir_plan(keydir, ROLLOVER_NONE, false);
	if (status == EX_OK)
		status = keydir_settle(keydir, &update->keyfiles.set, &how);
	return status == EX_OK ? keydir_fill(keydir, &update->keyfiles.set) : status;
}

static int change_store(struct update *update)
{
	if (update->options.value != NULL) {
		update->value = sources_value(&update->options, update->value_text);
		update->job.value = &update->value;
	}
	struct updater_result result;
	update->job.changes = &update->changes;
	update->job.subzone = &update->subzone;
	update->job.keyset = &update->keyfiles.set;
	update->keyfiles.set.may_not_add = true;
	update->job.limits = &update->limits;
	update->job.findings = &update->findings;
	update->job.difference =
		update->job.is_dry_run && !update->is_quiet ? &update->difference : NULL;
	int status = prepare_keys(update);
	if (status != EX_OK)
		return status;
	int ret = updater_run(&update->job, &result);
	update->is_written = ret == DNSBLV6_OK;
	if (ret == DNSBLV6_OK) {
		if (update->keydir.directory == NULL && !update->job.is_dry_run)
			keyfiles_report_kept(&update->keyfiles, update->job.path);
		return report(update, &result);
	}
	if (ret == CHAIN_EUNCHANGED) {
		if (!update->is_quiet)
			puts("nothing to change");
		return EX_OK;
	}
	if (ret == CHAIN_EREFUSED)
		return fflush(stdout), refuse(update);
	return keyfiles_end(&update->keyfiles.set, update->job.path, "store not changed", ret);
}

static int change_fenced(void *context)
{
	struct update *update = context;
	int code = change_store(update);
	keydir_close(&update->keydir, update->is_written);
	return code;
}

static int run_command(int argc, char **argv)
{
	struct update update = { .limits = GUARD_LIMITS_DEFAULT,
				 .job = { .max_records = 16000000, .now_s = (uint64_t)time(NULL) },
				 .difference = { .stream = stdout, .limit = FINDINGS_SHOWN },
				 .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	update.options.now_s = update.job.now_s;
	update.sources = calloc((size_t)argc, sizeof(*update.sources));
	if (update.sources == NULL)
		return EX_TEMPFAIL;
	keyfiles_init(&update.keyfiles);
	keydir_init(&update.keydir);
	parse_command_line(&update, argc, argv);
	int status = keyfiles_read(&update.keyfiles);
	if (status == EX_OK)
		status = read_changes(&update);
	if (status == EX_OK)
		status = commands_fence(update.job.path, "changed", change_fenced, &update);
	keyfiles_deinit(&update.keyfiles);
	pieces_deinit(&update.changes);
	free(update.sources);
	return status;
}

int update_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
