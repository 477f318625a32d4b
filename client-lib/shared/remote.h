/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * remote.h - the client's end of the connection to dnsblv6-cached.
 *
 * Flow: fetch.c misses in the shared cache -> remote_ask() -> cached.h ->
 *       the daemon asks DNS and writes the cache -> remote_process() -> the
 *       callback, which looks into the cache again.
 *
 * The daemon is a help and never a need: it may be absent, slow, stopped, killed or of another
 * version, and then remote_ask() refuses at once, or the callback says so, by its
 * deadline at the latest, and the caller asks DNS itself. After that no
 * connection is tried for REMOTE_RETRY_MS. A daemon that says nothing at all from
 * a request to its deadline is taken for dead: what is open fails with it, so that
 * one that hangs costs the time of one question. An idle connection that has ended is
 * made anew by the next question.
 *
 *     closed --remote_ask()--> open --error, silence, bad reply--> closed for REMOTE_RETRY_MS
 *       ^                        |
 *       +---- end, when idle ----+
 *
 * A daemon that is stopped is not asked: it says in a file, about once a second, that it
 * is at work (cache_beat()). When it has not for REMOTE_BEAT_MAX_MS, no process asks or waits any
 * longer, not even one that has just begun. In the time before that each process waits once at
 * most: after silence it asks again when the daemon has said something since, in the file, and,
 * where there is no such file to read, after a pause that is doubled each time, up to
 * REMOTE_PAUSE_MAX_MS.
 *
 * The first packet of a connection brings the table that the daemon writes, for shared.c.
 *
 * No more than CACHED_OPEN_MAX requests are on the way at once; others wait here. The
 * daemon is believed when it is root, this user, or the owner of the directory.
 *
 * As the stub, it is one thread's at a time, never calls back from remote_ask(), and
 * gets the time as a parameter.
 */

#include "client-lib/shared/cached.h"
#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REMOTE_RETRY_MS	    2000
#define REMOTE_PAUSE_MAX_MS 64000
#define REMOTE_BEAT_MAX_MS  5000 /* on a busy machine it may take a while until it has its turn */
#define REMOTE_LOOK_MS	    1000 /* how often the file is looked at while something is open */

struct remote; /* opaque */

/*
 * status 0: *reply has CACHED_ANSWERED or CACHED_FAILED. Otherwise reply is NULL:
 * ask DNS. -ETIMEDOUT: nothing in time; -ECONNRESET, -EPROTO: the daemon is gone, or is
 * another; -ENOENT: it does not know the zone; -EBUSY: it has too much to do.
 */
typedef void (*remote_fn)(void *context, int status, const struct cached_reply *reply);

struct remote_stats {
	uint64_t asked;	   /* taken by remote_ask() */
	uint64_t answered; /* of them: with status 0 */
	uint64_t late;	   /* -ETIMEDOUT */
	uint64_t lost;	   /* how often one was given up */
};

/* directory is copied. Nothing is opened but a waitset. -ENAMETOOLONG, -ENOMEM, -EMFILE.
 */
int remote_new(const char *directory, struct remote **ret_remote);
void remote_free(struct remote *remote);

/* Gets a descriptor of the daemon's table, borrowed, from remote_process(). */
typedef void (*remote_table_fn)(void *context, int fd);
void remote_on_table(struct remote *remote, remote_table_fn callback, void *context);

/* Connects, if there is no connection and it is time to. 0 when there is one, or as remote_ask().
 */
int remote_connect(struct remote *remote, int64_t now_ms);
bool remote_is_connected(const struct remote *remote);
/* Is there a connection whose first packet has not come? */
bool remote_is_expecting(const struct remote *remote);

/*
 * zone: presentation form, no final dot; borrowed until the callback, which comes once, from
 * remote_process(), when deadline_ms is over at the latest. Without a daemon -ECONNREFUSED, -ENOENT, -EAGAIN,
 * -EPERM and the like, or -EINVAL for a bad zone or time: then there is no callback.
 */
int remote_ask(struct remote *remote, const char *zone, struct dnsblv6_addr addr, int64_t now_ms,
	       int64_t deadline_ms, remote_fn callback, void *context);

/* A waitset: readable when there is something to process. */
int remote_fd(const struct remote *remote);
/* When remote_process() has something to do by itself; INT64_MAX: never. */
int64_t remote_next_ms(const struct remote *remote);
/* Callbacks may ask. */
void remote_process(struct remote *remote, int64_t now_ms);

/* In a child after fork(): forgets what is open without callbacks; the parent's connection stays
 * the parent's. -EMFILE: remote_ask() refuses from now on. */
int remote_after_fork(struct remote *remote);

void remote_get_stats(const struct remote *remote, struct remote_stats *ret_stats);

#ifdef __cplusplus
}
#endif
