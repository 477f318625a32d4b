/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * schedule.h - when a zone is built again, and when it is signed without its lists.
 *
 * Flow: watch.c: schedule_see() what the lists look like -> schedule_due() -> a process ->
 *       schedule_end(). Times are those of clock.h; there is no I/O here.
 *
 *     lists have changed --still for settle_ms--> build --it was good--> build again after refresh_ms:
 *                                                  |                     signatures and keys
 *                                                  it failed: again after 10 s, 20 s, ... an hour, or
 *                                                  when the lists change; a signed zone is signed
 *                                                  meanwhile, once a day
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCHEDULE_NEVER	       UINT64_MAX
#define SCHEDULE_RETRY_MS      10000
#define SCHEDULE_RETRY_MOST_MS 3600000
#define SCHEDULE_SIGN_MS       86400000

struct schedule_pace {
	uint64_t settle_ms;
	uint64_t refresh_ms;
};

enum schedule_job { SCHEDULE_NONE, SCHEDULE_BUILD, SCHEDULE_SIGN };

/* Begins with schedule_init(); the members are its own. */
struct schedule {
	const struct schedule_pace *pace; /* borrowed */
	bool is_signed;
	uint64_t seen;	     /* a fingerprint of the lists */
	uint64_t tried;	     /* that of the last build */
	uint64_t changed_ms; /* when they began to differ from it */
	uint64_t still_ms;   /* when they have been still for long enough */
	uint64_t again_ms;   /* the next build, without a change */
	uint64_t sign_ms;    /* the next signing of a zone whose builds fail */
	unsigned failures;   /* in a row */
	uint64_t told;	     /* a number for the warnings of the last good build */
	uint64_t told_ms;    /* when they were told */
};

/* A build is due at once. */
void schedule_init(struct schedule *schedule, const struct schedule_pace *pace, bool is_signed,
		   uint64_t now_ms);
/* For a zone whose settings have been read again. */
void schedule_hurry(struct schedule *schedule, uint64_t now_ms);
void schedule_see(struct schedule *schedule, uint64_t print, uint64_t now_ms);

/* Is what schedule_due() says to build a list that has not been still for as long as is waited for that? */
bool schedule_is_restless(const struct schedule *schedule);
/* Was the last build no good? */
bool schedule_is_failing(const struct schedule *schedule);
enum schedule_job schedule_due(const struct schedule *schedule, uint64_t now_ms);
/* When schedule_due() will say something, if nothing is seen until then. */
uint64_t schedule_next_ms(const struct schedule *schedule);

/*
 * Are the warnings of a good build to be told, of which number is a hash? Those of the build before are
 * once a day: what lasts is in the log of any day.
 */
bool schedule_tell(struct schedule *schedule, uint64_t number, uint64_t now_ms);

void schedule_begin(struct schedule *schedule, enum schedule_job job);
/* Returns how long until it is tried again, or 0 when it was good. */
uint64_t schedule_end(struct schedule *schedule, enum schedule_job job, bool is_good,
		      uint64_t now_ms);

#ifdef __cplusplus
}
#endif
