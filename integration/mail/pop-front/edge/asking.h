/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * asking.h - an edge's questions to the checkers, and the sessions that wait for an answer.
 *
 * Flow: poptalk.c has a login -> asking_add(): it waits -> asking.c sends as many at a time as the
 *       checkers can use -> checker.c -> the callback, with the reply.
 *
 * A hash takes tens of milliseconds, so a flood of logins waits here, and its turn is not first come,
 * first served: the next question is of the network that has fewest under way, and the oldest of
 * these. So a network that tries passwords by the thousand delays another's login by one hash for
 * each checker, whatever it sends. A question that is given up while it is under way is answered for
 * nothing.
 *
 * All that is kept of a login lies in the session's own memory. One thread's; nothing here logs.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "integration/mail/base/loop/limits.h"
#include "integration/mail/pop-front/login/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Questions under way of one edge, for all checkers together: each has its next one at hand. */
#define ASKING_OPEN_MAX 128

struct asking; /* opaque */

/* In the asker's memory; zero is one that does not wait. */
struct asking_wait {
	TAILQ_ENTRY(asking_wait) link;
	uint64_t network;
	uint64_t serial; /* of the question under way; 0: it has not been sent */
	bool is_waiting;
};

struct asking_rules {
	int fd; /* to the checkers; borrowed, is made not to block */
	unsigned checker_count;
	const struct limits *limits; /* say which addresses are of one network; borrowed */
	unsigned timeout_ms;	     /* longer than any answer takes */
	/* Writes what is to be asked; the bytes are wiped when they are sent. */
	void (*fill)(struct asking_wait *wait, struct check_request *ret_request);
	/* The answer; wait waits no more, and may be added again. */
	void (*answer)(struct asking_wait *wait, const struct check_reply *reply);
	/* How many wait now. May be NULL. */
	void (*set)(void *context, unsigned count);
	void *context;
};

/* rules is copied. 0, or a negative errno or libuv's. */
int asking_open(uv_loop_t *loop, const struct asking_rules *rules, struct asking **ret_asking);
/* The loop has to run once more before the memory is given back. Takes NULL. */
void asking_close(struct asking *asking);

void asking_add(struct asking *asking, struct asking_wait *wait, const struct dnsblv6_ip *ip);
/* Takes one that does not wait. */
void asking_cancel(struct asking *asking, struct asking_wait *wait);

#ifdef __cplusplus
}
#endif
