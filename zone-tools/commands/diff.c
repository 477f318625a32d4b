/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * diff.c - dnsblv6-zone diff: what two stores list differently.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/rows.h"

#include "zone-tools/base/findings.h"
#include "zone-tools/reading/compare.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sysexits.h>

struct diff {
	uint64_t lines_max;
	const char *paths[2];
	char both[LOG_LINE_MAX]; /* for a line that cannot tell which */
};

static const struct options_bound rows[] = {
	ROWS_ALL(struct diff, lines_max),
};

static const struct options_table table = {
	.program = "dnsblv6-zone diff",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "[options] STORE LATER-STORE",
	.summary = "Prints what two stores list differently. Exit 0: nothing; 1: something.",
	OPTIONS_ROWS(rows),
};

static void parse_command_line(struct diff *diff, int argc, char **argv)
{
	options_parse(&table, argc, argv, diff);
	if (argc - optind != 2)
		options_fail(&table, "give two stores");
	diff->paths[0] = argv[optind];
	diff->paths[1] = argv[optind + 1];
}

/* Both are read as a whole first, where a crash over a damaged one is harmless. */
static int verify(const struct diff *diff)
{
	for (unsigned i = 0; i < 2; i++) {
		struct dnsblv6_facts facts;
		int ret = verify_store(diff->paths[i], &zone_store, &facts);
		if (ret != DNSBLV6_OK)
			return commands_end(diff->paths[i], "store not read", ret);
	}
	return EX_OK;
}

/* A store is opened once by each process. */
static bool is_same_file(const struct diff *diff)
{
	struct stat first;
	struct stat second;
	return stat(diff->paths[0], &first) == 0 && stat(diff->paths[1], &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* What is wrong with one of them, verify() has not found: the line names both. */
static int compare(void *context)
{
	const struct diff *diff = context;
	struct compare_job job = { .store = diff->paths[0],
				   .later = diff->paths[1],
				   .lines_max = diff->lines_max,
				   .stream = stdout };
	struct compare_result result;
	int ret = compare_store(&job, &result);
	if (ret != DNSBLV6_OK)
		return commands_end(diff->both, "store not read", ret);
	return compare_is_same(&result) ? EX_OK : 1;
}

int diff_command(int argc, char **argv)
{
	struct diff diff = { .lines_max = FINDINGS_SHOWN };
	parse_command_line(&diff, argc, argv);
	int status = verify(&diff);
	if (status != EX_OK || is_same_file(&diff))
		return status;
	snprintf(diff.both, sizeof(diff.both), "%s or %s", diff.paths[0], diff.paths[1]);
	return commands_fence(diff.both, "read", compare, &diff);
}
