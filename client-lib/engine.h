/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * engine.h - one address and many zones become one result.
 *
 * Flow: client.c -> engine_look() (cache alone) or engine_start() -> cache,
 *       ranges, then remote.c or stub.c -> engine_process() -> the result.
 *
 * Per zone there is a state machine (health.h) that decides whether the zone may give
 * verdicts, and how it is asked: bitmaps in which style, or the classic way.
 * Per (zone, block) there is at most one fetch, however many requests wait for it.
 *
 * The engine is one thread's at a time (client.c has the lock), but
 * engine_look(), which any thread may call at any time: it reads the cache and
 * the zones' words in it (cache_zone_word()), and nothing that changes.
 */

#include "client-lib/cache.h"
#include "client-lib/config.h"
#include "client-lib/dnsblv6.h"
#include "client-lib/stub.h"

#ifdef __cplusplus
extern "C" {
#endif

struct engine; /* opaque */

/* ret_result is complete; called from engine_process() alone. */
typedef void (*engine_fn)(void *context, const struct dnsblv6_result *result);
typedef void (*engine_log_fn)(void *context, int level, const char *line);

/* config is borrowed until engine_free(). */
int engine_new(const struct config *config, engine_log_fn log, void *log_context,
	       struct engine **ret_engine);
void engine_free(struct engine *engine);

/* As dnsblv6_peek(). */
int engine_look(const struct engine *engine, const struct dnsblv6_ip *ip, uint64_t entries,
		struct dnsblv6_result *ret_result);

/* As dnsblv6_submit(); also for what is cached, which comes with the next engine_process(). */
int engine_start(struct engine *engine, const struct dnsblv6_ip *ip, uint64_t entries,
		 int64_t now_ms, int64_t deadline_ms, engine_fn callback, void *context,
		 uint64_t *ret_id);
int engine_cancel(struct engine *engine, uint64_t id);

int engine_fd(const struct engine *engine);
int64_t engine_next_ms(const struct engine *engine);
int engine_process(struct engine *engine, int64_t now_ms);

int engine_after_fork(struct engine *engine);

#ifdef __cplusplus
}
#endif
