/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-scan/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/options.h"
#include "lib/match/compile.h"

struct compile_options {
	const char *output;
	bool is_strict;
	bool is_quiet;
};

static const struct options_bound compile_rows[] = {
	{ { 'o', "output", "FILE", "the database to make, or to replace" },
	  OPTIONS_AT(struct compile_options, output) },
	{ { 0, "strict", NULL, "a line that is wrong ends it, and the old database stays" },
	  OPTIONS_AT(struct compile_options, is_strict) },
	{ { 'q', "quiet", NULL, "no table" }, OPTIONS_AT(struct compile_options, is_quiet) },
};
static const struct options_table compile_table = {
	.program = "mail-scan compile",
	.usage = "[options] -o FILE SIGNATURES ...",
	.summary = "Makes one database out of files in ClamAV's formats.",
	OPTIONS_ROWS(compile_rows),
};

static void say(void *context, const char *message)
{
	(void)context;
	fprintf(stderr, "mail-scan compile: %s\n", message);
}

/* How many stream, and why others do not. */
static void print_table(const struct compile *compile)
{
	printf("%-8s %9s  %s\n", "format", "streams", "left to clamd");
	for (unsigned i = 0; i < COMPILE_FORMAT_COUNT; i++) {
		const enum compile_format format = (enum compile_format)i;
		const char *between = "";
		printf("%-8s %9u  ", compile_format_name(format),
		       compile_count(compile, format, COMPILE_STREAMS));
		for (unsigned k = COMPILE_STREAMS + 1; k < COMPILE_REASON_COUNT; k++) {
			const enum compile_reason reason = (enum compile_reason)k;
			const unsigned count = compile_count(compile, format, reason);
			if (count == 0)
				continue;
			printf("%s%u %s", between, count, compile_reason_text(reason));
			between = ", ";
		}
		printf("%s\n", between[0] == '\0' ? "-" : "");
	}
	printf("wrong lines: %u\n", compile_bad_lines(compile));
}

/* What is wrong has been said, with its file. */
static int add_all(struct compile *compile, int count, char **paths)
{
	int ret = 0;
	for (int i = 0; i < count && ret == 0; i++)
		ret = compile_add_file(compile, paths[i]);
	return ret;
}

int compile_command(int argc, char **argv)
{
	struct compile_options options = { .output = NULL };
	struct compile *compile;
	options_parse(&compile_table, argc, argv, &options);
	if (options.output == NULL)
		options_fail(&compile_table, "which database to make is not given: -o FILE");
	if (optind == argc)
		options_fail(&compile_table, "no file with signatures is given");
	int ret = compile_new(options.is_strict, say, NULL, &compile);
	if (ret != 0) {
		say(NULL, strerror(-ret));
		return EX_OSERR;
	}
	int failure = EX_NOINPUT;
	ret = add_all(compile, argc - optind, argv + optind);
	if (ret == 0) {
		failure = EX_CANTCREAT;
		ret = compile_write(compile, options.output);
	}
	if (ret == 0 && !options.is_quiet)
		print_table(compile);
	compile_free(compile);
	return ret == 0 ? EX_OK : ret == -EBADMSG ? EX_DATAERR : failure;
}

/* ---- info ---- */

static const struct options_table info_table = {
	.program = "mail-scan info",
	.usage = "DATABASE",
	.summary = "Says what a database is, or what is wrong with it.",
};

int info_command(int argc, char **argv)
{
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db;
	options_parse(&info_table, argc, argv, NULL);
	const char *path = optind < argc ? argv[optind] : TOOL_DATABASE;
	const int ret = match_open(path, &db, error);
	if (ret != 0) {
		fprintf(stderr, "mail-scan info: %s\n", error);
		return ret == -ESTALE || ret == -EBADMSG ? EX_DATAERR : EX_NOINPUT;
	}
	printf("database: %s\nsignatures: %u\nbytes of an object: %zu\n", path, match_count(db),
	       match_object_size(db));
	match_close(db);
	return EX_OK;
}
