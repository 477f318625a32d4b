/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popcapsule.h - one session as bytes, on its way from an edge to a worker: its login was right.
 *
 * Flow: popedge.c fills it when a checker has said yes -> handover.h -> popworker.c goes on where the
 *       edge has stopped: it opens the maildrop and answers the login.
 *
 * The bytes are those of seal.h, then the members below in their order: numbers big-endian, of 8 bytes
 * but where popcapsule.c says less; texts and the unread bytes as a size of 2 bytes and what it says.
 * The edge is the process that talks to strangers: what comes out of popcapsule_decode() is whole,
 * and within what an edge makes; the dialogue is pop3_dialogue_is_valid() and waits for the answer to
 * its login. No password is part of it.
 *
 * A plain value of some 5 KiB. Nothing here keeps a pointer, allocates or logs.
 */

#include "integration/mail/base/edge/session_facts.h"
#include "integration/mail/base/handover/handover.h"
#include "integration/mail/base/handover/seal.h"
#include "integration/mail/base/users/users.h"
#include "integration/mail/pop-front/handover/ticket.h"
#include "lib/pop3/pop3_dialogue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POPCAPSULE_UNREAD_MAX 2048 /* of an edge's buffer */
#define POPCAPSULE_TLS_MAX    15

struct popcapsule {
	/* Of bytes_in what is unread is no part, or it would be counted twice. */
	struct session_facts facts;
	uint64_t queued_at_us; /* CLOCK_MONOTONIC */
	struct pop3_dialogue dialogue;
	struct ticket ticket;		  /* for that mailbox; the worker looks at it */
	char mailbox[USERS_ENTRY_SIZE];	  /* that the user's name stands for */
	char zones[JUDGE_ZONES_MAX + 1];  /* that list the client */
	char tls[POPCAPSULE_TLS_MAX + 1]; /* "TLSv1.3"; "": in the clear */
	size_t unread_size;
	uint8_t unread[POPCAPSULE_UNREAD_MAX]; /* what the client has sent behind its login */
};

/*
 * ret_bytes has HANDOVER_SIZE_MAX bytes, of which *ret_size are used. 0, or SEAL_EVALUE for
 * what popcapsule_decode() would refuse.
 */
int popcapsule_encode(const struct popcapsule *capsule, uint8_t *ret_bytes, size_t *ret_size);
/* 0 or a status of seal.h; *ret_capsule has no value then. Any bytes may be given. */
int popcapsule_decode(const uint8_t *bytes, size_t size, struct popcapsule *ret_capsule);

#ifdef __cplusplus
}
#endif
