/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sessions.h - the SMTP sessions that are open, by the number that OpenSMTPD gives them.
 *
 * Flow: link-connect -> sessions_add() -> filter.c keeps in it what it knows ->
 *       link-disconnect -> sessions_remove().
 *
 * There are sessions_max at most. One more, and the oldest has to go: so that sessions whose
 * end was never told do not fill the table for good.
 */

#include <stddef.h>
#include <sys/queue.h>

#include "integration/common/judge.h"
#include "integration/adapters/opensmtpd/line.h"

#ifdef __cplusplus
extern "C" {
#endif

struct session {
	uint64_t id;
	struct dnsblv6_ip ip;
	uint64_t request; /* of the library, while is_asking */
	bool is_asking;
	bool is_authenticated;
	bool is_waiting; /* for an answer to the request below */
	struct line waiting;
	struct judgement *judgement; /* its own; NULL: let it pass */
	void *owner;
	LIST_ENTRY(session) of_bucket;
	TAILQ_ENTRY(session) of_all;
};

LIST_HEAD(sessions_bucket, session);

struct sessions {
	struct sessions_bucket *buckets;
	size_t bucket_count; /* a power of two */
	size_t count;
	size_t count_max;
	TAILQ_HEAD(, session) all; /* the oldest first */
};

/* 0 or -ENOMEM. count_max is 1 to 2^20. */
int sessions_init(struct sessions *ret_sessions, size_t count_max);
void sessions_deinit(struct sessions *sessions);

/* NULL when there is none. */
struct session *sessions_find(const struct sessions *sessions, uint64_t id);
/* There is none of that id, and there is room. Zero but for its id; NULL without memory. */
struct session *sessions_add(struct sessions *sessions, uint64_t id);
void sessions_remove(struct sessions *sessions, struct session *session);

#ifdef __cplusplus
}
#endif
