/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * options.h - a command line read from one table, and its help from the same.
 *
 * Flow: main() of each program, or each subcommand, has a table of rows.
 *
 *     static const struct options_bound rows[] = {
 *             { { 's', "store", "FILE", "store to read" }, OPTIONS_AT(struct dump, store) },
 *             { { 'q', "quiet", NULL, "say nothing when all is well" },
 *               OPTIONS_AT(struct dump, is_quiet) },
 *     };
 *     static const struct options_table table = {
 *             .program = "dnsblv6-zone build",
 *             .usage = "[options] LIST ...", OPTIONS_ROWS(rows) };
 *
 * Every table also has -h/--help and -V/--version, which options_next() serves
 * itself: help and version go to standard output, exit 0. Wrong use is one
 * line on standard error that names the word, and exit 64 (EX_USAGE).
 */

#include <stdbool.h>
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

/* A row that says what is done with the option: options_take(). */
struct options_bound {
	struct options_row row;
	size_t offset; /* of a member: OPTIONS_AT() */
	size_t size;   /* of the member */
	/*
	 * Of a number, max is not 0; its member is unsigned or uint64_t, by its size. A row without
	 * an argument sets a bool, any other one a const char * that is borrowed from argv.
	 */
	unsigned long long min;
	unsigned long long max;
	const char *
		standard; /* what options_parse() takes for a text that is not given; NULL: nothing */
	/* In place of all that. NULL, or what is wrong with argument: static text. */
	const char *(*take)(void *member, const char *argument);
	bool is_remembered; /* for the program's own use, as all below */
	bool is_repeated;   /* it may be given more than once, and each counts */
	bool is_required;   /* options_parse() exits without it */
	bool is_once;	    /* for one run alone, and not for a configuration */
};

#define OPTIONS_AT(type, member)                                                                   \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct options_table {
	const char *program;
	const char *libraries; /* for --version: "LMDB 0.9.24, libknot 3.2.6", or NULL */
	const char *usage;
	const char *summary;		   /* one sentence for --help, or NULL */
	const struct options_bound *bound; /* row_count of them */
	size_t row_count;		   /* at most OPTIONS_ROWS_MAX */
};

#define OPTIONS_ROWS(rows) .bound = (rows), .row_count = sizeof(rows) / sizeof((rows)[0])

#define OPTIONS_ROWS_MAX 48

/*
 * First of all in main(). A file that took the number of a closed standard stream would be written
 * to in its stead: such a stream fails where it is used. Output that was not written is told at the
 * end, which is then another one (output.h); a limit of the file size is to be an error, not the end;
 * and children are waited for, also when the process that started this one waits for none.
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

/* What bound[row] says is done with its argument, to a member of context; exits on wrong use. */
void options_take(const struct options_table *table, int row, const char *argument, void *context);
/*
 * The same that does not exit: NULL, or what is wrong with argument, which is ret_reason or static
 * text. A flag's argument is ignored.
 */
#define OPTIONS_REASON_MAX 128
const char *options_try(const struct options_table *table, int row, const char *argument,
			void *context, char *ret_reason);
/* The row with that name; OPTIONS_END when there is none. */
int options_find(const struct options_table *table, const char *name);
/* All options in this way; operands begin at argv[optind] then. Exits without a required one. */
void options_parse(const struct options_table *table, int argc, char **argv, void *context);
/* The same of a command that has no operands: exits where there is one. */
void options_parse_alone(const struct options_table *table, int argc, char **argv, void *context);

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
