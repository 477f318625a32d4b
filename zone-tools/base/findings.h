/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * findings.h - what is wrong with a list, each with its place.
 *
 * Flow: parsers and guard.c add findings -> build.c: any refusal ends it with
 *       exit 65; check.c prints all of them.
 *
 *     error: [list.txt:4711] line refused, text="300.1.1.1/24" (octet above 255)
 *
 * Findings beyond limit are counted and not printed, refusals and warnings
 * each for themselves, so that warnings cannot hide why a build was refused.
 * Lines go to the stream given; nothing is kept, so memory does not grow with
 * a bad list.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum finding_grade {
	FINDING_REFUSAL, /* the build must not go on */
	FINDING_WARNING, /* the line was ignored or understood in a way worth saying */
};

#define FINDINGS_SHOWN 20 /* of a refused build; check shows all */

struct findings {
	FILE *stream;
	uint64_t limit; /* how many of each grade to print; UINT64_MAX: all */
	uint64_t refusal_count;
	uint64_t warning_count;
	uint64_t skipped_count; /* warnings, too: entries in reserved space, with --skip-reserved */
	uint64_t bad_lines_allowed; /* that many more are warnings: --max-bad-lines */
};

/* Where: file as the operator named it; line 0 means the file as a whole. */
struct findings_place {
	const char *file;
	uint64_t line;
};

/*
 * Print "grade: [file:line] what, text=... (reason)" or count it. text may be
 * NULL; it need not end in NUL and is quoted, escaped and cut.
 */
void findings_add(struct findings *findings, enum finding_grade grade, struct findings_place place,
		  const char *what, const char *text, size_t text_size, const char *reason);

/* A line that cannot be read: a refusal, or a warning while --max-bad-lines lasts. */
void findings_add_bad_line(struct findings *findings, struct findings_place place, const char *text,
			   size_t text_size, const char *reason);

/* "warning: entries left out, count=5 (...)" of those skipped, once. */
void findings_tell_skipped(struct findings *findings);
/* The same, and "error: 3 more findings not shown", for each grade with more than limit. */
void findings_end(struct findings *findings);

#ifdef __cplusplus
}
#endif
