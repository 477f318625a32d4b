/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * update.c - dnsblv6-zone update: some addresses more in a store, some less.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/lists/changes.h"
#include "zone-tools/commands/keyfiles.h"
#include "zone-tools/chain/updater.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/output.h"
#include "lib/common/version.h"
#include "lib/lmdb/store.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum row {
	OPTION_STORE,
	OPTION_ADD,
	OPTION_REMOVE,
	OPTION_SUBZONE,
	OPTION_KEY,
	OPTION_PUBLISH,
	OPTION_LIFETIME,
	OPTION_TRUST_CLOCK,
	OPTION_SERIAL,
	OPTION_CUT_HOST_BITS,
	OPTION_ALLOW_RESERVED,
	OPTION_SKIP_RESERVED,
	OPTION_EXCEPT,
	OPTION_ALLOW_EMPTY,
	OPTION_MAX_SHRINK,
	OPTION_MAX_GROW,
	OPTION_MAX_LISTED,
	OPTION_MAX_LISTED6,
	OPTION_MAX_RECORDS,
	OPTION_QUIET,
};

static const struct options_row rows[] = {
	[OPTION_STORE] = { 's', "store", "FILE", "store to change" },
	[OPTION_ADD] = { 'a', "add", "WHAT",
			 "address, prefix, range, or file of them; may be repeated" },
	[OPTION_REMOVE] = { 'r', "remove", "WHAT", "the same, to be listed no more" },
	[OPTION_SUBZONE] = { 0, "subzone", "NAME", "change the list of this sub-zone" },
	[OPTION_KEY] = { 'k', "key", "FILE", "the key that signs the zone" },
	[OPTION_PUBLISH] = { 0, "publish", "FILE",
			     "another key that the zone has; may be repeated" },
	[OPTION_LIFETIME] = { 0, "lifetime", "SECONDS", "of signatures (1209600)" },
	[OPTION_TRUST_CLOCK] = { 0, "trust-clock", NULL,
				 "sign though the store was changed later than now" },
	[OPTION_SERIAL] = { 0, "serial", "NUMBER",
			    "of the SOA (the time, or one more than before)" },
	[OPTION_CUT_HOST_BITS] = { 0, "cut-host-bits", NULL, "read 192.0.2.1/24 as 192.0.2.0/24" },
	[OPTION_ALLOW_RESERVED] = { 0, "allow-reserved", NULL,
				    "list 0/8, 10/8, 127/8 and the like" },
	[OPTION_SKIP_RESERVED] = { 0, "skip-reserved", NULL, "leave such entries out instead" },
	[OPTION_EXCEPT] = { 0, "except", "FILE", "never list what this file has; may be repeated" },
	[OPTION_ALLOW_EMPTY] = { 0, "allow-empty", NULL, "a list may be empty" },
	[OPTION_MAX_SHRINK] = { 0, "max-shrink", "PERCENT", "the zone may shrink by (50)" },
	[OPTION_MAX_GROW] = { 0, "max-grow", "PERCENT", "the zone may grow by (200)" },
	[OPTION_MAX_LISTED] = { 0, "max-listed", "PERCENT", "of IPv4 may be listed (20)" },
	[OPTION_MAX_LISTED6] = { 0, "max-listed6", "COUNT", "of IPv6 /32s may be listed (50000)" },
	[OPTION_MAX_RECORDS] = { 0, "max-records", "COUNT", "the zone may have (16000000)" },
	[OPTION_QUIET] = { 'q', "quiet", NULL, "do not print what was changed" },
};

static const struct options_table table = {
	.program = "dnsblv6-zone update",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE [--add WHAT ...] [--remove WHAT ...] [options]",
	.summary = "Changes what a store lists, at a cost that depends on the change alone.\n"
		   "WHAT may be - for standard input.",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

struct update {
	struct change_source *sources; /* one for each --add and --remove; ours */
	size_t source_count;
	struct sources_options options;
	struct guard_limits limits;
	struct findings findings;
	struct keyfiles keyfiles;
	struct dnsblv6_labels subzone;
	struct pieces changes;
	struct updater_job job;
	bool is_quiet;
};

/* ---- the command line ---- */

static uint64_t number(enum row option, const char *argument, uint64_t min, uint64_t max)
{
	return options_number(&table, rows[option].name, argument, min, max);
}

static void parse_subzone(struct update *update, const char *argument)
{
	struct dnsblv6_labels *name = &update->subzone;
	if (dnsblv6_name_from_text(argument, name) != DNSBLV6_OK || name->size == 0)
		options_fail(&table, "--subzone '%s': not a domain name", argument);
	for (unsigned i = 0; i < name->size; i++)
		name->wire[i] = (uint8_t)tolower(name->wire[i]);
}

static void parse_limit(struct update *update, enum row option, const char *argument)
{
	switch (option) {
	case OPTION_MAX_SHRINK:
		update->limits.max_shrink_percent = (unsigned)number(option, argument, 0, 100);
		break;
	case OPTION_MAX_GROW:
		update->limits.max_grow_percent = (unsigned)number(option, argument, 0, 1000000);
		break;
	case OPTION_MAX_LISTED:
		update->limits.max_listed_percent = (unsigned)number(option, argument, 0, 100);
		break;
	case OPTION_MAX_LISTED6:
		update->limits.max_listed6 = number(option, argument, 0, UINT32_MAX);
		break;
	default:
		update->job.max_records = number(OPTION_MAX_RECORDS, argument, 1, UINT32_MAX);
		break;
	}
}

/* Options about keys and serial. False for any other. */
static bool parse_signing(struct update *update, enum row option, const char *argument)
{
	switch (option) {
	case OPTION_KEY:
		keyfiles_set_active(&update->keyfiles, argument);
		return true;
	case OPTION_PUBLISH:
		if (!keyfiles_add(&update->keyfiles, argument))
			options_fail(&table, "--publish: more than %d keys", SIGNER_KEYS_MAX);
		return true;
	case OPTION_LIFETIME:
		update->job.lifetime_s = (uint32_t)number(option, argument, SIGNER_LIFETIME_MIN_S,
							  SIGNER_LIFETIME_MAX_S);
		return true;
	case OPTION_TRUST_CLOCK:
		update->job.trusts_clock = true;
		return true;
	case OPTION_SERIAL:
		update->job.serial = (uint32_t)number(option, argument, 1, UINT32_MAX);
		return true;
	default:
		return false;
	}
}

static void parse_option(struct update *update, enum row option, const char *argument)
{
	if (parse_signing(update, option, argument))
		return;
	switch (option) {
	case OPTION_STORE:
		update->job.path = argument;
		break;
	case OPTION_ADD:
	case OPTION_REMOVE:
		update->sources[update->source_count++] =
			(struct change_source){ argument, option == OPTION_REMOVE };
		break;
	case OPTION_SUBZONE:
		parse_subzone(update, argument);
		break;
	case OPTION_CUT_HOST_BITS:
		update->options.cut_host_bits = true;
		break;
	case OPTION_ALLOW_RESERVED:
		update->options.allow_reserved = true;
		break;
	case OPTION_SKIP_RESERVED:
		update->options.skip_reserved = true;
		break;
	case OPTION_ALLOW_EMPTY:
		update->options.allow_empty = true;
		break;
	case OPTION_EXCEPT:
		if (!sources_add_except(&update->options, argument))
			options_fail(&table, "--except: more than %d files", SOURCES_EXCEPT_MAX);
		break;
	case OPTION_QUIET:
		update->is_quiet = true;
		break;
	default:
		parse_limit(update, option, argument);
		break;
	}
}

static void parse_command_line(struct update *update, int argc, char **argv)
{
	const char *argument;
	int option;
	while ((option = options_next(&table, argc, argv, &argument)) != OPTIONS_END)
		parse_option(update, (enum row)option, argument);
	if (update->job.path == NULL)
		options_fail(&table, "--store is missing");
	if (keyfiles_lack_active(&update->keyfiles))
		options_fail(&table, "--publish needs --key");
	if (update->source_count == 0)
		options_fail(&table, "neither --add nor --remove given");
	if (optind < argc)
		options_fail(&table, "unexpected word '%s'", argv[optind]);
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
			       &update->findings, &update->changes);
	if (ret == -ENOMEM)
		log_error(update->job.path, "store not changed (%s)", chain_strerror(ret));
	if (ret != DNSBLV6_OK)
		return commands_exit_status(ret);
	if (update->findings.refusal_count > 0)
		return refuse(update);
	findings_end(&update->findings);
	return EX_OK;
}

static int print(const char *text)
{
	puts(text);
	int ret = output_end(false);
	if (ret == 0)
		return EX_OK;
	log_error(NULL, "output not written, but the store is (%s)", chain_strerror(ret));
	return EX_IOERR;
}

static int report(const struct update *update, const struct updater_result *result)
{
	char zone[DNSBLV6_NAME_TEXT_SIZE];
	char text[DNSBLV6_NAME_TEXT_SIZE + 200];
	dnsblv6_name_format(result->zone.wire, result->zone.size, zone);
	snprintf(text, sizeof(text),
		 "updated %s.: ipv4=%" PRIu64 " (%+" PRId64 ") ipv6=%" PRIu64 " (%+" PRId64
		 ") changed=%" PRIu64 " signed=%" PRIu64 " serial=%" PRIu32,
		 zone, result->ipv4_count, result->ipv4_change, result->ipv6_count,
		 result->ipv6_change, result->changed_count, result->signature_count,
		 result->serial);
	return update->is_quiet ? EX_OK : print(text);
}

static int change_store(struct update *update)
{
	struct updater_result result;
	char keys[KEYSET_TEXT_SIZE];
	update->job.changes = &update->changes;
	update->job.subzone = &update->subzone;
	update->job.keyset = &update->keyfiles.set;
	update->keyfiles.set.may_not_add = true;
	update->job.limits = &update->limits;
	update->job.findings = &update->findings;
	int ret = updater_run(&update->job, &result);
	if (ret == DNSBLV6_OK) {
		keyfiles_report_kept(&update->keyfiles, update->job.path);
		return report(update, &result);
	}
	if (ret == CHAIN_EUNCHANGED)
		return update->is_quiet ? EX_OK : print("nothing to change");
	if (ret == CHAIN_EREFUSED)
		return refuse(update);
	keyset_describe(&update->keyfiles.set, ret, keys);
	log_error(update->job.path, "store not changed %s(%s)", keys, chain_strerror(ret));
	return commands_exit_status(ret);
}

static int await_child(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/*
 * LMDB trusts the pages inside a file. To read all of them first, as build
 * does, would cost more than the update; so a child walks into damage, and its
 * transaction ends with it.
 */
static int change_store_in_child(struct update *update)
{
	int status = 0;
	pid_t parent_pid = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent_pid)
			_exit(EX_TEMPFAIL); /* it died before that took effect */
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		_exit(change_store(update));
	}
	int ret = pid < 0 ? -errno : await_child(pid, &status);
	if (ret != 0) {
		log_error(update->job.path, "store not changed (%s)", chain_strerror(ret));
		return EX_OSERR;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	int number = WTERMSIG(status);
	if (number == SIGSEGV || number == SIGBUS || number == SIGABRT) {
		log_error(update->job.path, "store not changed (%s)",
			  chain_strerror(STORE_ECORRUPT));
		return commands_exit_status(STORE_ECORRUPT);
	}
	log_error(update->job.path, "store not changed, signal=%d", number);
	return EX_SOFTWARE;
}

int update_command(int argc, char **argv)
{
	struct update update = { .limits = GUARD_LIMITS_DEFAULT,
				 .job = { .max_records = 16000000, .now_s = (uint64_t)time(NULL) },
				 .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	update.sources = calloc((size_t)argc, sizeof(*update.sources));
	if (update.sources == NULL)
		return EX_TEMPFAIL;
	keyfiles_init(&update.keyfiles);
	parse_command_line(&update, argc, argv);
	int status = keyfiles_read(&update.keyfiles);
	if (status == EX_OK)
		status = read_changes(&update);
	if (status == EX_OK)
		status = change_store_in_child(&update);
	keyfiles_deinit(&update.keyfiles);
	pieces_deinit(&update.changes);
	free(update.sources);
	return status;
}
