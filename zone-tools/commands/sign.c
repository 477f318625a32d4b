/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * sign.c - dnsblv6-zone sign: renew signatures, and step through a key rollover.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/followers.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"
#include "zone-tools/chain/resign.h"
#include "zone-tools/base/findings.h"

#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/process/progress.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

struct sign {
	const char *classic_store; /* to sign as well, if it is there; or NULL */
	struct keyfiles keyfiles;
	struct keydir keydir;
	struct resign_job job;
	struct findings findings;
	struct progress progress;
	struct secondaries secondaries;
	bool is_quiet;
	bool is_written;
};

#define AT(member) OPTIONS_AT(struct sign, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "store to sign" }, AT(job.path), .is_required = true },
	{ { 0, "classic-store", "FILE", "store to sign as well, if it is there" },
	  AT(classic_store) },
	ROWS_KEY(struct sign, keyfiles, "sign the zone with this key (see keygen)"),
	ROWS_PUBLISH(struct sign, keyfiles, "have this key in the zone as well; may be repeated"),
	ROWS_WITHDRAW(struct sign, keyfiles),
	ROWS_KEYDIR(struct sign, keydir),
	ROWS_LIFETIME(struct sign, job.lifetime_s),
	{ { 0, "force", NULL,
	    "sign an unsigned zone, or with a key that was not published before" },
	  AT(keyfiles.set.may_replace) },
	ROWS_TRUST_CLOCK(struct sign, job.trusts_clock),
	ROWS_SECONDARIES(struct sign, secondaries),
	ROWS_CONFIG,
	{ { 'q', "quiet", NULL, "do not print what was signed" }, AT(is_quiet) },
};

static const struct options_table table = {
	.program = "dnsblv6-zone sign",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE --keys DIR | --key FILE [options]",
	.summary = "Renews the signatures of a store that are due.",
	OPTIONS_ROWS(rows),
};

static void parse_command_line(struct sign *sign, int argc, char **argv)
{
	options_parse_alone(&table, argc, argv, sign);
	const char *conflict = keydir_find_conflict(&sign->keydir, &sign->keyfiles);
	if (conflict != NULL)
		options_fail(&table, "%s", conflict);
	if (sign->keydir.directory == NULL && !keyfiles_has_active(&sign->keyfiles))
		options_fail(&table, "--keys and --key are missing");
}

/* The steps that are due are made with the signatures. */
static int prepare_keys(struct sign *sign)
{
	struct keydir *keydir = &sign->keydir;
	if (keydir->directory == NULL)
		return EX_OK;
	int status = keydir_open(keydir, sign->job.path, NULL, true, sign->job.now_s);
	if (status == EX_OK)
		status = keydir_plan(keydir, ROLLOVER_NONE, true);
	return status == EX_OK ? keydir_fill(keydir, &sign->keyfiles.set) : status;
}

static int run(struct sign *sign)
{
	struct resign_result result;
	struct dnsblv6_facts facts;
	char zone[DNSBLV6_NAME_TEXT_SIZE];
	/* Before anything is written over it. */
	int ret = verify_store(sign->job.path, &zone_store, &facts);
	int status = ret == DNSBLV6_OK ? prepare_keys(sign) : EX_OK;
	if (status != EX_OK)
		return progress_end(&sign->progress), status;
	if (ret == DNSBLV6_OK)
		ret = resign_store(&sign->job, &result);
	progress_end(&sign->progress);
	if (ret != DNSBLV6_OK)
		return keyfiles_end(&sign->keyfiles.set, sign->job.path, "store not signed", ret);
	sign->is_written = true;
	if (sign->keydir.directory == NULL)
		keyfiles_report_kept(&sign->keyfiles, sign->job.path);
	dnsblv6_name_format(result.zone.wire, result.zone.size, zone);
	if (!sign->is_quiet)
		printf("signed %s.: records=%" PRIu64 " signed=%" PRIu64 " serial=%" PRIu32
		       " expires=%" PRIu64 "\n",
		       zone, result.record_count, result.signature_count, result.serial,
		       result.expires_s);
	return followers_await(&sign->secondaries, &result.zone, result.serial, sign->job.path);
}

static int run_fenced(void *context)
{
	struct sign *sign = context;
	int status = run(sign);
	keydir_close(&sign->keydir, sign->is_written);
	return status;
}

/* Of the command line's stores one; *ret_classic_store is the other. */
static int sign_store(int argc, char **argv, const char *store, const char **ret_classic_store)
{
	struct sign sign = { .job = { .now_s = (uint64_t)time(NULL) },
			     .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	keyfiles_init(&sign.keyfiles);
	keydir_init(&sign.keydir);
	parse_command_line(&sign, argc, argv);
	*ret_classic_store = sign.classic_store;
	if (store != NULL)
		sign.job.path = store;
	progress_init(&sign.progress);
	int status = keyfiles_read(&sign.keyfiles);
	sign.job.keyset = &sign.keyfiles.set;
	sign.job.progress = &sign.progress;
	sign.job.findings = &sign.findings;
	if (status == EX_OK)
		status = commands_fence(sign.job.path, "signed", run_fenced, &sign);
	keyfiles_deinit(&sign.keyfiles);
	return status;
}

/* The keys of each store are chosen for it alone, so the second begins with the command line again. */
static int run_command(int argc, char **argv)
{
	const char *classic_store;
	int status = sign_store(argc, argv, NULL, &classic_store);
	if (classic_store == NULL || (access(classic_store, F_OK) != 0 && errno == ENOENT))
		return status;
	optind = 0; /* getopt begins anew */
	int other = sign_store(argc, argv, classic_store, &classic_store);
	return status == EX_OK || (status == EX_UNAVAILABLE && other != EX_OK) ? other : status;
}

int sign_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}

int sign_zone(const struct zonesconf_zone *zone)
{
	return zonecall_run_zone(&table, zone, ZONECALL_NO_LISTS, run_command);
}
