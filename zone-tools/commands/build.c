/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * build.c - dnsblv6-zone build: lists -> listing -> plan -> guards -> store.
 *
 * Reads as that line: each step ends the build when it must, and nothing is
 * written before the last.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/chain/builder.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/plan/room.h"
#include "zone-tools/plan/guard.h"
#include "zone-tools/commands/keyfiles.h"
#include "zone-tools/plan/plan.h"
#include "zone-tools/base/progress.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/base/spec.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/output.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

enum row {
	OPTION_ZONE,
	OPTION_STORE,
	OPTION_NS,
	OPTION_STYLE,
	OPTION_CHANGE_STYLE,
	OPTION_CLASSIC,
	OPTION_REASON,
	OPTION_TTL,
	OPTION_NEGATIVE_TTL,
	OPTION_SERIAL,
	OPTION_MAILBOX,
	OPTION_FORGET,
	OPTION_IGNORE_COLUMNS,
	OPTION_CUT_HOST_BITS,
	OPTION_ALLOW_RESERVED,
	OPTION_SKIP_RESERVED,
	OPTION_EXCEPT,
	OPTION_ALLOW_EMPTY,
	OPTION_MAX_BAD_LINES,
	OPTION_MAX_SHRINK,
	OPTION_MAX_GROW,
	OPTION_MAX_LISTED,
	OPTION_MAX_LISTED6,
	OPTION_MAX_RECORDS,
	OPTION_KEY,
	OPTION_PUBLISH,
	OPTION_WITHDRAW,
	OPTION_LIFETIME,
	OPTION_UNSIGN,
	OPTION_TRUST_CLOCK,
	OPTION_ZONEMD,
	OPTION_QUIET,
};

static const struct options_row rows[] = {
	[OPTION_ZONE] = { 'z', "zone", "NAME", "apex of the zone, such as bl6.example." },
	[OPTION_STORE] = { 's', "store", "FILE", "store to make or to replace" },
	[OPTION_NS] = { 'n', "ns", "NAME[,ADDRESS...]",
			"name server of the zone; may be repeated" },
	[OPTION_STYLE] = { 0, "style", "dotted|flat", "style of the owner names (dotted)" },
	[OPTION_CHANGE_STYLE] = { 0, "change-style", NULL,
				  "the names of the store may become those of another style" },
	[OPTION_CLASSIC] = { 0, "classic", "NAME", "classic zone to name in the metadata" },
	[OPTION_REASON] = { 0, "reason", "URL",
			    "where people look an address up; $ is the address" },
	[OPTION_TTL] = { 0, "ttl", "SECONDS", "of bitmaps (2100)" },
	[OPTION_NEGATIVE_TTL] = { 0, "negative-ttl", "SECONDS", "of 'not listed' (600)" },
	[OPTION_SERIAL] = { 0, "serial", "NUMBER",
			    "of the SOA (the time, or one more than before)" },
	[OPTION_MAILBOX] = { 0, "mailbox", "NAME", "SOA mailbox (hostmaster.ZONE)" },
	[OPTION_FORGET] = { 0, "forget", "OPTION",
			    "what the store remembers of it, such as ttl; may be repeated" },
	[OPTION_IGNORE_COLUMNS] = { 0, "ignore-columns", NULL,
				    "plain lists: read the first column only" },
	[OPTION_CUT_HOST_BITS] = { 0, "cut-host-bits", NULL, "read 192.0.2.1/24 as 192.0.2.0/24" },
	[OPTION_ALLOW_RESERVED] = { 0, "allow-reserved", NULL,
				    "list 0/8, 10/8, 127/8 and the like" },
	[OPTION_SKIP_RESERVED] = { 0, "skip-reserved", NULL, "leave such entries out instead" },
	[OPTION_EXCEPT] = { 0, "except", "FILE", "never list what this file has; may be repeated" },
	[OPTION_ALLOW_EMPTY] = { 0, "allow-empty", NULL, "a list may be empty" },
	[OPTION_MAX_BAD_LINES] = { 0, "max-bad-lines", "COUNT", "unreadable lines to skip (0)" },
	[OPTION_MAX_SHRINK] = { 0, "max-shrink", "PERCENT", "the zone may shrink by (50)" },
	[OPTION_MAX_GROW] = { 0, "max-grow", "PERCENT", "the zone may grow by (200)" },
	[OPTION_MAX_LISTED] = { 0, "max-listed", "PERCENT", "of IPv4 may be listed (20)" },
	[OPTION_MAX_LISTED6] = { 0, "max-listed6", "COUNT", "of IPv6 /32s may be listed (50000)" },
	[OPTION_MAX_RECORDS] = { 0, "max-records", "COUNT", "the zone may have (16000000)" },
	[OPTION_KEY] = { 'k', "key", "FILE", "sign the zone with this key (see keygen)" },
	[OPTION_PUBLISH] = { 0, "publish", "FILE",
			     "have this key in the zone as well; may be repeated" },
	[OPTION_WITHDRAW] = { 0, "withdraw", "KEYTAG",
			      "take this key out of the zone; may be repeated" },
	[OPTION_LIFETIME] = { 0, "lifetime", "SECONDS", "of signatures (1209600)" },
	[OPTION_UNSIGN] = { 0, "unsign", NULL,
			    "a signed zone may become unsigned, or change its keys at once" },
	[OPTION_TRUST_CLOCK] = { 0, "trust-clock", NULL,
				 "sign though the store was changed later than now" },
	[OPTION_ZONEMD] = { 0, "zonemd", NULL, "have a digest of the zone in it (RFC 8976)" },
	[OPTION_QUIET] = { 'q', "quiet", NULL, "do not print what was built" },
};

static const struct options_table table = {
	.program = "dnsblv6-zone build",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --store FILE --ns NAME [options] LIST ...",
	.summary = "Makes or replaces a store. LIST is a file, - for standard input, or "
		   "TYPE:FILE[,FILE...]\nwith an rbldnsd dataset TYPE such as ip4set.",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

struct build {
	struct spec spec;
	const char *zone;
	const char *store;
	bool is_quiet;
	struct keyfiles keyfiles;
	struct settings settings; /* for the store to remember */
	struct settings recalled; /* what it remembered; spec has text of it */
	struct settings forgotten;
	bool has_style; /* on the command line */
	bool may_change_style;
	bool is_there; /* the store; then before is of it */
	struct dnsblv6_facts before;
	uint32_t lifetime_s;
	bool trusts_clock;
	uint64_t max_records;
	uint64_t now_s;
	struct sources_options sources;
	struct guard_limits limits;
	struct findings findings;
	struct progress progress;
	struct listing listing;
	struct plan plan;
};

/* ---- the command line ---- */

static void parse_zone(struct build *build, const char *argument)
{
	int ret = dnsblv6_name_from_text(argument, &build->spec.zone);
	if (ret != DNSBLV6_OK || build->spec.zone.size == 0)
		options_fail(&table, "--zone '%s': not a domain name", argument);
	/* Canonical form, RFC 4034 section 6.2; sizes of labels are below all letters. */
	for (unsigned i = 0; i < build->spec.zone.size; i++)
		build->spec.zone.wire[i] = (uint8_t)tolower(build->spec.zone.wire[i]);
	build->zone = argument;
}

static void parse_style(struct build *build, const char *argument)
{
	build->has_style = true;
	if (strcmp(argument, "flat") == 0)
		build->spec.style = DNSBLV6_STYLE_FLAT;
	else if (strcmp(argument, "dotted") != 0)
		options_fail(&table, "--style is dotted or flat, not '%s'", argument);
}

static void parse_ns(struct build *build, const char *argument)
{
	char given[256];
	snprintf(given, sizeof(given), "%s", argument);
	/* argv may be written to (C11 5.1.2.2.1), and outlives the build. */
	const char *problem = spec_add_ns(&build->spec, (char *)(uintptr_t)argument);
	if (problem != NULL)
		options_fail(&table, "--ns '%s': %s", given, problem);
}

static uint64_t number(enum row option, const char *argument, uint64_t min, uint64_t max)
{
	return options_number(&table, rows[option].name, argument, min, max);
}

static unsigned percent(enum row option, const char *argument, uint64_t max)
{
	return (unsigned)number(option, argument, 0, max);
}

static void parse_limit(struct build *build, enum row option, const char *argument)
{
	switch (option) {
	case OPTION_MAX_BAD_LINES:
		build->findings.bad_lines_allowed = number(option, argument, 0, UINT32_MAX);
		break;
	case OPTION_MAX_SHRINK:
		build->limits.max_shrink_percent = percent(option, argument, 100);
		break;
	case OPTION_MAX_GROW:
		build->limits.max_grow_percent = percent(option, argument, 1000000);
		break;
	case OPTION_MAX_LISTED:
		build->limits.max_listed_percent = percent(option, argument, 100);
		break;
	case OPTION_MAX_LISTED6:
		build->limits.max_listed6 = number(option, argument, 0, UINT32_MAX);
		break;
	default:
		build->max_records = number(OPTION_MAX_RECORDS, argument, 1, UINT32_MAX);
		break;
	}
}

static void parse_withdraw(struct build *build, const char *argument)
{
	const char *problem = keyfiles_withdraw(&build->keyfiles, argument);
	if (problem != NULL)
		options_fail(&table, "--withdraw '%s': %s", argument, problem);
}

/* Options about signing. False for any other. */
static bool parse_signing(struct build *build, enum row option, const char *argument)
{
	switch (option) {
	case OPTION_KEY:
		keyfiles_set_active(&build->keyfiles, argument);
		return true;
	case OPTION_PUBLISH:
		if (!keyfiles_add(&build->keyfiles, argument))
			options_fail(&table, "--publish: more than %d keys", SIGNER_KEYS_MAX);
		return true;
	case OPTION_WITHDRAW:
		parse_withdraw(build, argument);
		return true;
	case OPTION_LIFETIME:
		build->lifetime_s = (uint32_t)number(option, argument, SIGNER_LIFETIME_MIN_S,
						     SIGNER_LIFETIME_MAX_S);
		return true;
	case OPTION_UNSIGN:
		build->keyfiles.set.may_replace = true;
		return true;
	case OPTION_TRUST_CLOCK:
		build->trusts_clock = true;
		return true;
	case OPTION_ZONEMD:
		build->spec.has_zonemd = true;
		return true;
	default:
		return false;
	}
}

/* Options about how lists are read. False for any other. */
static bool parse_reading(struct build *build, enum row option, const char *argument)
{
	struct sources_options *sources = &build->sources;
	switch (option) {
	case OPTION_IGNORE_COLUMNS:
		sources->ignore_columns = true;
		return true;
	case OPTION_CUT_HOST_BITS:
		sources->cut_host_bits = true;
		return true;
	case OPTION_ALLOW_RESERVED:
		sources->allow_reserved = true;
		return true;
	case OPTION_SKIP_RESERVED:
		sources->skip_reserved = true;
		return true;
	case OPTION_EXCEPT:
		if (!sources_add_except(sources, argument))
			options_fail(&table, "--except: more than %d files", SOURCES_EXCEPT_MAX);
		return true;
	case OPTION_ALLOW_EMPTY:
		sources->allow_empty = true;
		return true;
	default:
		return false;
	}
}

/* Options that a store remembers, so that the next build need not be told. */
static bool is_remembered(enum row option)
{
	return option == OPTION_NS || option == OPTION_CLASSIC || option == OPTION_REASON ||
	       option == OPTION_TTL || option == OPTION_NEGATIVE_TTL || option == OPTION_MAILBOX ||
	       option == OPTION_LIFETIME || option == OPTION_ZONEMD;
}

/* The row of that name among them; false when there is none. */
static bool find_remembered(const char *name, enum row *ret_option)
{
	for (size_t i = 0; i < table.row_count; i++) {
		if (!is_remembered((enum row)i) || strcmp(rows[i].name, name) != 0)
			continue;
		*ret_option = (enum row)i;
		return true;
	}
	return false;
}

/* Out of memory on a command line is nothing to go on from. */
static void remember(struct settings *settings, const char *name, const char *value)
{
	if (settings_add(settings, name, value != NULL ? value : "") != DNSBLV6_OK) {
		log_error(NULL, "out of memory");
		exit(EX_TEMPFAIL);
	}
}

static void parse_forget(struct build *build, const char *argument)
{
	enum row option;
	if (!find_remembered(argument, &option))
		options_fail(&table, "--forget '%s': no option that a store remembers", argument);
	remember(&build->forgotten, argument, NULL);
}

/* Options about what the store remembers. False for any other. */
static bool parse_memory(struct build *build, enum row option, const char *argument)
{
	switch (option) {
	case OPTION_STYLE:
		parse_style(build, argument);
		return true;
	case OPTION_CHANGE_STYLE:
		build->may_change_style = true;
		return true;
	case OPTION_FORGET:
		parse_forget(build, argument);
		return true;
	default:
		return false;
	}
}

static void parse_option(struct build *build, enum row option, const char *argument)
{
	struct spec *spec = &build->spec;
	if (is_remembered(option))
		remember(&build->settings, rows[option].name, argument);
	if (parse_signing(build, option, argument) || parse_reading(build, option, argument) ||
	    parse_memory(build, option, argument))
		return;
	switch (option) {
	case OPTION_ZONE:
		parse_zone(build, argument);
		break;
	case OPTION_STORE:
		build->store = argument;
		break;
	case OPTION_NS:
		parse_ns(build, argument);
		break;
	case OPTION_CLASSIC:
		spec->classic = argument;
		break;
	case OPTION_REASON:
		spec->reason = argument;
		break;
	case OPTION_TTL:
		spec->ttl = (uint32_t)number(option, argument, 1, INT32_MAX);
		break;
	case OPTION_NEGATIVE_TTL:
		spec->negative_ttl = (uint32_t)number(option, argument, 1, INT32_MAX);
		break;
	case OPTION_SERIAL:
		spec->serial = (uint32_t)number(option, argument, 1, UINT32_MAX);
		spec->has_serial = true;
		break;
	case OPTION_MAILBOX:
		spec->mailbox = argument;
		break;
	case OPTION_QUIET:
		build->is_quiet = true;
		break;
	default:
		parse_limit(build, option, argument);
		break;
	}
}

static void parse_command_line(struct build *build, int argc, char **argv)
{
	const char *argument;
	int option;
	while ((option = options_next(&table, argc, argv, &argument)) != OPTIONS_END)
		parse_option(build, (enum row)option, argument);
	if (build->zone == NULL)
		options_fail(&table, "--zone is missing");
	if (build->store == NULL)
		options_fail(&table, "--store is missing");
	if (keyfiles_lack_active(&build->keyfiles))
		options_fail(&table, "--publish and --withdraw need --key");
	if (build->may_change_style && !build->has_style)
		options_fail(&table, "--change-style needs --style");
	if (optind == argc)
		options_fail(&table, "no LIST given");
}

/* ---- what the store remembers ---- */

static const char *style_word(unsigned style)
{
	return style == DNSBLV6_STYLE_FLAT ? "flat" : "dotted";
}

/* A name of this version's or, kept for it, of a later one's. */
static void recall_setting(struct build *build, size_t given_count, const struct setting *setting)
{
	const struct settings given = { build->settings.items, given_count, given_count };
	enum row option;
	if (settings_has(&given, setting->name) || settings_has(&build->forgotten, setting->name))
		return;
	if (find_remembered(setting->name, &option))
		parse_option(build, option, setting->value);
	else
		remember(&build->settings, setting->name, setting->value);
}

/* A store that was built before there were settings has its TTL in its facts. */
static void recall_ttl(struct build *build)
{
	char ttl[16];
	snprintf(ttl, sizeof(ttl), "%" PRIu32, build->before.ttl);
	if (build->before.ttl != LISTING_TTL_DEFAULT)
		remember(&build->recalled, rows[OPTION_TTL].name, ttl);
}

static int recall_settings(struct build *build)
{
	size_t given_count = build->settings.count;
	int ret = settings_read(build->store, &build->recalled);
	if (ret == DNSBLV6_ENOTFOUND) {
		recall_ttl(build);
		ret = DNSBLV6_OK;
	}
	for (size_t i = 0; ret == DNSBLV6_OK && i < build->recalled.count; i++)
		recall_setting(build, given_count, &build->recalled.items[i]);
	return ret;
}

static int check_style(struct build *build)
{
	unsigned before = build->before.style;
	if (!build->has_style)
		build->spec.style = (enum dnsblv6_style)before;
	if (build->may_change_style || (unsigned)build->spec.style == before)
		return EX_OK;
	log_error(build->store,
		  "store not written, zone=%s style=%s before=%s (--change-style changes it)",
		  build->zone, style_word(build->spec.style), style_word(before));
	return EX_DATAERR;
}

/* What the store holds now; none is fine, a damaged one is not ours to overwrite. */
static int look_at_store(struct build *build)
{
	int ret = verify_store(build->store, &zone_store, &build->before);
	if (ret == -ENOENT || ret == STORE_EUNFINISHED)
		return EX_OK;
	if (ret == DNSBLV6_OK)
		ret = recall_settings(build);
	if (ret != DNSBLV6_OK) {
		log_error(build->store, "store not replaced (%s)", chain_strerror(ret));
		return commands_exit_status(ret);
	}
	build->is_there = true;
	return check_style(build);
}

/* ---- the steps ---- */

/* An unreadable file counts as a refusal that has been told already. */
static int read_lists(struct build *build, int argc, char **argv)
{
	int status = commands_exit_status(
		sources_read_except(&build->listing, &build->sources, &build->findings));
	for (int i = optind; i < argc; i++) {
		int ret = sources_read(&build->listing, argv[i], &build->sources, &build->findings,
				       &build->progress);
		if (ret == -ENOMEM)
			log_error(NULL, "out of memory while reading, list=%s", argv[i]);
		if (ret != DNSBLV6_OK && status == EX_OK)
			status = ret == -EINVAL ? EX_USAGE : commands_exit_status(ret);
	}
	return status;
}

static int complete_spec(struct build *build)
{
	const char *problem = spec_complete(&build->spec, &build->listing.zone);
	if (problem == NULL)
		return EX_OK;
	log_error(build->zone, "zone not built (%s)", problem);
	return EX_USAGE;
}

static int make_plan(struct build *build)
{
	int ret = plan_make(&build->listing, &build->plan);
	if (ret == DNSBLV6_OK)
		ret = plan_add_names(&build->plan, &build->listing, &build->spec, &build->findings);
	if (ret != DNSBLV6_OK)
		log_error(build->zone, "zone not built (%s)", chain_strerror(ret));
	return commands_exit_status(ret);
}

static int refuse(struct build *build)
{
	progress_end(&build->progress);
	findings_end(&build->findings);
	log_error(build->store, "store not written, zone=%s refusals=%" PRIu64, build->zone,
		  build->findings.refusal_count);
	return EX_DATAERR;
}

/* A list that always says the same serial is built all the same. */
static void report_serial(const struct build *build, const struct builder_result *result)
{
	const struct spec *spec = &build->spec;
	if (spec->has_serial || spec->serial == 0 || spec->serial == result->serial)
		return;
	log_warning(build->store,
		    "serial of $SOA is not newer, given=%" PRIu32 " before=%" PRIu32
		    " (took one more than before)",
		    spec->serial, result->serial - 1);
}

static int report(const struct build *build, const struct builder_result *result)
{
	if (!result->is_unchanged)
		report_serial(build, result);
	if (result->is_unchanged && !build->is_quiet)
		printf("nothing changed in %s: serial=%" PRIu32 "\n", build->zone, result->serial);
	else if (!build->is_quiet)
		printf("built %s: ipv4=%" PRIu64 " ipv6=%" PRIu64 " blocks=%" PRIu64
		       " names=%" PRIu64 " records=%" PRIu64 " changed=%" PRIu64 " signed=%" PRIu64
		       " serial=%" PRIu32 "\n",
		       build->zone, build->plan.counts.ipv4, build->plan.counts.ipv6,
		       build->plan.counts.blocks, build->plan.counts.names, result->record_count,
		       result->changed_count, result->signature_count, result->serial);
	int ret = output_end(false);
	if (ret == 0)
		return EX_OK;
	log_error(NULL, "output not written, but the store is (%s)", chain_strerror(ret));
	return EX_IOERR;
}

static int write_store(struct build *build)
{
	struct builder_job job = {
		.path = build->store,
		.plan = &build->plan,
		.listing = &build->listing,
		.spec = &build->spec,
		.settings = &build->settings,
		.may_change_style = build->may_change_style,
		.keyset = &build->keyfiles.set,
		.lifetime_s = build->lifetime_s,
		.now_s = build->now_s,
		.trusts_clock = build->trusts_clock,
		.max_records = build->max_records,
		.progress = &build->progress,
		.limits = &build->limits,
		.findings = &build->findings,
	};
	struct builder_result result;
	char keys[KEYSET_TEXT_SIZE];
	int ret = builder_write(&job, &result);
	progress_end(&build->progress);
	if (ret == CHAIN_EREFUSED)
		return refuse(build);
	if (ret != DNSBLV6_OK) {
		keyset_describe(&build->keyfiles.set, ret, keys);
		log_error(build->store, "store not written, zone=%s %s(%s)", build->zone, keys,
			  chain_strerror(ret));
		return commands_exit_status(ret);
	}
	keyfiles_report_kept(&build->keyfiles, build->store);
	return report(build, &result);
}

static bool is_refused(const struct build *build)
{
	return build->findings.refusal_count > 0;
}

static int run(struct build *build, int argc, char **argv)
{
	int status = keyfiles_read(&build->keyfiles);
	if (status == EX_OK)
		status = look_at_store(build);
	if (status != EX_OK)
		return status;
	status = read_lists(build, argc, argv);
	if (status != EX_OK)
		return refuse(build), status;
	if (is_refused(build))
		return refuse(build);
	status = complete_spec(build);
	if (status == EX_OK)
		status = make_plan(build);
	if (status != EX_OK)
		return status;
	guard_totals(&build->plan.counts, build->is_there ? &build->before : NULL, build->store,
		     &build->limits, &build->findings);
	room_check(&build->plan, &build->listing, &build->spec, build->max_records,
		   &build->findings);
	if (is_refused(build))
		return refuse(build);
	findings_end(&build->findings);
	return write_store(build);
}

int build_command(int argc, char **argv)
{
	struct build build = { .limits = GUARD_LIMITS_DEFAULT,
			       .max_records = 16000000,
			       .lifetime_s = SIGNER_LIFETIME_S,
			       .now_s = (uint64_t)time(NULL),
			       .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	build.sources.now_s = build.now_s;
	keyfiles_init(&build.keyfiles);
	parse_command_line(&build, argc, argv);
	progress_init(&build.progress);
	if (listing_init(&build.listing) != DNSBLV6_OK)
		return EX_TEMPFAIL;
	int status = run(&build, argc, argv);
	keyfiles_deinit(&build.keyfiles);
	settings_deinit(&build.settings);
	settings_deinit(&build.recalled);
	settings_deinit(&build.forgotten);
	plan_deinit(&build.plan);
	listing_deinit(&build.listing);
	return status;
}
