/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * engine.h - one address and many zones become one result.
 *
 * Flow: client.c -> look_address() (cache alone) or engine_start() -> look.h, then fetch.h
 *       -> engine_process() -> verdict.h -> the result.
 *
 * Per zone there is a state machine (health.h) that decides whether the zone may give
 * verdicts, and how it is asked: bitmaps in which style, or the classic way.
 * Per (zone, block) there is at most one fetch, however many requests wait for it.
 *
 *     request -> look.h: answered, failed or missing
 *       missing -> dnsblv6-cached, for half of the time -> fetch.h
 *               -> a probe, when the zone has had none -> probe.h, then look again
 *               -> DNS -> fetch.h -> answer.h -> proof.h, when it lists -> the cache
 *       out of time -> an expired answer, or failed
 *
 * Each of these files knows those that stand before it here: health.h, verdict.h, zone.h (what
 * they all share), look.h, probe.h, proof.h and style.h, fetch.h. engine.c has the requests,
 * engine_life.c how an engine begins, is forked, ends, and what it tells about itself.
 *
 * The engine is one thread's at a time (client.c has the lock), but
 * look_address() and engine_look_topic(), which any thread may call at any time: they read the
 * cache and the zones' words in it (cache_zone_get()), and nothing that changes.
 */

#include "client-lib/config/topic.h"
#include "client-lib/engine/fetch.h"

#include <poll.h>

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

/*
 * Two may wait: an event loop for engine_fd(), a waitset, and a thread in poll() for
 * what engine_poll() has, whose number is returned. Either is woken by itself and stays awake
 * until engine_drain().
 */
enum engine_sleeper {
	ENGINE_LOOP,
	ENGINE_DRIVER,
	ENGINE_SLEEPER_COUNT,
};
struct engine {
	struct zones all; /* what all parts share */
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
	int64_t beat_ms;      /* a writer says next that it is at work; others never */
	bool is_refusal_told; /* dnsblv6-cached is there, and not for this process */
};

/*
 * config is borrowed until engine_free(). log is called while the engine is in use: it must not
 * call back. With "shared" and as its writer: also what cache_create_shared() returns.
 */
int engine_new(const struct config *config, dnsblv6_log_fn log, void *log_context,
	       struct engine **ret_engine);
void engine_free(struct engine *engine);

/*
 * As look_address(), of any topic. entries is a set, as config_entries() takes it; one of nothing
 * is clear.
 */
int engine_look_topic(const struct engine *engine, const struct topic *topic, uint64_t entries,
		      struct dnsblv6_result *ret_result);

/*
 * As dnsblv6_submit(); also for what is cached, which comes with the next engine_process(). Only
 * that calls callback.
 */
int engine_start(struct engine *engine, const struct topic *topic, uint64_t entries, int64_t now_ms,
		 int64_t deadline_ms, dnsblv6_fn callback, void *context, uint64_t *ret_id);
/* Is there room for one more request, of "max-requests"? engine_start() is -ENOBUFS when not. */
bool engine_has_room(const struct engine *engine);
/* For a call that had no room, and gives up: counted, and in the log. */
void engine_note_refusal(struct engine *engine);
/*
 * -ENOENT when there is no such request, or it has another callback: a number may be any.
 * ret_context (may be NULL) is that of the callback which does not come.
 */
int engine_cancel(struct engine *engine, uint64_t id, dnsblv6_fn callback, void **ret_context);

/* config->servers are other ones now. */
void engine_renew_servers(struct engine *engine, int64_t now_ms);

/* Probes every zone that is not being probed. */
void engine_probe(struct engine *engine, int64_t now_ms);
bool engine_is_probing(const struct engine *engine);

int engine_fd(const struct engine *engine);
#define ENGINE_POLL_MAX 3
unsigned engine_poll(const struct engine *engine, struct pollfd *ret_fds);
void engine_wake(struct engine *engine, enum engine_sleeper sleeper);
void engine_drain(struct engine *engine, enum engine_sleeper sleeper);
/* When engine_process() has something to do by itself; INT64_MAX: never. */
int64_t engine_next_ms(const struct engine *engine);
/* Returns how many callbacks were called. */
int engine_process(struct engine *engine, int64_t now_ms);

/*
 * From engine_hold() to engine_release() what no caller waits for is put off: answers are in the
 * cache, but not in its copy (cache_hold()). For what comes between engine_process() and the
 * callbacks of a program.
 */
void engine_hold(struct engine *engine);
void engine_release(struct engine *engine);

/*
 * In the child. is_whole: no other thread was inside when the process was forked. If
 * one was, what is half changed is left behind and never touched.
 */
int engine_after_fork(struct engine *engine, bool is_whole);

/* As dnsblv6_shared_fd(). */
int engine_shared_fd(const struct engine *engine);
/* What another engine's engine_shared_fd() is, borrowed: a connection to its program brings it. */
void engine_take_table(void *engine, int fd);

/* As dnsblv6_zone_get() and dnsblv6_stat_get(). */
int engine_zone_get(const struct engine *engine, unsigned entry,
		    struct dnsblv6_zone_info *ret_info);
int engine_stat_get(const struct engine *engine, unsigned index, const char **ret_name,
		    uint64_t *ret_value);

/* ---- for engine.c and reason.c: what engine_life.c does beside ---- */

void engine_forget_requests(struct engine *engine); /* of engine.c */
/* A line for the log when there were losses, one in a minute. */
#define ENGINE_LOSSES_MS 60000
void engine_tell_losses(struct engine *engine);
/* With a daemon, looks after its table, and for one. */
void engine_check_shared(struct engine *engine);
/* As the writer of one: says now and then that it is at work (cache_beat()). */
void engine_beat(struct engine *engine);
/* The word that counts: the daemon's where it asks, or our own; and the time on its clock. */
uint64_t engine_zone_word(const struct zone *zone, uint32_t *ret_now_s);

#ifdef __cplusplus
}
#endif
