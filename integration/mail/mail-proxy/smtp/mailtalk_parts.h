/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailtalk_parts.h - what the files of mailtalk.h share. For these alone.
 *
 * Flow: mailtalk.c has a turn -> mailtalk_replies.c takes what the next hop has said ->
 *       mailtalk_commands.c takes a command -> mailtalk.c takes the bytes of a mail.
 */

#include "integration/mail/mail-proxy/smtp/mailtalk.h"

/* Where a session is: what of the client's is looked at next. */
enum mailtalk_at {
	MAILTALK_AT_ANSWER,	  /* nothing until all replies are out; then talk->then */
	MAILTALK_AT_COMMAND,	  /* a command */
	MAILTALK_AT_AUTH,	  /* a line of AUTH */
	MAILTALK_AT_SCAN_ASKED,	  /* nothing; then talk->then */
	MAILTALK_AT_BEGIN_BODY,	  /* nothing: DATA is to go to the next hop */
	MAILTALK_AT_BEGIN_CHUNKS, /* the same, of a BDAT */
	MAILTALK_AT_BODY,	  /* lines of DATA */
	MAILTALK_AT_CHUNK,	  /* bytes of a BDAT */
	MAILTALK_AT_SWALLOW,	  /* bytes of one that is refused */
	MAILTALK_AT_END,	  /* nothing: a mail is whole, and its verdict is to be asked for */
	MAILTALK_AT_JUDGED,	  /* nothing: it is waited for */
	MAILTALK_AT_DOT,	  /* nothing: its end is to go to the next hop */
	MAILTALK_AT_TLS,	  /* nothing: its handshake */
	MAILTALK_AT_TUNNEL,
	MAILTALK_AT_CLOSED,
};

/* Whose reply is waited for, and what becomes of it. */
enum mailtalk_kind {
	MAILTALK_OURS,		 /* of code and text here: none is waited for */
	MAILTALK_FAILURE,	 /* of fail_code and fail_text: the same */
	MAILTALK_GREETING,	 /* passed on */
	MAILTALK_GREETING_AGAIN, /* of a second connection: not passed on, as is the next */
	MAILTALK_HELO_AGAIN,
	MAILTALK_HELO,
	MAILTALK_EHLO,
	MAILTALK_TO_MAIL,
	MAILTALK_TO_RCPT,
	MAILTALK_TO_RSET,
	MAILTALK_TO_DATA,
	MAILTALK_TO_DATA_OF_BDAT, /* not passed on: the chunk has its own */
	MAILTALK_TO_END,
	MAILTALK_TO_AUTH,
	MAILTALK_TO_XCLIENT,
	MAILTALK_TO_STARTTLS,
	MAILTALK_TO_QUIT,
	MAILTALK_TO_OTHER,
};

static inline bool mailtalk_is_ours(const struct mailtalk_pending *pending)
{
	return pending->kind == MAILTALK_OURS || pending->kind == MAILTALK_FAILURE;
}

/* The next hop cannot refuse a login for what others can read of it: it is never spoken to under TLS. */
static inline bool mailtalk_bars_logins(const struct mailtalk *talk)
{
	const struct mailtalk_rules *rules = talk->rules;
	return rules->offers_tls && !rules->has_plain_logins && !talk->is_secure;
}

/* What the next hop offers. */
enum {
	MAILTALK_OFFERS_AUTH = 1,
	MAILTALK_OFFERS_STARTTLS = 2,
	MAILTALK_OFFERS_XCLIENT = 4,
	MAILTALK_OFFERS_XFORWARD = 8,
	MAILTALK_OFFERS_SIZE = 16,
	MAILTALK_OFFERS_PIPELINING = 32,
};

/* Bytes of a chunk that are read although it is refused: behind more the session ends. */
#define MAILTALK_SKIP_MAX (1024 * 1024)

/* In front of an address in the list: its recipient was refused. */
#define MAILTALK_LIST_REFUSED '\1'
#define MAILTALK_NO_PLACE     UINT16_MAX

/* ---- mailtalk.c ---- */

/* The next reply that the client is to have: of ours, or one that is waited for. */
void mailtalk_push(struct mailtalk *talk, enum mailtalk_kind kind, int code, const char *text);
/* The same, behind which the session ends. */
void mailtalk_end_with(struct mailtalk *talk, int code, const char *text);
/* Nothing is read of the client until all replies are out. */
void mailtalk_answer_then(struct mailtalk *talk, enum mailtalk_at then);
/* Room that is left each way. */
size_t mailtalk_client_room(const struct mailtalk_io *io);
size_t mailtalk_server_room(const struct mailtalk_io *io);
/* To the next hop, a line with its CRLF, for which the caller has seen that there is room. */
void mailtalk_say(struct mailtalk_io *io, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The transaction is over. */
void mailtalk_reset(struct mailtalk *talk);
/* The mail on its way will not be accepted; the first reason is the one. */
void mailtalk_fail(struct mailtalk *talk, enum mailtalk_end end, int code, const char *text);
/* A whole mail has its reply, which follows. */
void mailtalk_set_outcome(struct mailtalk *talk, enum mailtalk_end end, int code, const char *text);
/* The next hop takes no more of the mail that is on its way to it. */
void mailtalk_break(struct mailtalk *talk, enum mailtalk_end end, int code, const char *text);
/* There is no connection to the next hop any more, or it is not to be used. */
void mailtalk_lose(struct mailtalk *talk, const char *text);
void mailtalk_drop(struct mailtalk *talk);

/* ---- mailtalk_replies.c ---- */

/* Says what is ours, and passes on what has come. */
void mailtalk_replies_pass(struct mailtalk *talk, struct mailtalk_io *io);
/* What the next hop says amid a mail, where it has nothing to say. */
void mailtalk_replies_early(struct mailtalk *talk, struct mailtalk_io *io);

/* ---- mailtalk_commands.c ---- */

/* One line of the client. False: nothing could be done. */
bool mailtalk_commands_take(struct mailtalk *talk, struct mailtalk_io *io);
