/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_session.h - one session of LMTP without its sockets: bytes in, replies and requests out.
 *
 * Flow: lmtp_client.c has bytes of a mail server -> lmtp_session_run() -> lib/smtp: lines, dialogue,
 *       body -> storemail.h -> a request to the store, which lmtp_client.c sends -> the answer ->
 *       replies.
 *
 *     for (;;) {
 *             switch (lmtp_session_run(&session)) {
 *             case LMTP_READ:  say lmtp_session_said(); read into lmtp_session_room()
 *             case LMTP_WRITE: say lmtp_session_said(), of which something is taken
 *             case LMTP_ASK:   send session.request with session.memory; when it is answered
 *                              lmtp_session_answer()
 *             case LMTP_END:   say lmtp_session_said(); close
 *             }
 *     }
 *
 * A recipient may be an alias of some mailboxes: all of them have room, or it is refused.
 *
 * Pipelined commands wait in the session while the store is asked. What is offered beside
 * PIPELINING: SIZE, LIMITS, ENHANCEDSTATUSCODES, 8BITMIME, SMTPUTF8 and CHUNKING. No DSN: this is
 * where mails end, and what sends no mail cannot report; the client does when it is not offered
 * (RFC 3461, 5.2.2). No STARTTLS: clients are on this machine, and this process has no keys.
 *
 *     THE STORE SAYS                THE CLIENT HEARS
 *     0                             250 2.0.0 Ok: ID
 *     -ENOSPC, -EDQUOT              452 4.3.1
 *     MAILSTORE_EQUOTA              452 4.2.2, to RCPT or at the mail's end
 *     -EFBIG                        552 5.3.4
 *     MAILSTORE_EAWAY               451 4.4.1, to RCPT or at the mail's end: its node is down
 *     anything else, or is gone     451 4.3.0
 *
 * When only some mailboxes have got it, of several nodes, each recipient hears so (lmtp_fates.h).
 *
 * Memory: a session has LMTP_IN_SIZE and LMTP_OUT_SIZE bytes, and amid a mail the 32 KB of storemail.h.
 * What is more, large mails in memfds and the names of mailboxes, is counted for all sessions
 * together: a recipient or a mail with which it would be more than lmtp_world.memory_max is refused
 * with 452 4.3.1. It is given back when the store has answered.
 *
 * No socket, no loop, no clock. A session belongs to one thread, as does its world. One line of the
 * log is written for each mail.
 */

#include "integration/mail/base/store/storemail.h"
#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/lmtp/lmtp_boxes.h"
#include "lib/smtp/body.h"
#include "lib/smtp/dialogue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LMTP_IN_SIZE  16384
#define LMTP_OUT_SIZE 4096
#define LMTP_ID_SIZE  13 /* twelve hexadecimal digits and a NUL */

/* What sessions share. */
struct lmtp_world {
	struct dialogue_limits limits;
	struct users *users; /* borrowed; NULL: every address is a mailbox */
	uint64_t memory_max;
	uint64_t memory_used;
	bool has_store; /* there is a connection */
	bool has_quotas;
	bool is_ending;		      /* sessions end where no mail is under way */
	int64_t now_s;		      /* since 1970 */
	struct users_mailboxes found; /* of the recipient that is looked up, and no longer */
};

enum lmtp_wish { LMTP_READ, LMTP_WRITE, LMTP_ASK, LMTP_END };

/* What the bytes that come next are. */
enum lmtp_state {
	LMTP_TALK,
	LMTP_SKIP,    /* the rest of a line that is too long */
	LMTP_SWALLOW, /* a chunk that was refused */
	LMTP_DATA,
	LMTP_CHUNK,
	LMTP_CHECK, /* none is taken: the store is asked about a recipient */
	LMTP_STORE, /* the same, and it has the mail */
	LMTP_OVER,
};

struct lmtp_session {
	/* ---- for LMTP_ASK, good until lmtp_session_answer() ---- */
	struct storewire_request request;
	struct storelink_memory memory;

	/* ---- lmtp_session.c's own ---- */
	struct lmtp_world *world;
	char id[LMTP_ID_SIZE];
	char client[64]; /* its address; "": a UNIX socket */
	enum lmtp_state state;
	struct dialogue dialogue;
	struct dialogue_event event;
	unsigned replies_left; /* of event.reply, to be said before anything else */
	/* Of these, the ones that are refusal instead: a byte for each; NULL: none. */
	uint8_t *fates;
	size_t fate_count;
	char refusal[96];
	struct body body;
	uint64_t chunk_left;
	uint64_t data_size; /* what has come behind DATA */
	/* The transaction. */
	struct lmtp_boxes boxes;
	char recipient[ENVELOPE_ADDRESS_MAX + 1]; /* the first */
	/* The recipient at hand: its mailboxes are in boxes already, behind those of the others. */
	size_t others_count;
	size_t others_size;
	size_t asked_at; /* where the next mailbox begins that the store is asked about */
	struct storemail mail;
	int failure;	      /* why the mail cannot be kept: -errno; 0 */
	uint64_t boxes_taken; /* of the world's memory */
	uint64_t mail_taken;
	size_t mailbox_count;
	unsigned mail_number;
	/* Bytes. */
	size_t in_start;
	size_t in_end;
	size_t out_start;
	size_t out_end;
	uint8_t in[LMTP_IN_SIZE];
	char out[LMTP_OUT_SIZE];
};

/* world is borrowed until the end. client is an address, or "". The greeting is to be said. */
void lmtp_session_init(struct lmtp_session *ret_session, struct lmtp_world *world, uint64_t id,
		       const char *client);
/* Whatever it was about. */
void lmtp_session_deinit(struct lmtp_session *session);

enum lmtp_wish lmtp_session_run(struct lmtp_session *session);

/* Where the next bytes of the client go; never NULL with LMTP_READ. */
uint8_t *lmtp_session_room(struct lmtp_session *session, size_t *ret_size);
void lmtp_session_fed(struct lmtp_session *session, size_t size);
/* What is to be said, and how much of it was. */
const char *lmtp_session_said(const struct lmtp_session *session, size_t *ret_size);
void lmtp_session_sent(struct lmtp_session *session, size_t size);

/*
 * status is the store's word, or -errno of the connection; id is that of a mail with status 0. There are
 * count rows of lmtp_fates.h; 0: one word for all.
 */
void lmtp_session_answer(struct lmtp_session *session, int status, const struct mailid *id,
			 const uint8_t *rows, uint32_t count);
/* Not while it is asked. DIALOGUE_TIMED_OUT or DIALOGUE_SHUTTING_DOWN; LMTP_END is next. */
void lmtp_session_end(struct lmtp_session *session, enum dialogue_refusal refusal);

#ifdef __cplusplus
}
#endif
