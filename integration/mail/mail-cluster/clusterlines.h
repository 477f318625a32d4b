/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clusterlines.h - what mail-stored says about a cluster: lines of words, taken apart and printed.
 *
 * Flow: remote_cluster() -> clusterlines_next() or clusterlines_find() -> here again: clusterlines_print_table(),
 *       clusterlines_print_list() -> standard output.
 *
 *     node=a slot=1 state=up
 *     thing=engine text=1 osds down
 *
 * A line is of words with a space between them, a word a key of a-z, 0-9 and "-", a "=" and a value;
 * the value of "text" goes on to the end of the line. Values may have any other bytes: those that are
 * no printable ASCII are printed as \xHH. Rows are borrowed from the text. No function here
 * allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLUSTERLINES_WORDS_MAX	 32
#define CLUSTERLINES_COLUMNS_MAX 32

struct clusterlines_text {
	const char *bytes;
	size_t size;
};

struct clusterlines_word {
	struct clusterlines_text key;
	struct clusterlines_text value;
};

struct clusterlines_row {
	struct clusterlines_word words[CLUSTERLINES_WORDS_MAX];
	size_t count; /* 0: an empty line */
};

/* Takes a line from *text: 1 with its row; 0 at the end; -EPROTO where it is none. */
int clusterlines_next(const char **text, struct clusterlines_row *ret_row);
/* The value of a key in a row; false when it is not there. */
bool clusterlines_get(const struct clusterlines_row *row, const char *key,
		      struct clusterlines_text *ret_value);
/* In the first line that has it. */
bool clusterlines_find(const char *text, const char *key, struct clusterlines_text *ret_value);
/* A number of digits, in the first line that has the key; false also when it is none. */
bool clusterlines_find_number(const char *text, const char *key, uint64_t *ret_number);
bool clusterlines_is(struct clusterlines_text value, const char *word);

/* As it is printed everywhere here. */
void clusterlines_print_value(FILE *out, struct clusterlines_text text);

/* 0, or -EPROTO, or -E2BIG for more than CLUSTERLINES_COLUMNS_MAX keys. */
int clusterlines_check(const char *text);

/*
 * A row for each line and a column for each key, in the order in which they come first; where a line
 * does not have it is a "-". text has been checked.
 */
void clusterlines_print_table(FILE *out, const char *text);
/*
 * A line for each: the value of "thing", or else the key of the first word, in a column of its own,
 * and the other words behind it; a word that is alone is its value. text has been checked.
 */
void clusterlines_print_list(FILE *out, const char *text);

#ifdef __cplusplus
}
#endif
