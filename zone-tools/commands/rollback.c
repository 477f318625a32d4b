/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * rollback.c - dnsblv6-zone rollback: the content of an earlier version as a new one.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/followers.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/base/findings.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/chain/rollback.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>

#define TO_PREVIOUS UINT64_MAX

struct rollback {
	struct keyfiles keyfiles;
	struct keydir keydir;
	struct rollback_job job;
	struct version version;
	uint64_t to; /* a serial; TO_PREVIOUS: the one before the last change */
	struct findings findings;
	struct secondaries secondaries;
	bool is_quiet;
};

#define AT(member) OPTIONS_AT(struct rollback, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "store to bring back" }, AT(job.path), .is_required = true },
	{ { 0, "to", "SERIAL", "of the version (the one before the last change)" },
	  AT(to),
	  .max = UINT32_MAX },
	ROWS_KEY(struct rollback, keyfiles, "the key that signs the zone"),
	ROWS_PUBLISH(struct rollback, keyfiles, "another key that the zone has; may be repeated"),
	ROWS_KEYDIR(struct rollback, keydir),
	ROWS_LIFETIME(struct rollback, job.lifetime_s),
	ROWS_TRUST_CLOCK(struct rollback, job.trusts_clock),
	ROWS_DRY_RUN(struct rollback, job.is_dry_run),
	ROWS_SECONDARIES(struct rollback, secondaries),
	ROWS_CONFIG,
	{ { 'q', "quiet", NULL, "do not print what was done" }, AT(is_quiet) },
};

static const struct options_table table = {
	.program = "dnsblv6-zone rollback",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE [--to SERIAL] [options]",
	.summary = "Publishes an earlier version that the journal has as a new one.",
	OPTIONS_ROWS(rows),
};

static void parse_command_line(struct rollback *rollback, int argc, char **argv)
{
	options_parse_alone(&table, argc, argv, rollback);
	if (keyfiles_lack_active(&rollback->keyfiles))
		options_fail(&table, "--publish needs --key");
	const char *conflict = keydir_find_conflict(&rollback->keydir, &rollback->keyfiles);
	if (conflict != NULL)
		options_fail(&table, "%s", conflict);
}

/* ---- the version ---- */

static int find_version(struct rollback *rollback, struct reader *reader)
{
	uint32_t serial = (uint32_t)rollback->to;
	int ret = DNSBLV6_OK;
	if (rollback->to == TO_PREVIOUS)
		ret = version_previous(reader, &serial);
	return ret == DNSBLV6_OK ? version_load(reader, serial, VERSION_WHOLE, &rollback->version)
				 : ret;
}

/* The store is closed again before it is opened for writing: never twice in one process. */
static int load_version(struct rollback *rollback)
{
	struct reader *reader = NULL;
	struct dnsblv6_facts facts;
	int ret = verify_store(rollback->job.path, &zone_store, &facts);
	if (ret == DNSBLV6_OK)
		ret = reader_start(rollback->job.path, &zone_store, &reader);
	if (ret == DNSBLV6_OK)
		ret = find_version(rollback, reader);
	reader_close(reader);
	return ret;
}

/* ---- the whole ---- */

static int refuse(struct rollback *rollback)
{
	findings_end(&rollback->findings);
	log_error(rollback->job.path, "store not rolled back, refusals=%" PRIu64,
		  rollback->findings.refusal_count);
	return EX_DATAERR;
}

static void report(const struct rollback *rollback, const struct rollback_result *result)
{
	char zone[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(result->zone.wire, result->zone.size, zone);
	printf("%s %s. to %" PRIu32 ": ipv4=%" PRIu64 " ipv6=%" PRIu64 " changed=%" PRIu64
	       " signed=%" PRIu64 " serial=%" PRIu32 "\n",
	       rollback->job.is_dry_run ? "would roll back" : "rolled back", zone,
	       rollback->version.serial, result->ipv4_count, result->ipv6_count,
	       result->changed_count, result->signature_count, result->serial);
}

/* Keys stay as they are: a version that comes back does not bring its own. */
static int prepare_keys(struct rollback *rollback)
{
	struct keydir *keydir = &rollback->keydir;
	if (keydir->directory == NULL)
		return EX_OK;
	int status = keydir_open(keydir, rollback->job.path, NULL, true, rollback->job.now_s);
	return status == EX_OK ? keydir_fill(keydir, &rollback->keyfiles.set) : status;
}

static int run(struct rollback *rollback)
{
	struct rollback_result result;
	int ret = load_version(rollback);
	int status = ret == DNSBLV6_OK ? prepare_keys(rollback) : EX_OK;
	if (status != EX_OK)
		return status;
	if (ret == DNSBLV6_OK)
		ret = rollback_run(&rollback->job, &result);
	if (ret == CHAIN_EREFUSED)
		return refuse(rollback);
	if (ret != DNSBLV6_OK && ret != CHAIN_EUNCHANGED)
		return keyfiles_end(&rollback->keyfiles.set, rollback->job.path,
				    "store not rolled back", ret);
	if (ret == DNSBLV6_OK && !rollback->job.is_dry_run && rollback->keydir.directory == NULL)
		keyfiles_report_kept(&rollback->keyfiles, rollback->job.path);
	if (ret == CHAIN_EUNCHANGED && !rollback->is_quiet)
		puts("nothing to change");
	else if (!rollback->is_quiet)
		report(rollback, &result);
	if (ret == CHAIN_EUNCHANGED || rollback->job.is_dry_run)
		return EX_OK;
	return followers_await(&rollback->secondaries, &result.zone, result.serial,
			       rollback->job.path);
}

static int run_fenced(void *context)
{
	struct rollback *rollback = context;
	int status = run(rollback);
	keydir_close(&rollback->keydir, false);
	return status;
}

static int run_command(int argc, char **argv)
{
	struct rollback rollback = { .to = TO_PREVIOUS,
				     .job = { .now_s = (uint64_t)time(NULL) },
				     .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	keyfiles_init(&rollback.keyfiles);
	keydir_init(&rollback.keydir);
	parse_command_line(&rollback, argc, argv);
	int status = keyfiles_read(&rollback.keyfiles);
	rollback.keyfiles.set.may_not_add = true;
	rollback.job.keyset = &rollback.keyfiles.set;
	rollback.job.version = &rollback.version;
	rollback.job.findings = &rollback.findings;
	if (status == EX_OK)
		status = commands_fence(rollback.job.path, "rolled back", run_fenced, &rollback);
	keyfiles_deinit(&rollback.keyfiles);
	return status;
}

int rollback_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
