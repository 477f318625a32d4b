/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * check.c - mail-cluster check and repair: all mails, and what is wrong with them.
 */

#include "integration/mail/mail-cluster/clustertool.h"

#include "integration/mail/mail-cluster/clusterlines.h"

#include <stdlib.h>

struct check {
	struct clustertool tool;
	bool is_deep;
};

static const struct options_bound rows[] = {
	CLUSTERTOOL_ROWS,
	{ { 'd', "deep", NULL, "read the mails, too, and compare them with their checksums" },
	  OPTIONS_AT(struct check, is_deep) },
};

enum { ALL_ROWS = sizeof(rows) / sizeof(rows[0]) };

static bool has_any(const char *text, const char *key)
{
	uint64_t number;
	return clusterlines_find_number(text, key, &number) && number > 0;
}

/* Lost is what no copy has; what is too few, or too much, can be mended. */
static int status_of(const char *text, bool is_repaired)
{
	uint64_t number;
	if (!clusterlines_find_number(text, "mails", &number) || has_any(text, "missing") ||
	    has_any(text, "damaged"))
		return CLUSTERTOOL_DOWN;
	return has_any(text, "few-copies") || (!is_repaired && has_any(text, "orphans"))
		       ? CLUSTERTOOL_DEGRADED
		       : CLUSTERTOOL_WELL;
}

/* A line for each finding, and one for each number. */
static void print(const char *text)
{
	struct clusterlines_row row;
	while (clusterlines_next(&text, &row) > 0) {
		const size_t first =
			row.count > 0 && clusterlines_is(row.words[0].key, "thing") ? 1 : 0;
		struct clusterlines_text told;
		if (clusterlines_get(&row, "text", &told)) {
			clusterlines_print_value(stdout, told);
			putchar('\n');
			continue;
		}
		for (size_t i = first; i < row.count; i++) {
			clusterlines_print_value(stdout, row.words[i].key);
			putchar('\t');
			clusterlines_print_value(stdout, row.words[i].value);
			putchar('\n');
		}
	}
}

static int run(const struct check *check, enum storewire_question question)
{
	char *text = NULL;
	int ret = clustertool_ask(&check->tool, question, CLUSTERTOOL_LONG_TIMEOUT_S, &text);
	if (ret != 0)
		return clustertool_fail(&check->tool, "mails not checked", ret);
	const int status = status_of(text, question == STOREWIRE_REPAIR);
	print(text);
	free(text);
	return status;
}

int cluster_check_command(int argc, char **argv)
{
	static const struct options_table table = {
		.program = "mail-cluster check",
		.usage = "[--store SOCKET] [--deep]",
		.summary = "Looks at every mail, and prints what is wrong. Ends with 0: nothing,\n"
			   "1: what repair mends, 2: mails are lost.",
		.bound = rows,
		.row_count = ALL_ROWS,
	};
	struct check check = { .tool = { .socket = MAIL_CLUSTER_SOCKET } };
	options_parse_alone(&table, argc, argv, &check);
	return run(&check, check.is_deep ? STOREWIRE_CLUSTER_CHECK_DEEP : STOREWIRE_CLUSTER_CHECK);
}

int cluster_repair_command(int argc, char **argv)
{
	static const struct options_table table = {
		.program = "mail-cluster repair",
		.usage = "[--store SOCKET]",
		.summary = "The same as check, and takes away what no mailbox has. Ends with 0: "
			   "nothing is\n"
			   "wrong any more, 1: copies are still too few, 2: mails are lost.",
		.bound = rows,
		.row_count = ALL_ROWS - 1,
	};
	struct check check = { .tool = { .socket = MAIL_CLUSTER_SOCKET } };
	options_parse_alone(&table, argc, argv, &check);
	return run(&check, STOREWIRE_REPAIR);
}
