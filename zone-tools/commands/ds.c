/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * ds.c - dnsblv6-zone ds: what to tell others about the key of a zone.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/keys/anchor.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"

#include <getopt.h>
#include <stdio.h>

enum row { OPTION_ZONE, OPTION_KEY, OPTION_DNSKEY, OPTION_CONFIG };

static const struct options_row rows[] = {
	[OPTION_ZONE] = { 'z', "zone", "NAME", "zone that the key signs, such as bl6.example." },
	[OPTION_KEY] = { 'k', "key", "FILE", "file that keygen wrote" },
	[OPTION_DNSKEY] = { 0, "dnskey", NULL, "print the DNSKEY record instead" },
	[OPTION_CONFIG] = ZONECALL_ROW,
};

static const struct options_table table = {
	.program = "dnsblv6-zone ds",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --key FILE [--dnskey]",
	.summary = "Prints the DS record that the zone above publishes about a key.",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

struct ds {
	struct dnsblv6_labels zone;
	const char *file;
	bool is_dnskey;
};

static void parse_zone(struct ds *ds, const char *argument)
{
	if (anchor_parse_zone(argument, &ds->zone) != DNSBLV6_OK)
		options_fail(&table, "--zone '%s': not a domain name", argument);
}

static void parse_command_line(struct ds *ds, int argc, char **argv)
{
	const char *argument;
	int option;
	while ((option = options_next(&table, argc, argv, &argument)) != OPTIONS_END) {
		if (option == OPTION_ZONE)
			parse_zone(ds, argument);
		else if (option == OPTION_KEY)
			ds->file = argument;
		else if (option == OPTION_DNSKEY)
			ds->is_dnskey = true;
	}
	if (ds->zone.size == 0)
		options_fail(&table, "--zone is missing");
	if (ds->file == NULL)
		options_fail(&table, "--key is missing");
	if (optind < argc)
		options_fail(&table, "unexpected word '%s'", argv[optind]);
}

static int run_command(int argc, char **argv)
{
	struct ds ds = { 0 };
	struct key *key = NULL;
	parse_command_line(&ds, argc, argv);

	int ret = key_read(ds.file, &key);
	if (ret != DNSBLV6_OK) {
		log_error(ds.file, "key not read (%s)", key_strerror(ret));
		return commands_exit_status(ret);
	}
	ret = ds.is_dnskey ? anchor_print_dnskey(stdout, &ds.zone, key)
			   : anchor_print_ds(stdout, &ds.zone, key);
	if (ret != DNSBLV6_OK)
		log_error(NULL, "output not written (%s)", key_strerror(ret));
	key_free(key);
	return commands_exit_status(ret);
}

int ds_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
