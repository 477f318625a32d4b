/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/options.h"

#include "lib/common/output.h"
#include "lib/common/version.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* Values of struct option above every letter: VALUE_FIRST + index of the row. */
enum { VALUE_FIRST = 256, VALUE_HELP = VALUE_FIRST + OPTIONS_ROWS_MAX, VALUE_VERSION };

static void print_row(char letter, const char *name, const char *argument, const char *help)
{
	char left[64];
	snprintf(left, sizeof(left), "%c%c%s--%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ", " : "  ", name, argument ? " " : "", argument ? argument : "");
	printf("  %-30s %s\n", left, help);
}

static void print_help(const struct options_table *table)
{
	printf("usage: %s %s\n", table->program, table->usage);
	if (table->summary != NULL)
		printf("%s\n", table->summary);
	putchar('\n');
	for (size_t i = 0; i < table->row_count; i++) {
		const struct options_row *row = &table->bound[i].row;
		print_row(row->letter, row->name, row->argument, row->help);
	}
	print_row('h', "help", NULL, "print this and exit");
	print_row('V', "version", NULL, "print the version and exit");
}

static void print_version(const struct options_table *table)
{
	printf("%s %s", table->program, DNSBLV6_VERSION);
	if (table->libraries != NULL)
		printf(" (%s)", table->libraries);
	putchar('\n');
}

void options_fail(const struct options_table *table, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fprintf(stderr, "%s: ", table->program);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "; try '%s --help'\n", table->program);
	va_end(arguments);
	exit(EX_USAGE);
}

/* getopt's two lists, made from the table. ":" first: we print the errors. */
static void make_lists(const struct options_table *table, char *ret_letters,
		       struct option *ret_longs)
{
	char *letters = ret_letters;
	*letters++ = ':';
	for (size_t i = 0; i < table->row_count; i++) {
		const struct options_row *row = &table->bound[i].row;
		int has_argument = row->argument ? required_argument : no_argument;
		ret_longs[i] =
			(struct option){ row->name, has_argument, NULL, VALUE_FIRST + (int)i };
		if (row->letter == 0)
			continue;
		*letters++ = row->letter;
		if (row->argument != NULL)
			*letters++ = ':';
	}
	*letters++ = 'h';
	*letters++ = 'V';
	*letters = '\0';
	ret_longs[table->row_count] = (struct option){ "help", no_argument, NULL, VALUE_HELP };
	ret_longs[table->row_count + 1] =
		(struct option){ "version", no_argument, NULL, VALUE_VERSION };
	ret_longs[table->row_count + 2] = (struct option){ NULL, 0, NULL, 0 };
}

static int find_letter(const struct options_table *table, int letter)
{
	for (size_t i = 0; i < table->row_count; i++) {
		if (table->bound[i].row.letter == letter)
			return (int)i;
	}
	return OPTIONS_END;
}

static void finish(void (*print)(const struct options_table *), const struct options_table *table)
{
	print(table);
	exit(EX_OK);
}

int options_next(const struct options_table *table, int argc, char **argv,
		 const char **ret_argument)
{
	char letters[2 * OPTIONS_ROWS_MAX + 4];
	struct option longs[OPTIONS_ROWS_MAX + 3];
	make_lists(table, letters, longs);

	opterr = 0;
	int value = getopt_long(argc, argv, letters, longs, NULL);
	*ret_argument = optarg;
	if (value == -1)
		return OPTIONS_END;
	if (value == 'h' || value == VALUE_HELP)
		finish(print_help, table);
	if (value == 'V' || value == VALUE_VERSION)
		finish(print_version, table);
	if (value == ':')
		options_fail(table, "option '%s' needs an argument", argv[optind - 1]);
	if (value == '?' && optopt != 0 && optopt < VALUE_FIRST && find_letter(table, optopt) < 0)
		options_fail(table, "unknown option '-%c'", optopt);
	if (value == '?') /* without a value, which may be a secret */
		options_fail(table, "unknown or ambiguous option '%.*s'",
			     (int)strcspn(argv[optind - 1], "="), argv[optind - 1]);
	return value >= VALUE_FIRST ? value - VALUE_FIRST : find_letter(table, value);
}

static bool parse_number(const char *text, unsigned long long min, unsigned long long max,
			 unsigned long long *ret_number)
{
	char *end = NULL;
	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 &&
	       *ret_number >= min && *ret_number <= max;
}

unsigned long long options_number(const struct options_table *table, const char *option,
				  const char *argument, unsigned long long min,
				  unsigned long long max)
{
	unsigned long long number;
	if (!parse_number(argument, min, max, &number))
		options_fail(table, "--%s takes a whole number from %llu to %llu, not '%s'", option,
			     min, max, argument);
	return number;
}

int options_find(const struct options_table *table, const char *name)
{
	for (size_t i = 0; i < table->row_count; i++) {
		if (strcmp(table->bound[i].row.name, name) == 0)
			return (int)i;
	}
	return OPTIONS_END;
}

void options_settle_process(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
	atexit(output_end);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

static void store_number(void *member, size_t size, unsigned long long number)
{
	const unsigned narrow = (unsigned)number;
	memcpy(member, size == sizeof(narrow) ? (const void *)&narrow : (const void *)&number,
	       size);
}

const char *options_try(const struct options_table *table, int row_index, const char *argument,
			void *context, char *ret_reason)
{
	const struct options_bound *row = &table->bound[row_index];
	char *member = (char *)context + row->offset;
	const char *word = argument != NULL ? argument : "";
	unsigned long long number;
	if (row->take != NULL)
		return row->take(member, word);
	if (row->row.argument == NULL) {
		memcpy(member, &(bool){ true }, sizeof(bool));
	} else if (row->max == 0) {
		memcpy(member, &word, sizeof(word));
	} else if (parse_number(word, row->min, row->max, &number)) {
		store_number(member, row->size, number);
	} else {
		snprintf(ret_reason, OPTIONS_REASON_MAX,
			 "permitted are whole numbers from %llu to %llu", row->min, row->max);
		return ret_reason;
	}
	return NULL;
}

void options_take(const struct options_table *table, int row_index, const char *argument,
		  void *context)
{
	const struct options_bound *row = &table->bound[row_index];
	char reason_text[OPTIONS_REASON_MAX];
	char given[256]; /* what takes it may write to it */
	snprintf(given, sizeof(given), "%s", argument != NULL ? argument : "");
	const char *reason = options_try(table, row_index, argument, context, reason_text);
	if (reason == reason_text) /* exits, with the words of other numbers */
		options_number(table, row->row.name, given, row->min, row->max);
	if (reason != NULL)
		options_fail(table, "--%s '%s': %s", row->row.name, given, reason);
}

static void take_standards(const struct options_table *table, void *context)
{
	for (size_t i = 0; i < table->row_count; i++) {
		if (table->bound[i].standard != NULL)
			options_take(table, (int)i, table->bound[i].standard, context);
	}
}

void options_parse(const struct options_table *table, int argc, char **argv, void *context)
{
	bool is_given[OPTIONS_ROWS_MAX] = { false };
	const char *argument;
	int row;
	take_standards(table, context);
	while ((row = options_next(table, argc, argv, &argument)) != OPTIONS_END) {
		options_take(table, row, argument, context);
		is_given[row] = true;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		if (table->bound[i].is_required && !is_given[i])
			options_fail(table, "--%s is missing", table->bound[i].row.name);
	}
}

void options_parse_alone(const struct options_table *table, int argc, char **argv, void *context)
{
	options_parse(table, argc, argv, context);
	if (optind < argc)
		options_fail(table, "unexpected word '%s'", argv[optind]);
}
