/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * peer_parts.h - what peer.c and the kinds of peers share: the connection, its buffer, an end.
 *
 * Flow: peer.h -> peer.c, which has the socket and the time -> a kind's functions, which have the
 *       protocol -> peer_send() and peer_make() for what goes out, peer_finish() or peer_fail() for
 *       the end.
 *
 *     static void take(struct peer *peer, const uint8_t *bytes, size_t size)
 *     {
 *             if (is_clean)
 *                     peer_finish(peer, SCAN_ACCEPT, false, "");
 *     }
 *
 * What does not go out at once is kept in out, which has room for one piece of a mail and what a
 * protocol has around it. A kind that waits for a reply between two packets, as milters do, keeps
 * the piece itself and makes the next packet in its function produce.
 *
 * Behind peer_finish() and peer_fail(), whichever is the first, the connection is closed, and no
 * function of the kind is called any more.
 */

#include "integration/mail/base/peers/peer.h"
#include "integration/mail/base/peers/peer_fields.h"
#include "integration/mail/base/peers/peer_replies.h"
#include "integration/mail/base/peers/rspamd_reply.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_REASON_MAX 160

struct peer_kind {
	size_t state_size; /* of its own, at peer->state, zero at the beginning */
	/* The connection is on its way. NULL: its first words come by produce(). */
	void (*open)(struct peer *peer);
	void (*push)(struct peer *peer, const uint8_t *bytes, size_t size);
	/* NULL: produce() sees that it has ended. */
	void (*end)(struct peer *peer);
	/* Bytes of the peer; it has closed its side with 0, which ends in one of the two ends. */
	void (*take)(struct peer *peer, const uint8_t *bytes, size_t size);
	/* When all has gone out: makes more of what the kind has kept. NULL: it keeps nothing. */
	bool (*produce)(struct peer *peer);
	/* Has it kept bytes of the mail? NULL as above. */
	bool (*has_kept)(const struct peer *peer);
	/* The last bytes to a peer that has said its verdict, or that is left alone. NULL: none. */
	void (*leave)(struct peer *peer);
};

struct peer {
	const struct peer_kind *kind;
	struct scan_envelope envelope; /* its texts are borrowed */
	int fd;			       /* -1 when it has ended */
	bool is_connected;
	bool is_ended;	     /* the mail */
	enum peer_state end; /* PEER_OPEN: it has not ended */
	unsigned timeout_ms;
	uint64_t deadline_ms;
	int send_error; /* it takes no more, and may have said why */
	size_t out_from;
	size_t out_size; /* behind out_from */
	struct peer_verdict verdict;
	char reason[PEER_REASON_MAX];
	void *state;
	uint8_t out[PEER_KEPT_MAX];
};

extern const struct peer_kind peer_clamd;
extern const struct peer_kind peer_rspamd;
extern const struct peer_kind peer_milter;

/* head, bytes and tail in this order; what the socket does not take is kept. */
void peer_send(struct peer *peer, const void *head, size_t head_size, const uint8_t *bytes,
	       size_t size, const void *tail, size_t tail_size);
/* Room for bytes behind what is kept, which go out with peer_made(). NULL: there is no such room. */
uint8_t *peer_make(struct peer *peer, size_t size);
void peer_made(struct peer *peer, size_t size);

void peer_finish(struct peer *peer, enum scan_action action, bool is_found, const char *name);
void peer_fail(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
