/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * answers.h - what the next hop has said about recipients, for a while.
 *
 * Flow: callforward.c puts what it has learnt, and looks here before it asks; in a worker
 *       transact.c does, with what that worker has learnt itself.
 *
 * A table of fixed size: an address has ANSWERS_WAYS places, and when all are taken the one that
 * ends first gives way. A client that asks for many addresses makes others be asked again, and
 * nothing else. Places depend on a seed, so that no client can know which addresses share them.
 *
 * Time is the caller's. Nothing here logs; memory is taken once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/smtp/envelope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ANSWERS_TEXT_MAX 200 /* of a reply, with its enhanced code; the rest is cut */
#define ANSWERS_WAYS	 4
#define ANSWERS_SETS	 1024 /* a power of two; all of it is some 2 MiB */

struct callforward_answer {
	int code;			 /* 250, 4xx or 5xx */
	char text[ANSWERS_TEXT_MAX + 1]; /* "5.1.1 No such user here"; printable ASCII */
};

struct answers;

/* -ENOMEM. */
int answers_new(uint64_t seed, struct answers **ret_answers);
/* Takes NULL. */
void answers_free(struct answers *answers);

/* is_utf8 is part of the question. The time is one that only grows. */
void answers_put(struct answers *answers, const char *address, size_t size, bool is_utf8,
		 const struct callforward_answer *answer, uint64_t now_ms, uint64_t until_ms);
/* false: not known, or not any more. */
bool answers_find(const struct answers *answers, const char *address, size_t size, bool is_utf8,
		  uint64_t now_ms, struct callforward_answer *ret_answer);

#ifdef __cplusplus
}
#endif
