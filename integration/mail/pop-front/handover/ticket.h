/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * ticket.h - a checker's word to a worker that a login was right, by way of an edge.
 *
 * Flow: checker.c says yes -> ticket_make() -> the reply, the edge, the capsule -> popworker.c:
 *       ticket_is_good() -> the mailbox is opened.
 *
 * The edge talks to strangers, and one that is taken over can make any capsule. A ticket is
 * HMAC-SHA-256 of the mailbox and the time under a key that checkers and workers have, and no edge: so
 * it opens the mailboxes of those that log in while it lies, and no others. The time bounds for how
 * long one can be used again.
 *
 * Plain values. No function here keeps a pointer or logs; libcrypto allocates.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TICKET_KEY_SIZE 32
#define TICKET_SUM_SIZE 32

struct ticket {
	uint64_t made_us; /* CLOCK_MONOTONIC */
	uint8_t sum[TICKET_SUM_SIZE];
};

/* key has TICKET_KEY_SIZE bytes. False: libcrypto has no memory. */
bool ticket_make(const uint8_t *key, const char *mailbox, uint64_t now_us,
		 struct ticket *ret_ticket);
/* Is it one of that mailbox, and no older than age_max_us? Any bytes may be given. */
bool ticket_is_good(const uint8_t *key, const char *mailbox, const struct ticket *ticket,
		    uint64_t now_us, uint64_t age_max_us);

#ifdef __cplusplus
}
#endif
