/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * confcheck.c - dnsblv6-zone conf-check: is zones.conf as it should be?
 */

#include "zone-tools/commands/build.h"
#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/zonecall.h"

#include "lib/common/version.h"

#include <getopt.h>
#include <stdio.h>
#include <sysexits.h>

struct confcheck {
	const char *path;
};

static const struct options_bound rows[] = {
	{ ZONECALL_ROW, OPTIONS_AT(struct confcheck, path) },
};

static const struct options_table table = {
	.program = "dnsblv6-zone conf-check",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "[--config FILE]",
	.summary = "Reads zones.conf, says what is wrong with it, and names its zones.",
	.bound = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

int confcheck_command(int argc, char **argv)
{
	struct confcheck check = { DNSBLV6_ZONES_CONF };
	struct zonesconf conf = { 0 };
	struct conf_error error;
	options_parse(&table, argc, argv, &check);
	if (optind < argc)
		options_fail(&table, "unexpected word '%s'", argv[optind]);
	int ret = zonesconf_load(check.path, build_settings(), &conf, &error);
	if (ret != 0)
		conf_log_error(check.path, &error);
	for (size_t i = 0; ret == 0 && i < conf.count; i++)
		printf("%s store=%s\n", conf.zones[i].domain,
		       zonesconf_get(&conf.zones[i], "store"));
	zonesconf_deinit(&conf);
	return ret == 0 ? EX_OK : EX_CONFIG;
}
