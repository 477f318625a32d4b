/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * dialogue.h - one SMTP session as a state machine: a command goes in, what is to be done comes
 *              out.
 *
 * Flow: lines.h -> dialogue_step() -> a session does what the action says and gives its answer ->
 *       the reply, made by reply.h. capsule.h carries the state from an edge of smtp-front to a
 *       worker.
 *
 *     dialogue_init(&dialogue);
 *     say dialogue_greet(&limits, reply)
 *     for each line:
 *             action = dialogue_step(&dialogue, &limits, line, line_size, &event);
 *             switch (action) {
 *             case DIALOGUE_RECIPIENT:
 *                     action = is_known(event.recipient.address)
 *                             ? dialogue_accept(&dialogue, &limits, &event)
 *                             : dialogue_refuse(&dialogue, &limits, DIALOGUE_NO_SUCH_USER, &event);
 *             ...
 *             say event.reply; close after DIALOGUE_QUIT and DIALOGUE_CLOSE
 *
 * This alone knows which command may follow which, and every reply of ours. It speaks RFC 5321
 * with PIPELINING (2920), SIZE (1870), 8BITMIME (6152), SMTPUTF8 (6531), ENHANCEDSTATUSCODES
 * (2034), STARTTLS (3207), CHUNKING (3030, without BINARYMIME), DSN (3461), LIMITS (9422) and
 * XCLIENT. With .is_lmtp it is LMTP (2033): LHLO is what EHLO was, DATA without a recipient is 503,
 * and where a mail ends there is a reply for each recipient, all of them the same: say event.reply
 * event.reply_count times. That is 1 everywhere else, and a DATA that is answered unsaid has one
 * reply whatever the count. What is offered does not depend on it.
 *
 * Six actions are questions. Until one of dialogue_accept(), dialogue_refuse() and
 * dialogue_answer() has been called no line may be given to dialogue_step(); the answer may take
 * its time. They write event.reply and return what is to be done, DIALOGUE_REPLY or
 * DIALOGUE_CLOSE. Questions are also what ends the bytes of a mail and TLS:
 *
 *     ACTION               TO DO                                        dialogue_accept() SAYS
 *     DIALOGUE_MAIL        may event.envelope begin? (edge: yes)        250 2.1.0
 *     DIALOGUE_RECIPIENT   may event.recipient get it?                  250 2.1.5
 *     DIALOGUE_DATA        say event.reply (354); body_take() to its
 *                          end; commit. Or answer at once, unsaid.      250 2.0.0
 *     DIALOGUE_BDAT        body_take_chunk() with event.chunk_size
 *                          bytes; if is_last, commit.                   250 2.0.0
 *     DIALOGUE_STARTTLS    say event.reply (220); TLS; dialogue_tls().
 *                          Or refuse: DIALOGUE_EARLY_INPUT when there
 *                          are unread bytes, DIALOGUE_NO_TLS            -
 *     DIALOGUE_XCLIENT     take event.xclient for the session's         220, the greeting
 *
 * All bytes of a chunk have to be read before the answer, also when the sink has failed at its
 * first. The others need no answer:
 *
 *     DIALOGUE_REPLY       say event.reply, read on
 *     DIALOGUE_SWALLOW     a BDAT that is refused: read event.chunk_size bytes and forget them,
 *                          then say event.reply. They may be more than there is time for.
 *     DIALOGUE_RESET       the transaction, if any, is over: the sink aborts; say event.reply
 *     DIALOGUE_QUIT        say event.reply, close
 *     DIALOGUE_CLOSE       the same: we do not want any more
 *
 * A session that has ended stays so: each of these functions then has nothing to say and returns
 * DIALOGUE_CLOSE. A limit of 0 is none.
 *
 * The state is a plain value and all there is: copy it. These members are it, and dialogue.c
 * keeps nothing elsewhere: state, helo, is_esmtp, is_tls, withheld, envelope, recipient_count,
 * refused_count, mail_count, error_count, command_count, junk_count, mail_size, chunk_size,
 * is_last. A capsule has all of them, and dialogue_is_valid() tells whether what came out of one
 * could have been made here. No function here does I/O, keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/smtp/command.h"
#include "lib/smtp/envelope.h"
#include "lib/wire/lines.h"
#include "lib/smtp/reply.h"
#include "lib/smtp/xclient.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The longest command: 512 with its CRLF (RFC 5321, 4.5.3.1.4), and for RCPT 536 more for the
 * longest NOTIFY and ORCPT (RFC 3461); what MAIL may have is 165 more. The rest is for blanks that
 * should not be there. XCLIENT has 512.
 */
#define DIALOGUE_LINE_MAX 1280

#define DIALOGUE_REPLY_MAX REPLY_MAX

/* An accepted chunk of so many bytes that is not the last of its mail is not counted as a command. */
#define DIALOGUE_FREE_CHUNK 1000

struct dialogue_limits {
	uint64_t size_max; /* bytes of a mail */
	unsigned recipients_max;
	unsigned errors_max;   /* refused commands of a session, after which it ends */
	unsigned commands_max; /* of a session, and once more for each accepted mail */
	unsigned junk_max;  /* commands that bring no mail nearer, since its last accepted mail */
	unsigned mails_max; /* accepted mails of a session */
	bool offers_tls;
	bool requires_tls;   /* nothing but EHLO, NOOP, QUIT and STARTTLS without it */
	bool offers_xclient; /* to this client */
	bool is_lmtp;
	unsigned withheld;    /* extensions of envelope.h that EHLO does not offer */
	const char *hostname; /* borrowed; printable, 255 bytes at most */
};

/* What waits for what; those from _ASKED on in the name wait for an answer of the caller. */
enum dialogue_state {
	DIALOGUE_AT_START, /* no HELO yet, or none since TLS or XCLIENT began */
	DIALOGUE_AT_HELO,  /* and no transaction */
	DIALOGUE_AT_MAIL_ASKED,
	DIALOGUE_AT_MAIL, /* no recipient yet */
	DIALOGUE_AT_RCPT_ASKED,
	DIALOGUE_AT_RCPT,	/* at least one recipient */
	DIALOGUE_AT_DATA_ASKED, /* the mail comes, or is committed */
	DIALOGUE_AT_BDAT_ASKED, /* a chunk comes, or the mail is committed */
	DIALOGUE_AT_CHUNKS,	/* a chunk has come, and was not the last */
	DIALOGUE_AT_SPOILT,	/* a chunk was refused: those behind it are, until MAIL or RSET */
	DIALOGUE_AT_TLS_ASKED,
	DIALOGUE_AT_XCLIENT_ASKED,
	DIALOGUE_AT_END,
	DIALOGUE_STATE_COUNT,
};

struct dialogue {
	enum dialogue_state state;
	char helo[ENVELOPE_HELO_MAX + 1]; /* "": none */
	bool is_esmtp;			  /* EHLO or LHLO, not HELO */
	bool is_tls;
	unsigned withheld;	  /* extensions that the client was not offered at its last HELO */
	struct envelope envelope; /* from MAIL_ASKED on, else zero */
	unsigned recipient_count; /* accepted, of this transaction */
	unsigned refused_count;	  /* recipients refused, of this transaction */
	unsigned mail_count;	  /* accepted */
	unsigned error_count;	  /* 4xx and 5xx */
	unsigned command_count;
	unsigned junk_count; /* of these, since the last accepted mail; see dialogue.c */
	uint64_t mail_size;  /* chunks of this mail before the one under way */
	uint64_t chunk_size; /* of the chunk under way */
	bool is_last;	     /* the chunk under way is */
};

enum dialogue_action {
	DIALOGUE_REPLY,
	DIALOGUE_MAIL,
	DIALOGUE_RECIPIENT,
	DIALOGUE_DATA,
	DIALOGUE_BDAT,
	DIALOGUE_SWALLOW,
	DIALOGUE_STARTTLS,
	DIALOGUE_XCLIENT,
	DIALOGUE_RESET,
	DIALOGUE_QUIT,
	DIALOGUE_CLOSE,
};

/* Texts that are said in more places than one; dialogue_answer() has any other. */
enum dialogue_refusal {
	DIALOGUE_NO_SUCH_USER, /* 550 5.1.1 */
	DIALOGUE_NOT_OURS,     /* 550 5.7.1, a relay */
	DIALOGUE_TRY_LATER,    /* 451 4.3.0 */
	DIALOGUE_NO_TLS,       /* 454 4.7.0 */
	/* These end the session, and may be said at any time. */
	DIALOGUE_EARLY_INPUT,	/* 521 5.5.1: before the greeting, behind STARTTLS */
	DIALOGUE_BUSY,		/* 421 4.3.2 */
	DIALOGUE_OTHER_CLIENT,	/* 421 4.3.2: XCLIENT in a session that is one client's */
	DIALOGUE_LIMITED,	/* 421 4.7.0: beyond what its network may have */
	DIALOGUE_SHUTTING_DOWN, /* 421 4.3.2 */
	DIALOGUE_TIMED_OUT,	/* 421 4.4.2 */
	DIALOGUE_REFUSAL_COUNT,
};

/* What an action is about; members that it is not about have no value. */
struct dialogue_event {
	enum command_verb verb;		/* what dialogue_step() was given */
	int reply_code;			/* 0 when there is nothing to say yet */
	char reply[DIALOGUE_REPLY_MAX]; /* complete, and with a NUL */
	size_t reply_size;
	unsigned reply_count;		 /* 1; of LMTP at a mail's end its recipients */
	const struct envelope *envelope; /* DIALOGUE_MAIL: the dialogue's own */
	struct recipient recipient;	 /* DIALOGUE_RECIPIENT */
	uint64_t chunk_size;		 /* DIALOGUE_BDAT, DIALOGUE_SWALLOW */
	bool is_first;			 /* DIALOGUE_BDAT: the mail begins, if with nothing */
	bool is_last;			 /* DIALOGUE_BDAT, DIALOGUE_SWALLOW */
	struct xclient xclient;		 /* DIALOGUE_XCLIENT */
};

void dialogue_init(struct dialogue *ret_dialogue);

/* "220 mx.example.org ESMTP", or LMTP, to ret_reply, which has DIALOGUE_REPLY_MAX bytes. Its size. */
size_t dialogue_greet(const struct dialogue_limits *limits, char *ret_reply);

/* A line without its CRLF. It may have any byte but CR, LF and NUL, which lines_take() refuses. */
enum dialogue_action dialogue_step(struct dialogue *dialogue, const struct dialogue_limits *limits,
				   const char *line, size_t line_size,
				   struct dialogue_event *ret_event);
/*
 * What lines_take() refused. LINES_TOO_LONG is DIALOGUE_REPLY, after lines_skip() has found the
 * end; the others are DIALOGUE_CLOSE.
 */
enum dialogue_action dialogue_malformed(struct dialogue *dialogue,
					const struct dialogue_limits *limits,
					enum lines_status status, struct dialogue_event *ret_event);

/* ---- answers ---- */

/* Whether one is due: the state is one of _ASKED. */
bool dialogue_is_asking(const struct dialogue *dialogue);
/* Not for DIALOGUE_STARTTLS, which dialogue_tls() accepts. */
enum dialogue_action dialogue_accept(struct dialogue *dialogue,
				     const struct dialogue_limits *limits,
				     struct dialogue_event *ret_event);
enum dialogue_action dialogue_refuse(struct dialogue *dialogue,
				     const struct dialogue_limits *limits,
				     enum dialogue_refusal refusal,
				     struct dialogue_event *ret_event);
/*
 * The answer in the caller's own words: a code of 200 to 299 accepts, any other refuses, 421 and
 * 521 end the session too. text has its own enhanced code and is made harmless (reply.h).
 */
enum dialogue_action dialogue_answer(struct dialogue *dialogue,
				     const struct dialogue_limits *limits, int code,
				     const char *text, struct dialogue_event *ret_event);
/* TLS has begun: all that was said before is forgotten (RFC 3207, 4.2), counters are kept. */
void dialogue_tls(struct dialogue *dialogue);

/* ---- out of a capsule ---- */

/*
 * Every value is in its range, every text ends and is one that the parsers let through, and they
 * go together. What is valid never makes a function here fail an assertion or write outside.
 */
bool dialogue_is_valid(const struct dialogue *dialogue);
/* The same for a recipient, of a transaction with or without SMTPUTF8. */
bool dialogue_is_valid_recipient(const struct recipient *recipient, bool is_utf8);

#ifdef __cplusplus
}
#endif
