/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * subcommands.h - the main() of a program whose first word is a command.
 *
 * Flow: main() with its table -> subcommands_run() -> run() of one row, whose options are
 *       options.h's.
 */

#include <stddef.h>

struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
	const char *help;
};

struct subcommands {
	const char *program;
	const char *libraries; /* for --version, or NULL */
	const char *summary;   /* one line */
	const struct subcommand *rows;
	size_t row_count;
};

/*
 * The process first (options_settle_process()). Then the row, --help or --version. Returns the exit
 * status.
 */
int subcommands_run(const struct subcommands *table, int argc, char **argv);
