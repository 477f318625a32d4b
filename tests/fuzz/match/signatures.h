/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * signatures.h - a database of a target's own signatures, made once.
 *
 * Flow: a target's first input -> signatures_open() -> lib/match, and what stands on it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/match/compile.h"
#include "lib/match/match.h"

#include "tests/fuzz/require.h"

struct signatures_file {
	const char *name; /* its end is the format */
	const char *text;
};

static inline void signatures_say(void *context, const char *message)
{
	(void)context;
	require(false, message);
}

static inline void signatures_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	require(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "a file");
}

/* As long as the process lives. */
static inline struct match_worker *signatures_open(const struct signatures_file *files,
						   size_t count)
{
	char directory[] = "/tmp/dnsblv6-fuzz-XXXXXX";
	char path[64];
	char error[MATCH_ERROR_SIZE];
	struct compile *compile = NULL;
	struct match_db *db = NULL;
	struct match_worker *worker = NULL;
	require(mkdtemp(directory) != NULL &&
			compile_new(true, signatures_say, NULL, &compile) == 0,
		"a compiler");
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, files[i].name);
		signatures_write(path, files[i].text);
		require(compile_add_file(compile, path) == 0, "signatures are right");
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/db", directory);
	require(compile_write(compile, path) == 0 && match_open(path, &db, error) == 0,
		"a database");
	compile_free(compile);
	unlink(path);
	rmdir(directory);
	require(match_worker_new(db, &worker) == 0, "memory");
	return worker;
}
