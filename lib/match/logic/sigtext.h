/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigtext.h - memory of the compiler of signatures that grows: text, numbers of 32 bits, and names.
 *
 * Flow: sigbody.c and siglogic.c write with these -> compile.c, which makes tables of them.
 *
 *     sigtext_add(&text, "(?:", 3);
 *     sigwords_add(&words, 7);
 *     if (text.is_failed || words.is_failed) ...      // once, at the end
 *
 * A zeroed structure is an empty one. What does not get memory fails from then on, and stays as it
 * is. For the tool that compiles, never for a mail server.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sigtext {
	char *bytes; /* ends in a NUL, or NULL when nothing was added */
	size_t size; /* without it */
	size_t room;
	bool is_failed;
};

struct sigwords {
	uint32_t *at;
	size_t count;
	size_t room;
	bool is_failed;
};

void sigtext_add(struct sigtext *text, const char *bytes, size_t size);
void sigtext_say(struct sigtext *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sigtext_free(struct sigtext *text);

void sigwords_add(struct sigwords *words, uint32_t word);
void sigwords_free(struct sigwords *words);

/* What is there once, by its name, in a tree that begins as NULL. */
struct signame {
	char *name;
	uint32_t number; /* the caller's */
};

#define SIGNAME_NEW UINT32_MAX

/* One that was not there has SIGNAME_NEW. NULL: there is no memory. */
struct signame *signame_get(void **tree, const char *name);
bool signame_is_there(void *const *tree, const char *name);
void signame_free(void *tree);
