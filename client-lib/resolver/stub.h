/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * stub.h - a small DNS resolver stub: questions out, replies in, on one descriptor.
 *
 * Flow: zone.c -> stub_ask() -> a resolver, over UDP and TCP -> stub_process()
 *       -> the callback with a message_reply.
 *
 * Each question has a socket of its own, connected, from a random port (flight.h has an exception),
 * and a random id, and its letters in random case when that is on; whatever does not fit is
 * dropped and counted, and the question goes on waiting. Identical questions in
 * flight are one. A server that does not answer within its turn is followed by the
 * next one, and asked again in the next round with twice the time, until the
 * deadline of the last asker. Sockets are few, and shared out among zones (shares.h): a
 * question may have to wait for its turn, which is not counted as silence, and without a reply in a
 * round for its next one. TC goes on over TCP.
 * ICMP errors end a turn at once.
 *
 * The stub is one thread's at a time; client.c has the lock. It never calls back
 * from stub_ask(). A callback may ask and cancel, but not process or free.
 * Time is CLOCK_MONOTONIC in milliseconds, and a parameter.
 *
 * With a resolver of the program's own (backend.h) questions go there, once each, and all else
 * is the same.
 *
 * SERVFAIL, REFUSED and other errors of one server are no reply as long as there is
 * another one to ask; flight.h has the rules. What is cached, and for how long, is not known here.
 */

#include "client-lib/config/config.h"
#include "client-lib/base/message.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stub; /* opaque */

/*
 * reply is NULL when no server answered in time: status is then -ETIMEDOUT, or
 * -ECONNREFUSED, -ENETUNREACH ... of the last try, or one that stub_is_unsent() knows.
 * is_trusted: the server that answered may be believed in AD.
 */
typedef void (*stub_fn)(void *context, int status, const struct message_reply *reply,
			bool is_trusted);

struct stub_stats {
	uint64_t questions;	     /* asked by callers */
	uint64_t merged;	     /* of them: joined one in flight */
	uint64_t sent_udp, sent_tcp; /* packets, connections */
	uint64_t replies;
	uint64_t dropped;  /* packets that answered no question of ours */
	uint64_t timeouts; /* turns of a server that ended without a reply */
	uint64_t unsent;   /* questions that came to their deadline before they were sent */
	uint64_t refused;  /* by stub_ask(), for want of memory */
};

/*
 * config is borrowed until stub_free(). -ENOMEM, -EMFILE. Each zone has max-requests places for
 * questions and some more, so that one question for each request has a place, whatever the
 * other zones have open. A place takes some 500 bytes, of which the first are taken here and
 * others when they are needed.
 */
int stub_new(const struct config *config, struct stub **ret_stub);
void stub_free(struct stub *stub);

struct stub_what {
	unsigned zone;			   /* index in config->zones: whose place it takes */
	const struct dnsblv6_labels *name; /* in lower case, without root label */
	uint16_t type;
	int64_t deadline_ms; /* for its turn to be sent, and the end when life_ms is 0 */
	int64_t life_ms;     /* for an answer, from when it is sent */
};

/*
 * The callback comes once, from stub_process(), before deadline or life have passed by more than
 * its own time, unless stub_cancel(). what is copied. ret_id is never 0. -ENOBUFS when all places
 * of the zone are taken, -ENOMEM. Without descriptors, ports or entropy the question waits for
 * them.
 */
int stub_ask(struct stub *stub, const struct stub_what *what, int64_t now_ms, stub_fn callback,
	     void *context, uint64_t *ret_id);
/* No callback comes after this; an unknown id is nothing. */
void stub_cancel(struct stub *stub, uint64_t id);

/* When a question was first sent, or could not be: -1, it waits to be; INT64_MIN: there is none
 * with that id. */
int64_t stub_sent_ms(const struct stub *stub, uint64_t id);
/* The same for a callback, of the question that it is about. */
int64_t stub_told_sent_ms(const struct stub *stub);
/*
 * Is it the status of a question that was never sent, for want of sockets, ports, memory or a
 * turn? Then nothing is known about its servers.
 */
bool stub_is_unsent(int status);

/* config->servers are other ones now: what is on its way is asked of these. Not in a callback. */
void stub_renew_servers(struct stub *stub, int64_t now_ms);

/* A waitset: readable when there is something to process. */
int stub_fd(const struct stub *stub);
/* When stub_process() has something to do by itself, perhaps now; INT64_MAX: never. */
int64_t stub_next_ms(const struct stub *stub);
/*
 * Reads before it looks at deadlines: a reply that came in time counts, however late the call. A
 * question with a life that has ended some time ago goes on for a turn of each server, once.
 */
void stub_process(struct stub *stub, int64_t now_ms);

/*
 * In a child after fork(): closes what the parent has open too without touching
 * its waitset, forgets all questions without callbacks, and makes a descriptor of its own.
 * -EMFILE: may be tried again; until then every question ends at its deadline.
 */
int stub_after_fork(struct stub *stub);
/*
 * In a child, of a stub that another thread was in: a resolver of the program's own is told that it
 * is a copy, and the rest is left as it is. Nothing else may be done with it. NULL is fine.
 */
void stub_lose(struct stub *stub);

/* For a callback that has a reply: whose it is. NULL: of a resolver of the program's own. */
const struct config_server *stub_replier(const struct stub *stub);

void stub_get_stats(const struct stub *stub, struct stub_stats *ret_stats);

#ifdef __cplusplus
}
#endif
