/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * noderouter.h - links to all nodes: each request to its node, and which nodes are there.
 *
 * Flow: nodework.c has a request for a node -> noderouter_ask() -> an idle link of that node, or a new one,
 *       or its queue -> nodelink.h -> answer() of the request.
 *
 * A node is asked each NODEROUTER_PULSE_MS whether its store is there, on a link of its own, and it says with that
 * what nodes have to agree about (locate.h): a difference is logged. One that has said nothing for "silence", or
 * refuses connections, is down: what waits for it is answered MAILSTORE_EAWAY, and so is every request from then on,
 * at once, until it answers again. So a node that is down costs others nothing, whether it refuses, hangs, or has
 * lost its cable. The local store has no pulse: while it is not there, each request finds out by itself.
 *
 * A node whose store is there and leaves a mail without an answer for "timeout", as its disk hangs, takes no
 * mail: but for one at a time that finds out, each is answered MAILSTORE_EAWAY at once until it takes one.
 * Other requests go on.
 *
 * A link whose node says what is no reply is closed, and what it was about fails. What waits gets another at
 * once; behind a second such link in a row it fails, and for NODEHEALTH_PAUSE_MS none is opened.
 *
 * A link has one request at a time, and a node "links" of them at most; more requests wait, and those that
 * wait for longer than "timeout" fail with -ETIMEDOUT. A pin keeps a link for one client while it has a
 * lock, since locks end with their connection.
 *
 * answer() is never called by noderouter_ask(). One thread's, with the loop's handles in it: after
 * noderouter_close() the loop has to run until they are closed.
 */

#include "integration/mail/mail-stored/nodes/locate.h"
#include "integration/mail/mail-stored/nodes/nodelink.h"

#include <sys/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NODEROUTER_PULSE_MS 500
#define NODEROUTER_IDLE_MS  60000 /* a link that nothing has used for so long is closed */

struct noderouter;
struct noderouter_slot;

/* In the memory of a client. All zero has no link. */
struct nodepin {
	struct noderouter_slot *slot;
	unsigned node; /* with a slot */
	/* Of nodework.c: the mailbox whose lock it is. */
	uint8_t name[MAILBOX_NAME_MAX];
	size_t name_size;
	/* The link has gone, and the lock with it. */
	void (*lost)(struct nodepin *pin);
};

/* A request under way, in the memory of its owner until answer(). */
struct nodeask {
	TAILQ_ENTRY(nodeask) entry;
	unsigned node; /* the peer's place */
	struct storewire_request request;
	struct nodewire_memory memory; /* borrowed */
	bool has_memory;
	/* NULL: any link. With a slot: that one; without: the link that is taken becomes the pin's. */
	struct nodepin *pin;
	/*
	 * status is why there is no reply: MAILSTORE_EAWAY, -ETIMEDOUT, -EFBIG ...; else 0, with the reply, whose rows
	 * are borrowed, as is all of message.
	 */
	void (*answer)(struct nodeask *ask, int status, const struct storewire_reply *reply,
		       struct nodelink_message *message);
	void *owner;
	uint64_t since_ms; /* noderouter.c's own, as the next */
	int status;
};

TAILQ_HEAD(nodeasks, nodeask);

struct noderouter_start {
	uv_loop_t *loop;
	const struct nodesetup *setup; /* borrowed, as the next two */
	struct nodetls *tls;
	const char *store_path; /* the local store's socket; NULL: there are other nodes only */
	uint64_t memory_max;	/* of one message */
	/* Since when the local store is there: shared memory. NULL: noderouter_describe() is not called. */
	const uint64_t *since_us;
};

/* 0 or -ENOMEM. */
int noderouter_open(const struct noderouter_start *start, struct noderouter **ret_router);
void noderouter_close(struct noderouter *router);
/* When the loop has run. Takes NULL. */
void noderouter_free(struct noderouter *router);

void noderouter_ask(struct noderouter *router, struct nodeask *ask);
/* A pin without request under way gives its link back to others: it has no lock any more. */
void noderouter_unpin(struct nodepin *pin);
/* Its client has gone: the link is closed, and the lock ends. Takes a pin without. */
void noderouter_drop(struct nodepin *pin);

bool noderouter_is_down(const struct noderouter *router, unsigned node);
/* Does some mailbox there have a quota, as far as is known? */
bool noderouter_has_quotas(const struct noderouter *router, unsigned node);

struct noderouter_facts {
	bool is_down;
	bool differs;	    /* its configuration */
	uint64_t silent_ms; /* nothing was heard for so long */
	uint64_t since_us;  /* its store began, Unix time; 0: it has not said so */
	unsigned links;
	unsigned waiting;
	uint64_t asked;
	uint64_t failed;
	uint64_t downs; /* how often it has become down */
};
void noderouter_describe(const struct noderouter *router, unsigned node,
			 struct noderouter_facts *ret_facts);
/* To be given back by the owner of memory that was taken. */
struct nodewire_room *noderouter_room(struct noderouter *router);

#ifdef __cplusplus
}
#endif
