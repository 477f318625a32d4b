/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * capsule.h - one session as bytes, on its way from an edge to a worker.
 *
 * Flow: pack.c fills it at the first valid recipient -> handover.h -> worker.c goes on where
 *       the edge has stopped.
 *
 * CAPSULE.md says what the bytes are, and nothing else does. Both ends are processes of one
 * installation, but perhaps of two versions (a reload amid an upgrade), and the edge is the
 * process that talks to strangers: what comes out of capsule_decode() is whole, is what went in
 * (a checksum finds any single bit and any burst of 32), and is within what the edge could have
 * made: texts end, have no control characters, and the dialogue is dialogue_is_valid().
 *
 * Of the kinds:
 *
 *     CAPSULE_TRUSTED    the dialogue waits for the answer to the RCPT of .recipient
 *                        (DIALOGUE_AT_RCPT_ASKED); the worker gives it, and reads on at .unread
 *     CAPSULE_CONNECTED  nothing was said yet (DIALOGUE_AT_START, no HELO); .recipient is empty.
 *                        An unmodified smtpd gets the connection. .unread and TLS are empty.
 *
 * A plain value of some 12 KiB, better not on a small stack. Nothing here keeps a pointer,
 * allocates or logs.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/edge/session_facts.h"
#include "integration/mail/base/handover/handover.h"
#include "integration/mail/base/handover/seal.h"
#include "lib/smtp/dialogue.h"
#include "lib/smtp/envelope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CAPSULE_UNREAD_MAX	 8192
#define CAPSULE_TLS_PROTOCOL_MAX 15
#define CAPSULE_TLS_CIPHER_MAX	 63
#define CAPSULE_TLS_SNI_MAX	 255
/* Enough for any: the fixed part, eleven sizes and all texts at their longest. */
#define CAPSULE_SIZE_MAX HANDOVER_SIZE_MAX

enum capsule_kind {
	CAPSULE_TRUSTED = 1,
	CAPSULE_CONNECTED = 2,
};

struct capsule {
	enum capsule_kind kind;
	/* Of bytes_in what is unread is no part, or it would be counted twice. */
	struct session_facts facts;
	uint64_t queued_at_us; /* CLOCK_MONOTONIC, which is one for all processes */
	/* Without a verdict neither goes along. */
	char zones[JUDGE_ZONES_MAX + 1];
	char header[JUDGE_HEADER_MAX + 1]; /* what to put in front of its mails; "": nothing */
	char tls_protocol[CAPSULE_TLS_PROTOCOL_MAX + 1]; /* ""; in the clear */
	char tls_cipher[CAPSULE_TLS_CIPHER_MAX + 1];
	char tls_sni[CAPSULE_TLS_SNI_MAX + 1];
	struct dialogue dialogue;
	struct recipient recipient;
	size_t unread_size;
	uint8_t unread[CAPSULE_UNREAD_MAX]; /* what the client has sent behind that RCPT */
};

/*
 * ret_bytes has CAPSULE_SIZE_MAX bytes, of which *ret_size are used. 0, or SEAL_EVALUE for what
 * capsule_decode() would refuse: then nothing is written.
 */
int capsule_encode(const struct capsule *capsule, uint8_t *ret_bytes, size_t *ret_size);

/* 0 or a status of seal.h; *ret_capsule has no value then. */
int capsule_decode(const uint8_t *bytes, size_t size, struct capsule *ret_capsule);

/* As handover_send(), with a capsule, or a status of seal.h. */
int capsule_send(int queue_fd, const struct capsule *capsule, const struct handover_fds *fds);

#ifdef __cplusplus
}
#endif
