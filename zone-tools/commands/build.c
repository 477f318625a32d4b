/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * build.c - dnsblv6-zone build: lists -> listing -> plan -> guards -> store.
 *
 * Reads as that line: each step ends the build when it must, and nothing is
 * written before the last.
 */

#include "zone-tools/commands/build.h"

#include "zone-tools/chain/builder.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/reading/compare.h"
#include "zone-tools/plan/room.h"
#include "zone-tools/plan/guard.h"
#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/followers.h"
#include "zone-tools/commands/zonecall.h"
#include "zone-tools/plan/plan.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/records/apex.h"
#include "zone-tools/base/spec.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/process/progress.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

struct build {
	struct spec spec;
	const char *zone;
	struct builder_job job;
	char **lists;		   /* ends with NULL, as argv */
	const char *classic_store; /* for the zone that spec.classic names, or NULL */
	bool is_quiet;
	struct keyfiles keyfiles;
	struct keydir keydir;
	struct store_settings settings; /* for the store to remember */
	struct store_settings recalled; /* what it remembered; spec has text of it */
	struct store_settings forgotten;
	bool has_style; /* on the command line */
	bool is_there;	/* the store; then before is of it */
	struct dnsblv6_facts before;
	bool is_written;
	uint64_t lines_max; /* of the difference that a dry run prints */
	struct sources_options sources;
	struct guard_limits limits;
	struct findings findings;
	struct progress progress;
	struct listing listing;
	struct plan plan;
	struct secondaries secondaries;
};

/* ---- the command line ---- */

static const char *take_zone(void *member, const char *argument)
{
	struct build *build = member;
	struct dnsblv6_labels *zone = &build->spec.zone;
	build->zone = argument;
	return rows_take_name(zone, argument);
}

static const struct style_word {
	enum dnsblv6_style style;
	const char *word;
} style_words[] = {
	{ DNSBLV6_STYLE_DOTTED, "dotted" },   { DNSBLV6_STYLE_FLAT, "flat" },
	{ DNSBLV6_STYLE_BOTH, "both" },	      { DNSBLV6_STYLE_BOTH6, "both6" },
	{ DNSBLV6_STYLE_CLASSIC, "classic" },
};

static const char *word_of_style(unsigned style)
{
	for (size_t i = 0; i < sizeof(style_words) / sizeof(style_words[0]); i++) {
		if ((unsigned)style_words[i].style == style)
			return style_words[i].word;
	}
	return "unknown";
}

static const char *take_style(void *member, const char *argument)
{
	struct build *build = member;
	build->has_style = true;
	for (size_t i = 0; i < sizeof(style_words) / sizeof(style_words[0]); i++) {
		if (strcmp(argument, style_words[i].word) != 0)
			continue;
		build->spec.style = style_words[i].style;
		return NULL;
	}
	return "permitted are dotted, flat, both, both6 and classic";
}

static const char *take_ns(void *spec, const char *argument)
{
	/* argv may be written to (C11 5.1.2.2.1), and outlives the build. */
	return spec_add_ns(spec, (char *)(uintptr_t)argument);
}

static const char *take_forget(void *build, const char *argument);

#define AT(member) OPTIONS_AT(struct build, member)

static const struct options_bound rows[] = {
	{ { 'z', "zone", "NAME", "apex of the zone, such as bl6.example." }, .take = take_zone },
	{ { 's', "store", "FILE", "store to make or to replace" }, AT(job.path) },
	{ { 'n', "ns", "NAME[,ADDRESS...]", "name server of the zone; may be repeated" },
	  AT(spec),
	  .take = take_ns,
	  .is_repeated = true,
	  .is_remembered = true },
	{ { 0, "style", "WORD",
	    "of the owner names: dotted (default), flat, both, both6 or classic" },
	  .take = take_style },
	{ { 0, "change-style", NULL, "the names of the store may become those of another style" },
	  AT(job.may_change_style),
	  .is_once = true },
	{ { 0, "classic", "NAME", "classic zone to name in the metadata" },
	  AT(spec.classic),
	  .take = spec_take_classic,
	  .is_remembered = true },
	{ { 0, "classic-store", "FILE", "store to make of that zone, from the same lists" },
	  AT(classic_store) },
	{ { 0, "reason", "URL", "where people look an address up; $ is the address" },
	  AT(spec.reason),
	  .take = spec_take_reason,
	  .is_remembered = true },
	{ { 0, "ttl", "SECONDS", "of bitmaps (2100)" },
	  AT(spec.ttl),
	  .min = 1,
	  .max = INT32_MAX,
	  .is_remembered = true },
	{ { 0, "negative-ttl", "SECONDS", "of 'not listed' (600)" },
	  AT(spec.negative_ttl),
	  .min = 1,
	  .max = INT32_MAX,
	  .is_remembered = true },
	{ { 0, "serial", "NUMBER", "of the SOA (the time, or one more than before)" },
	  AT(spec.serial),
	  .is_once = true,
	  .min = 1,
	  .max = UINT32_MAX },
	{ { 0, "mailbox", "NAME", "SOA mailbox (hostmaster.ZONE)" },
	  AT(spec.mailbox),
	  .take = spec_take_mailbox,
	  .is_remembered = true },
	{ { 0, "forget", "OPTION", "what the store remembers of it, such as ttl; may be repeated" },
	  .take = take_forget,
	  .is_once = true },
	{ { 0, "value", ":A:TEXT", "of addresses in plain lists (:127.0.0.2)" },
	  AT(sources.value),
	  .take = rows_take_value,
	  .is_remembered = true },
	ROWS_IGNORE_COLUMNS(struct build, sources),
	ROWS_SOURCES(struct build, sources),
	{ { 0, "max-bad-lines", "COUNT", "unreadable lines to skip (0)" },
	  AT(findings.bad_lines_allowed),
	  .max = UINT32_MAX },
	ROWS_MAX_CHANGE(struct build, limits),
	ROWS_MAX_LISTED(struct build, limits),
	ROWS_MAX_RECORDS(struct build, job.max_records),
	ROWS_KEY(struct build, keyfiles, "sign the zone with this key (see keygen)"),
	ROWS_PUBLISH(struct build, keyfiles, "have this key in the zone as well; may be repeated"),
	ROWS_WITHDRAW(struct build, keyfiles),
	ROWS_KEYDIR(struct build, keydir),
	ROWS_LIFETIME(struct build, job.lifetime_s),
	{ { 0, "unsign", NULL, "a signed zone may become unsigned, or change its keys at once" },
	  AT(keyfiles.set.may_replace),
	  .is_once = true },
	ROWS_TRUST_CLOCK(struct build, job.trusts_clock),
	ROWS_DRY_RUN(struct build, job.is_dry_run),
	ROWS_ALL(struct build, lines_max),
	{ { 0, "zonemd", NULL, "have a digest of the zone in it (RFC 8976)" },
	  AT(spec.has_zonemd),
	  .is_remembered = true },
	ROWS_SECONDARIES(struct build, secondaries),
	ROWS_CONFIG,
	{ { 'q', "quiet", NULL, "do not print what was built" }, AT(is_quiet), .is_once = true },
};

static const struct options_table table = {
	.program = "dnsblv6-zone build",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --store FILE --ns NAME [options] LIST ...\n"
		 "       dnsblv6-zone build ZONE [options] [LIST ...]",
	.summary = "Makes or replaces a store. LIST is a file, - for standard input, or "
		   "TYPE:FILE[,FILE...]\nwith an rbldnsd dataset TYPE such as ip4set.",
	OPTIONS_ROWS(rows),
};

/* The row of that name among those that a store remembers; negative when there is none. */
static int find_remembered(const char *name)
{
	for (size_t i = 0; i < table.row_count; i++) {
		if (rows[i].is_remembered && strcmp(rows[i].row.name, name) == 0)
			return (int)i;
	}
	return -1;
}

/* Out of memory on a command line is nothing to go on from. */
static void remember(struct store_settings *settings, const char *name, const char *value)
{
	if (store_settings_add(settings, name, value != NULL ? value : "") != DNSBLV6_OK) {
		log_error(NULL, "out of memory");
		exit(EX_TEMPFAIL);
	}
}

static const char *take_forget(void *data, const char *argument)
{
	struct build *build = data;
	if (find_remembered(argument) < 0)
		return "no option that a store remembers";
	remember(&build->forgotten, argument, NULL);
	return NULL;
}

/* What zones.conf says is not among these: it comes before what the command line forgets. */
static void take_option(struct build *build, int row, const char *argument)
{
	const char *name = rows[row].row.name;
	if (store_settings_has(&build->forgotten, name))
		options_fail(&table, "--forget %s and --%s contradict each other", name, name);
	if (rows[row].is_remembered)
		remember(&build->settings, name, argument);
	options_take(&table, row, argument, build);
}

/* Why options do not go together, on the command line or in zones.conf. */
static const char *find_conflict(const struct build *build, struct zonesconf_about *ret_about)
{
	static const char *const classic[] = { "classic-store", NULL };
	static const char *const publish[] = { "publish", NULL };
	static const char *const keys[] = { "keys",	   "roll-every", "algorithm",
					    "propagation", "parent",	 NULL };
	*ret_about = (struct zonesconf_about){ classic, 0 };
	if (build->classic_store != NULL && strcmp(build->classic_store, build->job.path) == 0)
		return "--classic-store is the store itself";
	ret_about->names = publish;
	if (keyfiles_lack_active(&build->keyfiles))
		return "--publish and --withdraw need --key";
	ret_about->names = keys;
	return keydir_find_conflict(&build->keydir, &build->keyfiles);
}

static void parse_command_line(struct build *build, int argc, char **argv)
{
	struct zonesconf_about about;
	const char *argument;
	int row;
	while ((row = options_next(&table, argc, argv, &argument)) != OPTIONS_END)
		take_option(build, row, argument);
	build->spec.has_serial = build->spec.serial != 0;
	if (build->zone == NULL)
		options_fail(&table, "--zone is missing");
	if (build->job.path == NULL)
		options_fail(&table, "--store is missing");
	const char *conflict = find_conflict(build, &about);
	if (conflict != NULL)
		options_fail(&table, "%s", conflict);
	if (build->job.may_change_style && !build->has_style)
		options_fail(&table, "--change-style needs --style");
	if (optind == argc)
		options_fail(&table, "no LIST given");
}

/* ---- what the store remembers ---- */

/* A name of this version's or, kept for it, of a later one's. */
static void recall_setting(struct build *build, size_t given_count,
			   const struct store_setting *setting)
{
	const struct store_settings given = { build->settings.items, given_count, given_count };
	int row = find_remembered(setting->name);
	if (store_settings_has(&given, setting->name) ||
	    store_settings_has(&build->forgotten, setting->name))
		return;
	if (row >= 0)
		take_option(build, row, setting->value);
	else
		remember(&build->settings, setting->name, setting->value);
}

/* A store that was built before there were settings has its TTL in its facts. */
static void recall_ttl(struct build *build)
{
	char ttl[16];
	snprintf(ttl, sizeof(ttl), "%" PRIu32, build->before.ttl);
	if (build->before.ttl != LISTING_TTL_DEFAULT)
		remember(&build->recalled, "ttl", ttl);
}

static int recall_settings(struct build *build)
{
	size_t given_count = build->settings.count;
	int ret = store_settings_read(build->job.path, &build->recalled);
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
	if (build->job.may_change_style || (unsigned)build->spec.style == before)
		return EX_OK;
	log_error(build->job.path,
		  "store not written, zone=%s style=%s before=%s (--change-style changes it)",
		  build->zone, word_of_style(build->spec.style), word_of_style(before));
	return EX_DATAERR;
}

/* What the store holds now; none is fine, a damaged one is not ours to overwrite. */
static int look_at_facts(struct build *build)
{
	int ret = verify_store(build->job.path, &zone_store, &build->before);
	if (ret == -ENOENT || ret == STORE_EUNFINISHED)
		return EX_OK;
	if (ret != DNSBLV6_OK)
		return commands_end(build->job.path, "store not replaced", ret);
	build->is_there = true;
	return check_style(build);
}

static int look_at_store(struct build *build)
{
	int status = look_at_facts(build);
	if (status != EX_OK || !build->is_there)
		return status;
	return commands_end(build->job.path, "store not replaced", recall_settings(build));
}

/* ---- the steps ---- */

/* An unreadable file counts as a refusal that has been told already. */
static int read_lists(struct build *build)
{
	int status = commands_exit_status(
		sources_read_except(&build->listing, &build->sources, &build->findings));
	for (char **list = build->lists; *list != NULL; list++) {
		int ret = sources_read(&build->listing, *list, &build->sources, &build->findings,
				       &build->progress);
		if (ret == -ENOMEM)
			log_error(NULL, "out of memory while reading, list=%s", *list);
		if (ret != DNSBLV6_OK && status == EX_OK)
			status = ret == -EINVAL ? EX_USAGE : commands_exit_status(ret);
	}
	return status;
}

static void fit_signed_zone(struct build *build)
{
	/* When signatures are renewed: signer.c. A secondary that is cut off serves no ended ones. */
	const uint32_t left_s = build->job.lifetime_s / 14 * 5;
	if (build->spec.expire > left_s)
		build->spec.expire = left_s;
	if (spec_has_classic_below(&build->spec))
		log_warning(build->zone,
			    "classic zone is below the signed zone, which proves that it is not "
			    "there, classic=%s",
			    build->spec.classic);
}

static int complete_spec(struct build *build)
{
	const char *problem = spec_complete(&build->spec, &build->listing.zone);
	bool has_keys = build->keydir.directory != NULL || build->keyfiles.set.key_count > 0;
	if (problem == NULL && has_keys)
		fit_signed_zone(build);
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
	if (ret == DNSBLV6_OK)
		guard_rest(&build->plan.counts, &build->listing, &build->findings);
	return commands_end(build->zone, "zone not built", ret);
}

static int refuse(struct build *build)
{
	progress_end(&build->progress);
	findings_end(&build->findings);
	log_error(build->job.path, "store not written, zone=%s refusals=%" PRIu64, build->zone,
		  build->findings.refusal_count);
	return EX_DATAERR;
}

/* A list that always says the same serial is built all the same; watch tells a line that stays the same once. */
static void report_serial(const struct build *build, const struct builder_result *result)
{
	const struct spec *spec = &build->spec;
	if (spec->has_serial || spec->serial == 0 || spec->serial == result->serial)
		return;
	log_warning(build->job.path,
		    "serial of $SOA is not newer, given=%" PRIu32 " (took one more than before)",
		    spec->serial);
}

static int report(struct build *build, const struct builder_result *result)
{
	if (!result->is_unchanged)
		report_serial(build, result);
	if (result->is_unchanged && !build->is_quiet)
		printf("nothing changed in %s: serial=%" PRIu32 "\n", build->zone, result->serial);
	else if (!build->is_quiet)
		printf("%s %s: ipv4=%" PRIu64 " ipv6=%" PRIu64 " blocks=%" PRIu64 " names=%" PRIu64
		       " records=%" PRIu64 " changed=%" PRIu64 " signed=%" PRIu64 " serial=%" PRIu32
		       "\n",
		       build->job.is_dry_run ? "would build" : "built", build->zone,
		       build->plan.counts.ipv4, build->plan.counts.ipv6, build->plan.counts.blocks,
		       build->plan.counts.names, result->record_count, result->changed_count,
		       result->signature_count, result->serial);
	if (build->job.is_dry_run)
		return EX_OK;
	return followers_await(&build->secondaries, &build->spec.zone, result->serial,
			       build->job.path);
}

/*
 * Steps that are due in a store that is there are made before, in a transaction of their own. A dry
 * run makes none, and no key.
 */
static int prepare_keys(struct build *build)
{
	struct keydir *keydir = &build->keydir;
	struct resign_job how = { .lifetime_s = build->job.lifetime_s,
				  .trusts_clock = build->job.trusts_clock,
				  .findings = &build->findings };
	if (keydir->directory == NULL)
		return EX_OK;
	int status =
		keydir_open(keydir, build->job.path, &build->spec.zone, false, build->job.now_s);
	if (status == EX_OK && build->job.is_dry_run && keydir->rollover.key_count == 0)
		return EX_OK;
	if (status == EX_OK && !build->job.is_dry_run)
		status = keydir_plan(keydir, ROLLOVER_NONE, true);
	if (status == EX_OK)
		status = keydir_settle(keydir, &build->keyfiles.set, &how);
	return status == EX_OK ? keydir_fill(keydir, &build->keyfiles.set) : status;
}

static int write_here(struct build *build)
{
	struct builder_result result;
	char keys[KEYSET_TEXT_SIZE];
	build->job.plan = &build->plan;
	build->job.listing = &build->listing;
	build->job.spec = &build->spec;
	build->job.settings = &build->settings;
	build->job.keyset = &build->keyfiles.set;
	build->job.progress = &build->progress;
	build->job.limits = &build->limits;
	build->job.findings = &build->findings;
	int status = prepare_keys(build);
	if (status != EX_OK)
		return progress_end(&build->progress), status;
	int ret = builder_write(&build->job, &result);
	progress_end(&build->progress);
	if (ret == CHAIN_EREFUSED)
		return refuse(build);
	if (ret != DNSBLV6_OK) {
		keyset_describe(&build->keyfiles.set, ret, keys);
		log_error(build->job.path, "store not written, zone=%s %s(%s)", build->zone, keys,
			  chain_strerror(ret));
		return commands_exit_status(ret);
	}
	build->is_written = !build->job.is_dry_run;
	if (build->keydir.directory == NULL && !build->job.is_dry_run)
		keyfiles_report_kept(&build->keyfiles, build->job.path);
	return report(build, &result);
}

static int write_store(void *context)
{
	struct build *build = context;
	progress_end(&build->progress);
	int status = write_here(build);
	keydir_close(&build->keydir, build->is_written);
	return status;
}

/* Of a dry run, before limits refuse it: what they refuse is worth seeing. */
static int show_difference(const struct build *build)
{
	struct compare_job job = { .store = build->job.path,
				   .listing = &build->listing,
				   .plan = &build->plan,
				   .lines_max = build->lines_max,
				   .stream = stdout };
	struct compare_result result;
	if (!build->job.is_dry_run || !build->is_there || build->is_quiet)
		return EX_OK;
	int ret = compare_store(&job, &result);
	if (ret != DNSBLV6_OK)
		return commands_end(build->job.path, "store not read", ret);
	printf("difference of %s: added=%" PRIu64 " removed=%" PRIu64 " others=%" PRIu64
	       " names=%" PRIu64 "\n",
	       build->zone, result.added_count, result.removed_count,
	       result.prefix_count - result.added_count - result.removed_count, result.name_count);
	fflush(stdout); /* before what standard error says about it */
	return EX_OK;
}

static bool is_refused(const struct build *build)
{
	return build->findings.refusal_count > 0;
}

/* What would be written is looked at as a whole, before any of it is. */
static int check_limits(struct build *build)
{
	guard_totals(&build->plan.counts, build->is_there ? &build->before : NULL, build->job.path,
		     &build->limits, &build->findings);
	room_check(&build->plan, &build->listing, &build->spec, build->job.max_records,
		   &build->findings);
	return is_refused(build) ? refuse(build) : EX_OK;
}

/* ---- the classic zone beside it ---- */

/* Its options are those of the build; what is about the bitmap zone alone is left out. */
static void copy_settings(const struct store_settings *from, struct store_settings *ret_settings)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct store_setting *setting = &from->items[i];
		if (strcmp(setting->name, "classic") != 0 && strcmp(setting->name, "reason") != 0)
			remember(ret_settings, setting->name, setting->value);
	}
}

/* What is known before lists are read; given is what the command line says of keys. */
static int begin_classic(const struct build *build, const struct keyfiles *given,
			 struct build *classic)
{
	*classic = *build;
	classic->plan = (struct plan){ 0 };
	classic->settings = (struct store_settings){ 0 };
	classic->keyfiles = *given;
	classic->job.path = build->classic_store;
	classic->zone = build->spec.classic;
	classic->has_style = true;
	classic->is_there = false;
	classic->spec.style = DNSBLV6_STYLE_CLASSIC;
	classic->spec.classic = NULL;
	classic->spec.reason = NULL;
	if (classic->zone == NULL || rows_take_name(&classic->spec.zone, classic->zone) != NULL) {
		log_error(classic->job.path,
			  "zone not built (--classic-store needs the zone's name, "
			  "--classic)");
		return EX_USAGE;
	}
	copy_settings(&build->settings, &classic->settings);
	int status = keyfiles_read(&classic->keyfiles);
	return status == EX_OK ? look_at_facts(classic) : status;
}

/* Addresses of name servers that are inside the other zone are not in this one. */
static void drop_glue(struct spec *spec)
{
	struct dnsblv6_labels name;
	size_t count = 0;
	for (size_t i = 0; i < spec->glue_count; i++) {
		if (apex_glue_name(spec, spec->glue[i].ns, &name))
			spec->glue[count++] = spec->glue[i];
	}
	spec->glue_count = count;
}

/* The plan but for names is that of the bitmap zone, whose lists are the same. */
static int plan_classic(const struct build *build, struct build *classic)
{
	classic->listing = build->listing;
	classic->findings = build->findings;
	drop_glue(&classic->spec);
	int status = complete_spec(classic);
	if (status != EX_OK)
		return status;
	classic->plan = build->plan;
	classic->plan.names = (struct names_plan){ 0 };
	int ret = plan_add_names(&classic->plan, &classic->listing, &classic->spec,
				 &classic->findings);
	return ret == DNSBLV6_OK ? check_limits(classic)
				 : commands_end(classic->zone, "zone not built", ret);
}

static void end_classic(struct build *classic)
{
	names_deinit(&classic->plan.names);
	store_settings_deinit(&classic->settings);
	keyfiles_deinit(&classic->keyfiles);
}

/*
 * When the lists or the limits refuse one of them, none is written. A secondary that has not got the
 * first does not hold up the second: that one would lose its signatures. The classic store has a fence
 * of its own, whose line names it.
 */
static int write_both(struct build *build, struct build *classic)
{
	int status = plan_classic(build, classic);
	if (status == EX_OK)
		status = write_store(build);
	if (status != EX_OK && status != EX_UNAVAILABLE)
		return status;
	int other = commands_fence(classic->job.path, "replaced", write_store, classic);
	return other != EX_OK ? other : status;
}

/* All behind the look at what there is. classic may be NULL. */
static int run_lists(struct build *build, struct build *classic)
{
	int status = read_lists(build);
	if (status != EX_OK)
		return refuse(build), status;
	if (is_refused(build))
		return refuse(build);
	status = complete_spec(build);
	if (status == EX_OK)
		status = make_plan(build);
	if (status == EX_OK)
		status = show_difference(build);
	if (status == EX_OK)
		status = check_limits(build);
	if (status != EX_OK)
		return status;
	findings_end(&build->findings);
	return classic != NULL ? write_both(build, classic) : write_store(build);
}

/* From the first look at the store on, as it may be damaged. */
static int run_fenced(void *context)
{
	struct build *build = context;
	struct build classic = { 0 };
	const struct keyfiles given = build->keyfiles;
	int status = keyfiles_read(&build->keyfiles);
	if (status == EX_OK)
		status = look_at_store(build);
	if (status == EX_OK && build->classic_store != NULL)
		status = begin_classic(build, &given, &classic);
	if (status == EX_OK)
		status = run_lists(build, build->classic_store != NULL ? &classic : NULL);
	end_classic(&classic);
	return status;
}

static void init(void *context)
{
	struct build *build = context;
	*build = (struct build){ .limits = GUARD_LIMITS_DEFAULT,
				 .job = { .max_records = 16000000,
					  .lifetime_s = SIGNER_LIFETIME_S,
					  .now_s = (uint64_t)time(NULL) },
				 .lines_max = FINDINGS_SHOWN,
				 .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	build->sources.now_s = build->job.now_s;
	keyfiles_init(&build->keyfiles);
	keydir_init(&build->keydir);
}

static const char *find_settings_conflict(void *context, const char *domain,
					  struct zonesconf_about *ret_about)
{
	static const char *const servers[] = { "ns", NULL };
	static const char *const classic[] = { "classic", NULL };
	struct build *build = context;
	const char *conflict = rows_take_name(&build->spec.zone, domain);
	if (conflict == NULL)
		conflict = find_conflict(build, ret_about);
	if (conflict != NULL)
		return conflict;
	*ret_about = (struct zonesconf_about){ servers, 0 };
	conflict = spec_check_servers(&build->spec, &ret_about->number);
	if (conflict != NULL)
		return conflict;
	*ret_about = (struct zonesconf_about){ classic, 0 };
	return spec_check_classic(&build->spec);
}

const struct zonesconf_command *build_settings(void)
{
	static const struct zonesconf_command settings = { &table, sizeof(struct build), init,
							   find_settings_conflict };
	return &settings;
}

static int run_command(int argc, char **argv)
{
	struct build build;
	init(&build);
	parse_command_line(&build, argc, argv);
	progress_init(&build.progress);
	if (listing_init(&build.listing) != DNSBLV6_OK)
		return EX_TEMPFAIL;
	build.lists = argv + optind;
	int status = commands_fence(build.job.path, "replaced", run_fenced, &build);
	keyfiles_deinit(&build.keyfiles);
	store_settings_deinit(&build.settings);
	store_settings_deinit(&build.recalled);
	store_settings_deinit(&build.forgotten);
	plan_deinit(&build.plan);
	listing_deinit(&build.listing);
	return status;
}

int build_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_LISTS, argc, argv, run_command);
}

int build_zone(const struct zonesconf_zone *zone)
{
	return zonecall_run_zone(&table, zone, ZONECALL_LISTS, run_command);
}

bool build_has_secondaries(const struct zonesconf_zone *zone)
{
	const struct build *build = zone->context;
	return build->secondaries.count > 0;
}

int build_await(const struct zonesconf_zone *zone)
{
	const struct build *build = zone->context;
	int status = followers_await_store(&build->secondaries, build->job.path);
	/* A zone that is signed without its lists may lack one. */
	if (build->classic_store == NULL || access(build->classic_store, F_OK) != 0)
		return status;
	int other = followers_await_store(&build->secondaries, build->classic_store);
	return other != EX_OK ? other : status;
}
