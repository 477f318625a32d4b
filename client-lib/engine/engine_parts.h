/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* engine_parts.h - the inside of struct engine, for engine*.c and reason.c alone. */

#include "client-lib/engine/engine.h"
#include "client-lib/engine/fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ENGINE_BUCKETS 256 /* of requests by id */

struct request;
TAILQ_HEAD(request_list, request);
LIST_HEAD(request_bucket, request);

/* What was not done for want of room: each is a loss, and none is a finding about a zone. */
struct engine_losses {
	uint64_t unsent;   /* questions */
	uint64_t refused;  /* questions */
	uint64_t dropped;  /* fetches */
	uint64_t requests; /* refused */
};

struct engine {
	struct zones all;
	struct fetches *fetches;
	int waitset;
	int wake_fds[ENGINE_SLEEPER_COUNT];
	bool is_woken[ENGINE_SLEEPER_COUNT]; /* and was not drained since */
	struct request_list open;	     /* by deadline */
	struct request_list done;	     /* answered; the next engine_process() says so */
	struct request_bucket buckets[ENGINE_BUCKETS];
	unsigned request_count;
	uint64_t last_id;
	struct engine_losses told; /* as they were when a line told them last */
	int64_t told_ms;
	int64_t beat_ms; /* a writer says next that it is at work; others never */
};

/* engine.c */
void engine_forget_requests(struct engine *engine);
/* engine_life.c: a line for the log when there were losses, one in a minute. */
#define ENGINE_LOSSES_MS 60000
void engine_tell_losses(struct engine *engine);
/* engine_life.c: with a daemon, looks after its table, and for one. */
void engine_check_shared(struct engine *engine);
/* As the writer of one: says now and then that it is at work (cache_beat()). */
void engine_beat(struct engine *engine);
/* The word that counts: the daemon's where it asks, or our own; and the time on its clock. */
uint64_t engine_zone_word(const struct zone *zone, uint32_t *ret_now_s);

#ifdef __cplusplus
}
#endif
