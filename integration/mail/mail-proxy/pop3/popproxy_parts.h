/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popproxy_parts.h - what the parts of popproxy.h have of one another.
 *
 * Flow: popproxy_step() -> popproxy_answer() for the oldest command, which gives mails to
 *       popproxy_mail() -> popproxy_send() -> popproxy_ask() for the next line of the client.
 *
 * A part does what it can and says whether that was anything. It writes a line only when there is
 * room for any, so that what it does never depends on how much.
 */

#include "integration/mail/mail-proxy/pop3/popproxy.h"
#include "lib/wire/lines.h"

enum popproxy_kind {
	POPPROXY_LOCAL,	  /* the answer is .text */
	POPPROXY_LINE,	  /* one line */
	POPPROXY_LINES,	  /* and more behind it, of any text */
	POPPROXY_NUMBERS, /* the same, two numbers each */
	POPPROXY_UIDS,	  /* the same, a number and what follows it each */
	POPPROXY_CAPA,
	POPPROXY_MAIL, /* RETR */
	POPPROXY_TOP,
	POPPROXY_USER,
	POPPROXY_LOGIN, /* PASS, APOP */
	POPPROXY_SASL,
	POPPROXY_STLS,
	POPPROXY_QUIT,
};

/* How an answer begins. */
enum popproxy_sign { POPPROXY_OK, POPPROXY_ERR, POPPROXY_CONTINUE, POPPROXY_NO_SIGN };

static inline struct popproxy_ask *popproxy_head(struct popproxy *proxy)
{
	return proxy->ask_count == 0 ? NULL : &proxy->asks[proxy->ask_begin];
}

/* The server cannot refuse a login for what others can read of it: it is never spoken to under TLS. */
static inline bool popproxy_bars_logins(const struct popproxy *proxy)
{
	const struct popproxy_limits *limits = proxy->limits;
	return limits->stls == POPPROXY_STLS_OWN && !limits->has_plain_logins && !proxy->is_tls;
}

/* ---- popproxy.c ---- */

bool popproxy_has_room(size_t room, size_t size);
/* Of what there was room for, see popproxy_has_room(). */
void popproxy_to_client(struct popproxy_io *io, const char *text);
void popproxy_to_client_bytes(struct popproxy_io *io, const void *bytes, size_t size);
/* With a blank for each control character. */
void popproxy_to_client_text(struct popproxy_io *io, struct pop3_text text);
/* A line: the sign, and a text behind a blank where there is one. */
void popproxy_to_client_answer(struct popproxy_io *io, const char *sign, struct pop3_text line);
void popproxy_to_server_bytes(struct popproxy_io *io, const void *bytes, size_t size);
/*
 * The next line of the server, which is used then. False: it is not there yet, or the session has
 * ended as there was none.
 */
bool popproxy_server_line(struct popproxy *proxy, struct popproxy_io *io,
			  struct pop3_text *ret_line);
/* What stands behind the sign is left in *line. */
enum popproxy_sign popproxy_sign(struct pop3_text *line);
/*
 * The next answer of the server, +OK or -ERR, with what stands behind that, once there is room for a line
 * to the client. False: it is not there yet, or the session has ended as it was none.
 */
bool popproxy_server_answer(struct popproxy *proxy, struct popproxy_io *io,
			    struct pop3_text *ret_line, enum popproxy_sign *ret_sign);
/* The answer of the oldest command is complete. */
void popproxy_pop(struct popproxy *proxy);
/* Now; the status is the last one. */
void popproxy_finish(struct popproxy *proxy, enum popproxy_status status, const char *why);
/* The server has said what it must not. */
void popproxy_broken(struct popproxy *proxy, struct popproxy_io *io);

/* ---- the others ---- */

bool popproxy_answer(struct popproxy *proxy, struct popproxy_io *io);
bool popproxy_send(struct popproxy *proxy, struct popproxy_io *io);
bool popproxy_ask(struct popproxy *proxy, struct popproxy_io *io);
/* RETR or TOP at the head. */
bool popproxy_mail(struct popproxy *proxy, struct popproxy_io *io);
/* May a client take -ERR for the answer to the mail at the head? */
bool popproxy_mail_is_silent(const struct popproxy *proxy);
/* Does the server owe something of it? */
bool popproxy_mail_is_at_server(const struct popproxy *proxy);
/* Has the client got its answer while the server still sends? */
bool popproxy_mail_is_answered(const struct popproxy *proxy);
/* All that belongs to a mail is given back. */
void popproxy_mail_free(struct popproxy *proxy);
