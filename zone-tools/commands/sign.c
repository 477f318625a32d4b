/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * sign.c - dnsblv6-zone sign: renew signatures, and step through a key rollover.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/commands/keyfiles.h"
#include "zone-tools/base/progress.h"
#include "zone-tools/chain/resign.h"
#include "zone-tools/base/findings.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>

enum row {
	OPTION_STORE,
	OPTION_KEY,
	OPTION_PUBLISH,
	OPTION_WITHDRAW,
	OPTION_LIFETIME,
	OPTION_FORCE,
	OPTION_TRUST_CLOCK,
	OPTION_QUIET,
};

static const struct options_row rows[] = {
	[OPTION_STORE] = { 's', "store", "FILE", "store to sign" },
	[OPTION_KEY] = { 'k', "key", "FILE", "sign the zone with this key (see keygen)" },
	[OPTION_PUBLISH] = { 0, "publish", "FILE",
			     "have this key in the zone as well; may be repeated" },
	[OPTION_WITHDRAW] = { 0, "withdraw", "KEYTAG",
			      "take this key out of the zone; may be repeated" },
	[OPTION_LIFETIME] = { 0, "lifetime", "SECONDS", "of signatures (1209600)" },
	[OPTION_FORCE] = { 0, "force", NULL,
			   "sign an unsigned zone, or with a key that was not published before" },
	[OPTION_TRUST_CLOCK] = { 0, "trust-clock", NULL,
				 "sign though the store was changed later than now" },
	[OPTION_QUIET] = { 'q', "quiet", NULL, "do not print what was signed" },
};

static const struct options_table table = {
	.program = "dnsblv6-zone sign",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE --key FILE [options]",
	.summary = "Renews the signatures of a store that are due.",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

struct sign {
	struct keyfiles keyfiles;
	struct resign_job job;
	struct findings findings;
	struct progress progress;
	bool is_quiet;
};

static void parse_withdraw(struct sign *sign, const char *argument)
{
	const char *problem = keyfiles_withdraw(&sign->keyfiles, argument);
	if (problem != NULL)
		options_fail(&table, "--withdraw '%s': %s", argument, problem);
}

static void parse_option(struct sign *sign, enum row option, const char *argument)
{
	switch (option) {
	case OPTION_STORE:
		sign->job.path = argument;
		break;
	case OPTION_KEY:
		keyfiles_set_active(&sign->keyfiles, argument);
		break;
	case OPTION_PUBLISH:
		if (!keyfiles_add(&sign->keyfiles, argument))
			options_fail(&table, "--publish: more than %d keys", SIGNER_KEYS_MAX);
		break;
	case OPTION_WITHDRAW:
		parse_withdraw(sign, argument);
		break;
	case OPTION_LIFETIME:
		sign->job.lifetime_s = (uint32_t)options_number(
			&table, "lifetime", argument, SIGNER_LIFETIME_MIN_S, SIGNER_LIFETIME_MAX_S);
		break;
	case OPTION_FORCE:
		sign->keyfiles.set.may_replace = true;
		break;
	case OPTION_TRUST_CLOCK:
		sign->job.trusts_clock = true;
		break;
	case OPTION_QUIET:
		sign->is_quiet = true;
		break;
	}
}

static void parse_command_line(struct sign *sign, int argc, char **argv)
{
	const char *argument;
	int option;
	while ((option = options_next(&table, argc, argv, &argument)) != OPTIONS_END)
		parse_option(sign, (enum row)option, argument);
	if (sign->job.path == NULL)
		options_fail(&table, "--store is missing");
	if (!keyfiles_has_active(&sign->keyfiles))
		options_fail(&table, "--key is missing");
	if (optind < argc)
		options_fail(&table, "unexpected word '%s'", argv[optind]);
}

static int run(struct sign *sign)
{
	struct resign_result result;
	struct dnsblv6_facts facts;
	char zone[DNSBLV6_NAME_TEXT_SIZE];
	char keys[KEYSET_TEXT_SIZE];
	/* Before anything is written over it. */
	int ret = verify_store(sign->job.path, &zone_store, &facts);
	if (ret == DNSBLV6_OK)
		ret = resign_store(&sign->job, &result);
	progress_end(&sign->progress);
	if (ret != DNSBLV6_OK) {
		keyset_describe(&sign->keyfiles.set, ret, keys);
		log_error(sign->job.path, "store not signed %s(%s)", keys, chain_strerror(ret));
		return commands_exit_status(ret);
	}
	keyfiles_report_kept(&sign->keyfiles, sign->job.path);
	dnsblv6_name_format(result.zone.wire, result.zone.size, zone);
	if (!sign->is_quiet)
		printf("signed %s.: records=%" PRIu64 " signed=%" PRIu64 " serial=%" PRIu32
		       " expires=%" PRIu64 "\n",
		       zone, result.record_count, result.signature_count, result.serial,
		       result.expires_s);
	return EX_OK;
}

int sign_command(int argc, char **argv)
{
	struct sign sign = { .job = { .now_s = (uint64_t)time(NULL) },
			     .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	keyfiles_init(&sign.keyfiles);
	parse_command_line(&sign, argc, argv);
	progress_init(&sign.progress);
	int status = keyfiles_read(&sign.keyfiles);
	sign.job.keyset = &sign.keyfiles.set;
	sign.job.progress = &sign.progress;
	sign.job.findings = &sign.findings;
	if (status == EX_OK)
		status = run(&sign);
	keyfiles_deinit(&sign.keyfiles);
	return status;
}
