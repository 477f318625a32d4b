/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * crew.h - which processes of a generation live, and when a dead one is made again.
 *
 * Flow: nanny.c: fork() -> crew_began(); waitpid() -> crew_ended() -> crew_is_due() -> fork().
 *
 * A generation is what one reading of the configuration made. Each of its processes has a slot,
 * in the order that they are made in: the keyholder, edges, workers. One that dies after a life of
 * some length is made again at once; one that dies at once, again and again, later and later:
 * 100 ms, 200 ms, up to 10 s. A role that has been told to end is not made again.
 *
 * Pure but for its memory: the time is a parameter, in milliseconds of a clock that is never set.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CREW_NEVER UINT64_MAX

enum crew_role { CREW_KEYHOLDER, CREW_EDGE, CREW_WORKER, CREW_ROLES };

/* "keyholder", "edge", "worker". Static. */
const char *crew_role_name(enum crew_role role);

struct crew_slot {
	enum crew_role role;
	unsigned index; /* among its role */
	unsigned block; /* of the tally, while pid is not 0; the nanny's to give */
	pid_t pid;	/* 0: none */
	uint64_t began_ms;
	uint64_t due_ms; /* of the next one, when pid is 0 */
	unsigned pause_ms;
};

struct crew {
	struct crew_slot *slots;
	unsigned count;
	bool is_told[CREW_ROLES];     /* to end */
	uint64_t kill_ms[CREW_ROLES]; /* when those still there are killed */
};

/* All due at once. 0 or -ENOMEM. */
int crew_init(struct crew *ret_crew, unsigned keyholders, unsigned edges, unsigned workers);
void crew_deinit(struct crew *crew);

void crew_began(struct crew_slot *slot, pid_t pid, uint64_t now_ms);
/* fork() has failed. */
void crew_not_begun(struct crew_slot *slot, uint64_t now_ms);
/* is_retired: it had done its share of work, and there is nothing to wait for. */
void crew_ended(struct crew_slot *slot, bool is_retired, uint64_t now_ms);

/* Is one to be made? */
bool crew_is_due(const struct crew *crew, const struct crew_slot *slot, uint64_t now_ms);
/* Is it to be killed? */
bool crew_is_overdue(const struct crew *crew, const struct crew_slot *slot, uint64_t now_ms);
/* The slot with that process, or NULL. */
struct crew_slot *crew_find(struct crew *crew, pid_t pid);
unsigned crew_count(const struct crew *crew, enum crew_role role);
/* When the next thing is due, or CREW_NEVER. */
uint64_t crew_next_ms(const struct crew *crew);

/* It is told once; kill_ms: CREW_NEVER, or when to kill. Returns false when it has been before. */
bool crew_tell(struct crew *crew, enum crew_role role, uint64_t kill_ms);

#ifdef __cplusplus
}
#endif
