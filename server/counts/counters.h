/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * counters.h - how often what was answered, per worker and served name.
 *
 * Flow: parent.c makes a bank in shared memory for each generation of workers
 *       -> answer.c counts in its worker's part -> parent.c adds up and logs.
 *
 * A part has one writer, its worker, or the filler (filler.h); the parent reads without a lock, so two
 * figures of one line may be one query apart. A worker that replaces a crashed
 * one goes on in the same part. The notices are for all workers of the
 * generation: what one of them has logged about a zone, the others do not say
 * again.
 */

#include "lib/common/counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each with its name in the log, and what it counts, for a reader who has no manual at hand. */

/* Per served name: a bitmap zone and its classic zone are two names. */
#define COUNTERS_FACE_MAP(X)                                                                       \
	X(QUERIES, "queries", "questions about this name")                                         \
	X(NOERROR, "noerror", "answered with data")                                                \
	X(NODATA, "nodata", "answered: no data of that type")                                      \
	X(NXDOMAIN, "nxdomain", "answered: no such name")                                          \
	X(SERVFAIL, "servfail", "not answered because of the store")                               \
	X(REFUSED, "refused", "questions and zone transfers refused")                              \
	X(TRUNCATED, "truncated", "answers too long for UDP")                                      \
	X(TCP, "tcp", "questions over TCP")                                                        \
	X(EXPIRING, "expiring",                                                                    \
	  "signed answers with signatures that end soon, have ended or are to begin")              \
	X(TRANSFERS, "transfers", "zone transfers given whole")                                    \
	X(TRANSFERS_FAILED, "transfers-failed", "zone transfers that failed")

/* What reached no served name, or was no question at all. */
#define COUNTERS_SERVER_MAP(X)                                                                     \
	X(QUERIES, "queries", "DNS messages received")                                             \
	X(DROPPED, "dropped", "messages without an answer")                                        \
	X(REFUSED, "refused", "questions about other zones or with a bad TSIG")                    \
	X(FORMERR, "formerr", "malformed messages")                                                \
	X(NOTIMP, "notimp", "messages with an operation that is not implemented")                  \
	X(BADVERS, "badvers", "messages with an unknown EDNS version")                             \
	X(COOKIES, "cookies", "messages with a good server cookie")                                \
	X(COOKIES_BAD, "cookies-bad", "messages with a server cookie that is old or not ours")     \
	X(BADCOOKIE, "badcookie", "messages answered BADCOOKIE")                                   \
	X(LIMITED_DROPPED, "limited-dropped", "messages dropped by the rate limit")                \
	X(LIMITED_TRUNCATED, "limited-truncated", "answers truncated by the rate limit")           \
	X(IDENTITY, "identity", "answers about the identity of this server")                       \
	X(TCP_CLIENTS, "tcp-clients", "TCP clients taken")                                         \
	X(TCP_CLOSED, "tcp-closed", "TCP clients closed for silence, nonsense or want of room")    \
	X(TCP_NETWORK, "tcp-network-full",                                                         \
	  "TCP clients closed because their network had too many")                                 \
	X(NOTIFIES, "notifies", "NOTIFY messages sent")                                            \
	X(NOTIFIES_FAILED, "notifies-failed", "serials that an address did not take")              \
	X(TAPPED, "tapped", "messages sampled for the query log")                                  \
	X(TAPPED_LOST, "tapped-lost", "samples and log entries that could not be written")         \
	X(DRIVER_ANSWERED, "driver-answered", "messages answered in the network driver")           \
	X(DRIVER_PASSED, "driver-passed", "messages that the driver left to the sockets")          \
	X(DRIVER_LIMITED, "driver-limited",                                                        \
	  "messages dropped or answered truncated in the driver by the rate limit")                \
	X(DRIVER_CHANGED, "driver-changed",                                                        \
	  "messages dropped in the driver because the list changed meanwhile")                     \
	X(DRIVER_NO_ROOM, "driver-no-room",                                                        \
	  "messages left to the sockets because the answer had no room in their packet")

#define X(name, text, help) COUNTERS_FACE_##name,
enum counters_face { COUNTERS_FACE_MAP(X) COUNTERS_FACE_COUNT };
#undef X
#define X(name, text, help) COUNTERS_SERVER_##name,
enum counters_server { COUNTERS_SERVER_MAP(X) COUNTERS_SERVER_COUNT };
#undef X

/* One worker's part, or a sum. */
struct counters {
	uint64_t *server; /* COUNTERS_SERVER_COUNT */
	uint64_t *faces;  /* COUNTERS_FACE_COUNT for each face */
};

/* What may be news about a zone. */
enum counters_notice {
	COUNTERS_NOTICE_STORE,
	COUNTERS_NOTICE_SIGNATURES,
	COUNTERS_NOTICE_ANSWERS,
	COUNTERS_NOTICE_COUNT
};

struct counters_bank {
	void *memory; /* shared with the workers */
	size_t size_bytes;
	size_t worker_count;
	size_t face_count;
};

/* 0 or -errno. */
int counters_open(struct counters_bank *bank, size_t worker_count, size_t zone_count,
		  size_t face_count);
/* Takes a bank that is all zero. */
void counters_close(struct counters_bank *bank);

/* The part of a worker. Borrowed until counters_close(). */
struct counters counters_of_worker(const struct counters_bank *bank, size_t worker);
/* Adds every worker's part to sum, which has as many faces. */
void counters_add(const struct counters_bank *bank, const struct counters *sum);

/*
 * Notes that something with this status was seen at a zone. True when it is
 * news, that is, not what was noted last; of several workers one is told so.
 * In the beginning 0 has been noted.
 */
bool counters_note(const struct counters_bank *bank, size_t zone, enum counters_notice notice,
		   int status);

/* Names and meanings, in the order of the enumerations. */
extern const struct counts_label counters_face_labels[COUNTERS_FACE_COUNT];
extern const struct counts_label counters_server_labels[COUNTERS_SERVER_COUNT];

#define COUNTERS_TEXT_MAX 1024 /* all of either in a line of the log */

static inline void counters_count(uint64_t *counter)
{
	/* One writer; the parent must never see half of a number. */
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline uint64_t *counters_of_face(const struct counters *counters, size_t face)
{
	return counters->faces + face * (size_t)COUNTERS_FACE_COUNT;
}

#ifdef __cplusplus
}
#endif
