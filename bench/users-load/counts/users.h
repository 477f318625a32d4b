/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users.h - when each user begins a session, all of them in one order.
 *
 * Flow: workload.h says how often users of each kind begin one -> users_due_ns(), users_take() -> run.c begins it,
 *       whether or not those before have ended.
 *
 * The sessions of an active user are a Poisson process with random numbers of its own: the same seed gives the same user
 * the same times, however many others there are. The times to come stand in a heap, one for each active user; taking
 * one of 100,000 costs below a microsecond.
 *
 * A handle with 56 bytes for each user. Nothing here reads a clock, logs, or allocates after users_new().
 */

#include "bench/users-load/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_MAX 4000000u

struct users_rules {
	const struct workload *workload; /* borrowed until users_free() */
	uint64_t seed;
	uint32_t user_count;
	double rate; /* so many times as busy as the workload says */
};

struct users_arrival {
	uint64_t due_ns;
	uint32_t user;
	uint32_t number; /* of the user's sessions, from 0 */
};

struct users; /* opaque */

/* 0 or -ENOMEM. */
int users_new(const struct users_rules *rules, struct users **ret_users);
/* Takes NULL. */
void users_free(struct users *users);

/* When the next one is due; UINT64_MAX when no user is active. */
uint64_t users_due_ns(const struct users *users);
/* That one; only when there is one. Its user's next takes its place. */
void users_take(struct users *users, struct users_arrival *ret_arrival);

/* The random numbers of what happens in a session. */
void users_session_dice(const struct users_rules *rules, const struct users_arrival *arrival,
			struct dice *ret_dice);

#ifdef __cplusplus
}
#endif
