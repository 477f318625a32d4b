/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/subcommands.h"

#include "lib/common/options.h"
#include "lib/common/version.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static int print_help(const struct subcommands *table)
{
	printf("usage: %s COMMAND [options]\n%s\n\n", table->program, table->summary);
	for (size_t i = 0; i < table->row_count; i++)
		printf("  %-8s %s\n", table->rows[i].name, table->rows[i].help);
	printf("\n'%s COMMAND --help' lists the options of a command.\n", table->program);
	return EX_OK;
}

static int print_version(const struct subcommands *table)
{
	printf("%s %s", table->program, DNSBLV6_VERSION);
	if (table->libraries != NULL)
		printf(" (%s)", table->libraries);
	printf("\n");
	return EX_OK;
}

static int refuse(const struct subcommands *table, const char *what)
{
	fprintf(stderr, "%s: %s; try '%s --help'\n", table->program, what, table->program);
	return EX_USAGE;
}

int subcommands_run(const struct subcommands *table, int argc, char **argv)
{
	char unknown[80];
	options_settle_process();
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word == NULL)
		return refuse(table, "no command given");
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return print_help(table);
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
		return print_version(table);
	for (size_t i = 0; i < table->row_count; i++) {
		if (strcmp(word, table->rows[i].name) == 0)
			return table->rows[i].run(argc - 1, argv + 1);
	}
	snprintf(unknown, sizeof(unknown), "unknown command '%.50s'", word);
	return refuse(table, unknown);
}
