/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/zonecall.h"

#include "lib/common/log.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sysexits.h>
#include <unistd.h>

struct zonecall {
	const struct zonesconf_command *settings;
	struct zonesconf conf;
	char **argv; /* ours; options borrow from it */
	char **made; /* words of it that were made; ours */
	size_t made_count;
};

/* What the command line has, and where its operands begin. */
struct given {
	const struct options_table *table;
	bool rows[OPTIONS_ROWS_MAX];
	const char *config; /* NULL: the default */
	int argc;
	char **argv; /* its options first: getopt has sorted them */
	int operand;
};

const char *zonecall_take_config(void *member, const char *argument)
{
	(void)member;
	(void)argument;
	return NULL;
}

static bool is_given(const struct given *given, const char *name)
{
	int row = options_find(given->table, name);
	return row != OPTIONS_END && given->rows[row];
}

static void look(struct given *given)
{
	const char *argument;
	int row;
	optind = 0; /* getopt begins anew */
	while ((row = options_next(given->table, given->argc, given->argv, &argument)) !=
	       OPTIONS_END) {
		given->rows[row] = true;
		if (strcmp(given->table->bound[row].row.name, "config") == 0)
			given->config = argument;
	}
	given->operand = optind;
	optind = 0;
}

/* ---- the command line of a zone ---- */

/* "--name=value", "--name" or "value". False without memory. */
static bool make_word(struct zonecall *call, const char *name, const char *value)
{
	size_t size = strlen(name) + strlen(value) + sizeof("--=");
	char *word = malloc(size);
	if (word == NULL)
		return false;
	snprintf(word, size, "%s%s%s%s", name[0] != '\0' ? "--" : "", name,
		 name[0] != '\0' && value[0] != '\0' ? "=" : "", value);
	call->made[call->made_count++] = word;
	return true;
}

/* What is off is forgotten, unless the command line has it on. */
static bool is_wanted(const struct given *given, const struct store_setting *setting)
{
	bool is_off = strcmp(setting->name, ZONESCONF_FORGET) == 0;
	return options_find(given->table, setting->name) != OPTIONS_END &&
	       !is_given(given, is_off ? setting->value : setting->name);
}

static bool make_words(struct zonecall *call, const struct given *given,
		       const struct zonesconf_zone *zone)
{
	bool is_made = options_find(given->table, "zone") == OPTIONS_END ||
		       make_word(call, "zone", zone->domain);
	for (size_t i = 0; is_made && i < zone->settings.count; i++) {
		const struct store_setting *setting = &zone->settings.items[i];
		if (is_wanted(given, setting))
			is_made = make_word(call, setting->name, setting->value);
	}
	return is_made;
}

static bool make_lists(struct zonecall *call, const struct zonesconf_zone *zone)
{
	bool is_made = true;
	for (size_t i = 0; is_made && i < zone->settings.count; i++) {
		if (strcmp(zone->settings.items[i].name, "list") == 0)
			is_made = make_word(call, "", zone->settings.items[i].value);
	}
	return is_made;
}

/* The command, what was made, what was given, and the lists of either. */
static bool join(struct zonecall *call, const struct given *given,
		 const struct zonesconf_zone *zone, enum zonecall_lists lists, int *ret_argc)
{
	size_t count = 0;
	int rest = given->operand + 1;
	call->argv[count++] = given->argv[0];
	if (!make_words(call, given, zone))
		return false;
	for (size_t i = 0; i < call->made_count; i++)
		call->argv[count++] = call->made[i];
	for (int i = 1; i < given->operand; i++)
		call->argv[count++] = given->argv[i];
	for (int i = rest; i < given->argc; i++)
		call->argv[count++] = given->argv[i];
	size_t first = call->made_count;
	if (lists != ZONECALL_NO_LISTS && rest == given->argc && !make_lists(call, zone))
		return false;
	for (size_t i = first; i < call->made_count; i++)
		call->argv[count++] = call->made[i];
	*ret_argc = (int)count;
	return true;
}

/*
 * A pipe, or a terminal behind a name, is waited for without end: a zone that a timer
 * builds would stay as it is.
 */
static void refuse_endless(void *ret_status, const char *path)
{
	struct stat found;
	if (stat(path, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode) ||
	    (S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3))) /* /dev/null */
		return;
	log_error(path, "file not read (not a regular file: it might be waited for without end)");
	*(int *)ret_status = EX_NOINPUT;
}

/* Those of the file that the command is going to read. */
static int check_files(const struct given *given, const struct zonesconf_zone *zone,
		       enum zonecall_lists lists)
{
	int status = EX_OK;
	if (lists != ZONECALL_NO_LISTS && given->operand + 1 == given->argc)
		zonesconf_each_file(zone, "list", refuse_endless, &status);
	if (options_find(given->table, "except") != OPTIONS_END && !is_given(given, "except"))
		zonesconf_each_file(zone, "except", refuse_endless, &status);
	return status;
}

static int expand(struct zonecall *call, const struct given *given,
		  const struct zonesconf_zone *zone, enum zonecall_lists lists, int *argc,
		  char ***argv)
{
	int status = check_files(given, zone, lists);
	if (status != EX_OK)
		return status;
	size_t most = (size_t)given->argc + zone->settings.count + 2;
	call->made = calloc(most, sizeof(*call->made));
	call->argv = calloc(most, sizeof(*call->argv));
	if (call->made == NULL || call->argv == NULL || !join(call, given, zone, lists, argc)) {
		log_error(NULL, "out of memory");
		return EX_TEMPFAIL;
	}
	*argv = call->argv;
	return EX_OK;
}

/* ---- what contradicts ---- */

/* Of one of these kinds alone a zone has its keys, from the file or from the command line. */
static const char *const key_options[2][6] = {
	{ "key", "publish", "withdraw" },
	{ "keys", "roll-every", "algorithm", "propagation", "parent" },
};

static bool is_of_kind(const char *name, const char *const *kind)
{
	while (*kind != NULL && strcmp(name, *kind) != 0)
		kind++;
	return *kind != NULL;
}

static const char *find_given(const struct given *given, const char *const *kind)
{
	while (*kind != NULL && !is_given(given, *kind))
		kind++;
	return *kind;
}

/* A setting that the command line does not replace, and that does not go with it. */
static int check_kinds(const struct given *given, const struct zonesconf_zone *zone,
		       struct conf_error *ret_error)
{
	char reason[OPTIONS_REASON_MAX];
	for (size_t i = 0; i < zone->settings.count; i++) {
		const struct store_setting *setting = &zone->settings.items[i];
		for (size_t j = 0; j < 2; j++) {
			const char *other = find_given(given, key_options[1 - j]);
			if (other == NULL || !is_of_kind(setting->name, key_options[j]))
				continue;
			snprintf(reason, sizeof(reason), "does not go with --%s", other);
			return zonesconf_refuse(zone, i, reason, ret_error);
		}
	}
	return 0;
}

/* ---- which zone ---- */

static int load(struct zonecall *call, const char *path)
{
	struct conf_error error;
	int ret = zonesconf_load(path, call->settings, &call->conf, &error);
	if (ret != 0)
		conf_log_error(path, &error);
	return ret == 0 ? EX_OK : EX_CONFIG;
}

/* *argc and *argv become those of the zone, or stay. */
static int begin(struct zonecall *call, const struct options_table *table,
		 enum zonecall_lists lists, int *argc, char ***argv)
{
	struct given given = { .table = table, .argc = *argc, .argv = *argv };
	look(&given);
	const char *path = given.config != NULL ? given.config : DNSBLV6_ZONES_CONF;
	if (given.config != NULL && given.operand == given.argc)
		options_fail(table, "--config needs a ZONE");
	if (given.operand == given.argc || is_given(&given, "store") || is_given(&given, "zone") ||
	    (lists == ZONECALL_MAYBE_ZONE && given.config == NULL && access(path, F_OK) != 0))
		return EX_OK;
	int status = load(call, path);
	if (status != EX_OK)
		return status;
	const char *name = given.argv[given.operand];
	const struct zonesconf_zone *zone = zonesconf_find(&call->conf, name);
	if (zone == NULL && given.config == NULL && lists == ZONECALL_MAYBE_ZONE)
		return EX_OK;
	if (zone == NULL) {
		log_error(path, "no such zone, zone=%s", name);
		return EX_CONFIG;
	}
	struct conf_error error;
	if (check_kinds(&given, zone, &error) != 0) {
		conf_log_error(path, &error);
		return EX_USAGE;
	}
	return expand(call, &given, zone, lists, argc, argv);
}

static void end(struct zonecall *call)
{
	for (size_t i = 0; i < call->made_count; i++)
		free(call->made[i]);
	free((void *)call->made);
	free((void *)call->argv);
	zonesconf_deinit(&call->conf);
}

int zonecall_run(const struct options_table *table, const struct zonesconf_command *settings,
		 enum zonecall_lists lists, int argc, char **argv,
		 int (*run)(int argc, char **argv))
{
	struct zonecall call = { .settings = settings };
	int status = begin(&call, table, lists, &argc, &argv);
	if (status == EX_OK)
		status = run(argc, argv);
	end(&call);
	return status;
}

int zonecall_run_zone(const struct options_table *table, const struct zonesconf_zone *zone,
		      enum zonecall_lists lists, int (*run)(int argc, char **argv))
{
	char name[] = "zone";
	char *words[] = { name, zone->domain, NULL };
	struct given given = { .table = table, .argc = 2, .argv = words, .operand = 1 };
	struct zonecall call = { 0 };
	int argc = 0;
	char **argv = NULL;
	given.rows[options_find(table, "secondary")] = true;
	int status = expand(&call, &given, zone, lists, &argc, &argv);
	optind = 0; /* getopt begins anew */
	if (status == EX_OK)
		status = run(argc, argv);
	end(&call);
	return status;
}
