/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * roll.c - dnsblv6-zone roll: how the keys of a zone follow each other, and a step by hand.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/base/findings.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/zonecall.h"

#include "lib/common/log.h"
#include "lib/common/utc.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

struct roll {
	const char *store;
	struct keydir keydir;
	struct keyset set;
	struct resign_job how;
	struct findings findings;
	enum rollover_step step; /* NONE: print what there is */
	uint64_t now_s;
};

static const char *take_step(void *member, const char *argument)
{
	enum rollover_step *step = member;
	return rollover_parse_step(argument, step)
		       ? NULL
		       : "permitted are start, publish, submit, ds-seen, switch, remove and cancel";
}

#define AT(member) OPTIONS_AT(struct roll, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "store whose keys are meant" }, AT(store), .is_required = true },
	ROWS_KEYDIR(struct roll, keydir),
	{ { 0, "step", "STEP", "make this step of a rollover now, if its time has come" },
	  AT(step),
	  .take = take_step,
	  .is_once = true },
	ROWS_LIFETIME(struct roll, how.lifetime_s),
	ROWS_TRUST_CLOCK(struct roll, how.trusts_clock),
	ROWS_CONFIG,
};

static const struct options_table table = {
	.program = "dnsblv6-zone roll",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE --keys DIR [--step STEP] [options]\n"
		 "       dnsblv6-zone roll ZONE [--step STEP] [options]",
	.summary = "Prints the state of the keys of a zone, and when the next step is; or makes a "
		   "step.",
	OPTIONS_ROWS(rows),
};

static void parse_command_line(struct roll *roll, int argc, char **argv)
{
	options_parse_alone(&table, argc, argv, roll);
	if (roll->keydir.directory == NULL)
		options_fail(&table, "--keys is missing");
}

/* ---- the table ---- */

static void print_key(const struct rollover_key *key)
{
	char since[UTC_TEXT_SIZE];
	char seen[UTC_TEXT_SIZE] = "-";
	utc_format(key->since_s, since);
	if (key->ds_seen_s != 0)
		utc_format(key->ds_seen_s, seen);
	printf("%-6u %-9u %-10s %-21s %s\n", rollover_key_tag(key), rollover_key_algorithm(key),
	       rollover_state_word(key->state), since, seen);
}

static void print_next(const struct roll *roll)
{
	const struct rollover *rollover = &roll->keydir.rollover;
	struct rollover_next next = rollover_find_next(rollover, &roll->keydir.policy);
	char when[UTC_TEXT_SIZE];
	utc_format(next.at_s, when);
	if (next.step == ROLLOVER_NONE)
		printf("next: nothing by itself\n");
	else if (next.at_s == 0)
		printf("next: %s, when the parent has the DS\n", rollover_step_word(next.step));
	else if (rollover_is_due(&next, roll->now_s))
		printf("next: %s, now\n", rollover_step_word(next.step));
	else
		printf("next: %s at %s\n", rollover_step_word(next.step), when);
}

/* name is that of a file in the directory. */
static void tell_stray(const struct keydir *dir, const char *name)
{
	char path[KEYRING_PATH_MAX];
	uint8_t algorithm;
	uint16_t tag;
	if (!keyring_parse_name(dir->directory, &dir->zone, name, &algorithm, &tag, path))
		return;
	for (size_t i = 0; i < dir->rollover.key_count; i++) {
		const struct rollover_key *key = &dir->rollover.keys[i];
		if (rollover_key_algorithm(key) == algorithm && rollover_key_tag(key) == tag)
			return;
	}
	log_warning(path, "key is in no state (a run that was killed left it, or it is of another "
			  "store)");
}

static void tell_strays(const struct keydir *dir)
{
	const struct dirent *entry;
	DIR *directory = opendir(dir->directory);
	while (directory != NULL && (entry = readdir(directory)) != NULL)
		tell_stray(dir, entry->d_name);
	if (directory != NULL)
		closedir(directory);
}

static int print_state(const struct roll *roll)
{
	const struct rollover *rollover = &roll->keydir.rollover;
	printf("%-6s %-9s %-10s %-21s %s\n", "tag", "algorithm", "state", "since", "ds-seen");
	for (size_t i = 0; i < rollover->key_count; i++)
		print_key(&rollover->keys[i]);
	print_next(roll);
	tell_strays(&roll->keydir);
	return EX_OK;
}

/* ---- the run ---- */

static int make_step(struct roll *roll)
{
	int status = keydir_plan(&roll->keydir, roll->step, false);
	return status == EX_OK ? keydir_settle(&roll->keydir, &roll->set, &roll->how) : status;
}

static int run(struct roll *roll)
{
	struct dnsblv6_facts facts;
	int ret = verify_store(roll->store, &zone_store, &facts);
	if (ret != DNSBLV6_OK)
		return commands_end(roll->store, "keys not read", ret);
	int status = keydir_open(&roll->keydir, roll->store, NULL, true, roll->now_s);
	if (status == EX_OK && !keyset_is_signed(&roll->keydir.state.published))
		return commands_end(roll->store, "keys not read", KEYSET_EUNSIGNED);
	if (status == EX_OK && roll->step != ROLLOVER_NONE)
		status = make_step(roll);
	return status == EX_OK ? print_state(roll) : status;
}

static int run_fenced(void *context)
{
	struct roll *roll = context;
	int status = run(roll);
	keydir_close(&roll->keydir, false);
	return status;
}

static int run_command(int argc, char **argv)
{
	struct roll roll = { .now_s = (uint64_t)time(NULL),
			     .findings = { .stream = stderr, .limit = FINDINGS_SHOWN } };
	keydir_init(&roll.keydir);
	roll.how.findings = &roll.findings;
	parse_command_line(&roll, argc, argv);
	const char *done = roll.step == ROLLOVER_NONE ? "read" : "changed";
	return commands_fence(roll.store, done, run_fenced, &roll);
}

int roll_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
