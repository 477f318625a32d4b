/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * words.h - the words of an option's value, and how one is refused.
 *
 * Flow: config.c, lists.c -> words_next() -> the function that reads the word.
 *
 * A word is borrowed from the value. No function here allocates or locks.
 */

#include <stdbool.h>
#include <stddef.h>

struct word {
	const char *text;
	size_t size;
};

/* The next word of *value, which moves behind it; an empty one when none is left. */
struct word words_next(const char **value);

/* All of text. */
struct word words_whole(const char *text);

bool words_is(struct word word, const char *text);

/* Index in names (NULL behind the last), or -1. */
int words_find(struct word word, const char *const *names);

/*
 * KEY "WORD": REASON, the word escaped and cut, into ret_error (CONFIG_ERROR_MAX
 * bytes). Returns -EINVAL.
 */
int words_refuse(const char *key, struct word word, const char *reason, char *ret_error);
