/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * peer.h - another scanner that has the same bytes at the same time: clamd, rspamd, a milter.
 *
 * Flow: scanner.c, for each peer of the settings: peer_open() at a mail's begin -> peer_push() with
 *       its bytes -> peer_end() -> peer_turn() when its descriptor is ready, until peer_state() is
 *       PEER_DONE or PEER_FAILED -> peer_verdict().
 *
 * A peer is spoken to without blocking; what it has not taken is kept in a buffer of its own of
 * PEER_KEPT_MAX bytes, and while there is something in it the peer is busy. One that is not there,
 * breaks off, is too slow or says what it must not is PEER_FAILED with a reason; what follows from
 * that is the settings'.
 *
 * Its time runs while it is busy, anew each time, and from the mail's end to its verdict.
 *
 * Each kind is a table of functions, in peer_clamd.c, peer_rspamd.c, peer_milter.c. For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/scan_words.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_KEPT_MAX (SCAN_PIECE_MAX + 4096)

struct peer;

enum peer_state {
	PEER_OPEN,   /* takes bytes */
	PEER_BUSY,   /* is to be waited for */
	PEER_DONE,   /* has said its verdict, also before the end */
	PEER_FAILED, /* has none */
};

struct peer_verdict {
	enum scan_action action; /* ACCEPT, MARK, DEFER, REJECT */
	char name
		[SCAN_TEXT_MAX]; /* what was found, or the peer's own words for the reply; may be "" */
	bool is_found; /* a signature, so that settings.actions[INSPECT_SIGNATURE] decides */
};

/*
 * address: a socket's path, or ADDRESS@PORT. A peer that cannot be connected is not an error here
 * but PEER_FAILED. envelope may be NULL; its texts and the array of recipients are borrowed until
 * peer_close(). 0 or -ENOMEM.
 */
int peer_open(enum scan_peer kind, const char *address, const struct scan_envelope *envelope,
	      unsigned timeout_ms, struct peer **ret_peer);
/* Takes NULL. */
void peer_close(struct peer *peer);

/* Only while it is PEER_OPEN; in other states bytes are ignored. size of SCAN_PIECE_MAX at most. */
void peer_push(struct peer *peer, const uint8_t *bytes, size_t size);
void peer_end(struct peer *peer);
/* Behind poll(), and when its time is over. */
void peer_turn(struct peer *peer);

enum peer_state peer_state(const struct peer *peer);
/* Its descriptor and the events that it waits for; -1: none. */
int peer_fd(const struct peer *peer, short *ret_events);
/* By clock.h; UINT64_MAX: no limit runs. */
uint64_t peer_deadline_ms(const struct peer *peer);
/* With PEER_DONE; borrowed. */
const struct peer_verdict *peer_verdict(const struct peer *peer);
/* With PEER_FAILED: "connect: Connection refused". */
const char *peer_reason(const struct peer *peer);

#ifdef __cplusplus
}
#endif
