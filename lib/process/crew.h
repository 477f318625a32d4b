/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * crew.h - which processes of a crew live, and when a dead one is made again.
 *
 * Flow: a parent: child_fork() (child.h) -> crew_began(); waitpid() -> crew_ended() ->
 *       crew_find_due() -> child_fork().
 *
 * A crew is what one reading of a configuration made, or a single process. Each process has a slot,
 * in the order of their roles, which are the caller's own numbers from 0 on. A process that dies
 * after a life of some length is made again at once; one that dies at once, again and again, later
 * and later: 100 ms, 200 ms, up to 10 s, or as its crew_pace says. A role that has been told to end
 * is not made again.
 *
 * Pure but for its memory: the time is a parameter, in milliseconds of clock.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CREW_NEVER     UINT64_MAX
#define CREW_ROLES_MAX 5

/* How long a parent waits before it makes a process again that has died at once. */
struct crew_pace {
	unsigned first_ms; /* the second time; then twice as long each time */
	unsigned most_ms;  /* also after a fork() that has failed */
	unsigned life_ms;  /* younger is "at once" */
};

struct crew_slot {
	unsigned role;
	unsigned index; /* among its role */
	unsigned block; /* of counters, while pid is not 0; the caller's to give */
	pid_t pid;	/* 0: none */
	uint64_t began_ms;
	uint64_t due_ms; /* of the next one, when pid is 0; CREW_NEVER */
	unsigned pause_ms;
	const struct crew_pace *pace; /* borrowed; NULL: that of the header */
};

struct crew {
	struct crew_slot *slots;
	unsigned count;
	bool is_told[CREW_ROLES_MAX];	  /* to end */
	uint64_t kill_ms[CREW_ROLES_MAX]; /* when those still there are killed */
	unsigned last_ms; /* before that they get SIGUSR2, so long; 0: they do not */
	bool is_hurried[CREW_ROLES_MAX];
};

/* counts has how many there are of each role. All are due at once. 0 or -ENOMEM. */
int crew_init(struct crew *ret_crew, const unsigned *counts, unsigned role_count,
	      const struct crew_pace *pace);
void crew_deinit(struct crew *crew);

/* ---- a slot; one that is a single process needs no crew ---- */

void crew_began(struct crew_slot *slot, pid_t pid, uint64_t now_ms);
/* fork() has failed. */
void crew_not_begun(struct crew_slot *slot, uint64_t now_ms);
/* is_retired: it had done its share of work, and there is nothing to wait for. */
void crew_ended(struct crew_slot *slot, bool is_retired, uint64_t now_ms);
bool crew_slot_is_due(const struct crew_slot *slot, uint64_t now_ms);
/* How long until it is due; 0 when it is. */
uint64_t crew_slot_pause_ms(const struct crew_slot *slot, uint64_t now_ms);

/* ---- all of them ---- */

/* One that is to be made now, or NULL. */
struct crew_slot *crew_find_due(struct crew *crew, uint64_t now_ms);
/* The slot with that process, or NULL. */
struct crew_slot *crew_find(struct crew *crew, pid_t pid);
/* Processes that live, of a role. */
unsigned crew_count(const struct crew *crew, unsigned role);
/* When the next thing is due, or CREW_NEVER. */
uint64_t crew_next_ms(const struct crew *crew);

/*
 * It is told once; kill_ms: CREW_NEVER, or when to kill, which a later call can only make earlier. Returns
 * false when it has been before.
 */
bool crew_tell(struct crew *crew, unsigned role, uint64_t kill_ms);

#ifdef __cplusplus
}
#endif
