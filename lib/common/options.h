/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * options.h - a command line read from one table, and its help from the same.
 *
 * Flow: main() of each program, or each subcommand, has a table of rows.
 *
 *     static const struct options_row rows[] = {
 *             { 'z', "zone", "NAME", "apex of the zone, such as bl6.example." },
 *             { 'q', "quiet", NULL, "say nothing when all is well" },
 *     };
 *     static const struct options_table table = {
 *             .program = "dnsblv6-zone build",
 *             .usage = "[options] LIST ...", .rows = rows, .row_count = ROWS(rows) };
 *
 * Every table also has -h/--help and -V/--version, which options_next() serves
 * itself: help and version go to standard output, exit 0. Wrong use is one
 * line on standard error that names the word, and exit 64 (EX_USAGE).
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct options_row {
	char letter;	      /* short form, or 0 for none */
	const char *name;     /* long form without dashes; unique in its table */
	const char *argument; /* what its argument is called, or NULL when it takes none */
	const char *help;
};

struct options_table {
	const char *program;
	const char *libraries; /* for --version: "LMDB 0.9.24, libknot 3.2.6", or NULL */
	const char *usage;
	const char *summary; /* one sentence for --help, or NULL */
	const struct options_row *rows;
	size_t row_count; /* at most OPTIONS_ROWS_MAX */
};

#define OPTIONS_ROWS_MAX 48

/*
 * First of all in main() of a program that writes files. A file that took the number of a closed
 * standard stream would be written to in its stead; a limit of the file size is to be an error,
 * not the end; and children are waited for, also when the process that started this one waits for
 * none.
 */
void options_settle_process(void);

/*
 * The next option: its index in rows with *ret_argument (borrowed from argv,
 * NULL when it takes none), or OPTIONS_END when only operands are left, which
 * then begin at argv[optind]. Exits on wrong use, --help and --version.
 */
#define OPTIONS_END (-1)
int options_next(const struct options_table *table, int argc, char **argv,
		 const char **ret_argument);

/* Prints "PROGRAM: text; try 'PROGRAM --help'" and exits 64. */
void options_fail(const struct options_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/*
 * argument as a whole number from min to max, else options_fail() naming
 * option, the word and the permitted range.
 */
unsigned long long options_number(const struct options_table *table, const char *option,
				  const char *argument, unsigned long long min,
				  unsigned long long max);

#ifdef __cplusplus
}
#endif
