/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * ds.c - dnsblv6-zone ds: what to tell others about the key of a zone.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/keys/anchor.h"

#include "lib/common/version.h"

#include <stdio.h>

struct ds {
	struct dnsblv6_labels zone;
	const char *file;
	bool is_dnskey;
};

#define AT(member) OPTIONS_AT(struct ds, member)

static const struct options_bound rows[] = {
	{ { 'z', "zone", "NAME", "zone that the key signs, such as bl6.example." },
	  AT(zone),
	  .take = rows_take_name,
	  .is_required = true },
	{ { 'k', "key", "FILE", "file that keygen wrote" }, AT(file), .is_required = true },
	{ { 0, "dnskey", NULL, "print the DNSKEY record instead" }, AT(is_dnskey) },
	ROWS_CONFIG,
};

static const struct options_table table = {
	.program = "dnsblv6-zone ds",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --key FILE [--dnskey]",
	.summary = "Prints the DS record that the zone above publishes about a key.",
	OPTIONS_ROWS(rows),
};

static int run_command(int argc, char **argv)
{
	struct ds ds = { 0 };
	struct key *key = NULL;
	options_parse_alone(&table, argc, argv, &ds);

	int ret = key_read(ds.file, &key);
	if (ret != DNSBLV6_OK)
		return commands_end(ds.file, "key not read", ret);
	ret = ds.is_dnskey ? anchor_print_dnskey(stdout, &ds.zone, key)
			   : anchor_print_ds(stdout, &ds.zone, key);
	key_free(key);
	return commands_end(NULL, "output not written", ret);
}

int ds_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
