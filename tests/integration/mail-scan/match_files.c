/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * match_files.c - what lib/match finds in files.
 *
 *     match_files compile DATABASE FILE...       signatures of ClamAV's files into one
 *     match_files scan DATABASE PIECE < NAMES    a line for each finding
 *
 * compile prints what it says of lines, then "FORMAT<TAB>COUNT<TAB>REASON" for each reason that there
 * is. A line of NAMES is a file's name or "NAME<TAB>CONTAINER", with a name of content_kind_name();
 * bytes go in by pieces of so many. A finding is "NAME<TAB>SIGNATURE<TAB>OFFSET".
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/match/compile.h"
#include "lib/match/match.h"

static void say(void *context, const char *message)
{
	(void)context;
	puts(message);
}

static int compile(const char *path, char **names, int count)
{
	struct compile *compile = NULL;
	if (compile_new(false, say, NULL, &compile) != 0)
		return 1;
	int status = 0;
	for (int i = 0; i < count && status == 0; i++)
		status = compile_add_file(compile, names[i]);
	if (status == 0)
		status = compile_write(compile, path);
	for (unsigned i = 0; i < COMPILE_FORMAT_COUNT * COMPILE_REASON_COUNT && status == 0; i++) {
		const enum compile_format format = i / COMPILE_REASON_COUNT;
		const enum compile_reason reason = i % COMPILE_REASON_COUNT;
		const unsigned number = compile_count(compile, format, reason);
		if (number > 0)
			printf("%s\t%u\t%s\n", compile_format_name(format), number,
			       compile_reason_text(reason));
	}
	compile_free(compile);
	return status != 0;
}

static void take(void *context, const struct match_finding *finding)
{
	const char *name = context;
	printf("%s\t%s\t%" PRIu64 "\n", name, finding->name, finding->offset);
}

static enum content_kind kind_of(const char *name)
{
	enum content_kind kind = CONTENT_OTHER;
	while (kind < CONTENT_KIND_COUNT && strcmp(content_kind_name(kind), name) != 0)
		kind++;
	return kind < CONTENT_KIND_COUNT ? kind : CONTENT_OTHER;
}

static int scan_file(struct match_object *object, char *name, size_t piece,
		     enum content_kind container)
{
	static uint8_t bytes[1 << 24];
	FILE *file = fopen(name, "rb");
	if (file == NULL)
		return 1;
	const size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	match_begin(object, take, name);
	match_set_kind(object,
		       content_kind(bytes, size < CONTENT_HEAD_SIZE ? size : CONTENT_HEAD_SIZE),
		       container);
	for (size_t at = 0; at < size; at += piece)
		match_push(object, bytes + at, size - at < piece ? size - at : piece);
	match_end(object);
	return 0;
}

static int scan(const char *path, size_t piece)
{
	static char line[4096];
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db = NULL;
	struct match_worker *worker = NULL;
	struct match_object *object = NULL;
	if (match_open(path, &db, error) != 0) {
		puts(error);
		return 1;
	}
	int status = match_worker_new(db, &worker);
	if (status == 0)
		status = match_object_new(worker, &object);
	while (status == 0 && fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		char *tab = strchr(line, '\t');
		if (tab != NULL)
			*tab++ = '\0';
		status = scan_file(object, line, piece, tab != NULL ? kind_of(tab) : CONTENT_OTHER);
	}
	match_object_free(object);
	match_worker_free(worker);
	match_close(db);
	return status != 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "compile") == 0)
		return compile(argv[2], argv + 3, argc - 3);
	if (argc == 4 && strcmp(argv[1], "scan") == 0)
		return scan(argv[2], strtoul(argv[3], NULL, 10));
	return 64;
}
