/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * shares.h - which zone may have the next socket, so that none takes them from the others.
 *
 * Flow: stub.c tells what waits, begins and ends -> shares_next(), shares_must_yield() -> stub.c.
 *
 * The next socket is for the zone that has the fewest, and in turn. One that has work may have
 * those that no other wants, all but a quarter, which is kept for what comes next; a single zone
 * has them all. Whether a zone is answered is seen question by question, when all servers have had
 * a turn or the reply comes, and a zone of whose last questions fewer than a quarter were answered
 * is mute: it has a sixteenth of the sockets, at least SHARES_MUTE_MIN, and all such zones together
 * have half of them.
 *
 * A question without a reply in the round that ends yields its socket, and waits once more, when
 * others of its zone wait, when its zone has more than it may, or when it has more than an equal
 * share and another zone waits in vain. So what is not answered delays what could be by one round.
 * A single zone has nothing to yield to, and its questions keep their sockets.
 *
 * A value, the caller's, that is initialised and needs no end. No clock, no memory, no I/O.
 */

#include "client-lib/config/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHARES_MUTE_MIN 4u
#define SHARES_NONE	CONFIG_ZONES_MAX /* no zone */

struct shares_zone {
	uint32_t flying;   /* sockets it has */
	uint32_t waiting;  /* questions without one */
	uint32_t answered; /* how many of the last questions; see shares.c */
};

struct shares {
	struct shares_zone zones[CONFIG_ZONES_MAX];
	unsigned zone_count;
	unsigned turn;	      /* the zone that is looked at first */
	uint32_t sockets;     /* of all */
	uint32_t flying;      /* of them: in use */
	uint32_t mute_flying; /* of them: by zones that are mute */
};

/* Both are 1 at least. */
void shares_init(struct shares *shares, unsigned zone_count, uint32_t sockets);

/* A question waits; or does not any more, as it was sent or is over. */
void shares_wait(struct shares *shares, unsigned zone);
void shares_leave(struct shares *shares, unsigned zone);
/* A question has a socket; or has given it back. */
void shares_begin(struct shares *shares, unsigned zone);
void shares_end(struct shares *shares, unsigned zone);
/* Once for each time that a question has a socket: a reply came, or the first round is over. */
void shares_note(struct shares *shares, unsigned zone, bool is_answered);

bool shares_is_mute(const struct shares *shares, unsigned zone);
/* May it have one more socket now? */
bool shares_may_begin(const struct shares *shares, unsigned zone);
/* The zone that is next, of those that wait and may; SHARES_NONE: there is none. */
unsigned shares_next(const struct shares *shares);
/* A question of the zone has had no reply in this round. Is its socket to be given to another? */
bool shares_must_yield(const struct shares *shares, unsigned zone);

#ifdef __cplusplus
}
#endif
