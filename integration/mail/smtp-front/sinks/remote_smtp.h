/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * remote_smtp.h - an SMTP or LMTP client that waits: one connection to the next hop.
 *
 * Flow: sink_smtp.c -> remote_open() (connection, PROXY header, greeting, EHLO or LHLO, XCLIENT)
 *       -> remote_command() for MAIL and RCPT -> remote_begin(), remote_append(), remote_end(),
 *       remote_read_end() -> the same again, or remote_close().
 *
 * This file alone knows how a next hop is told about a client:
 *
 *     PROXY TCP4 192.0.2.7 198.51.100.25 40112 25            before the greeting, for all that
 *                                                            comes (haproxy's protocol, version 1;
 *                                                            version 2 is the same in bytes)
 *     XCLIENT PORT=40112 PROTO=ESMTP HELO=mail.example.net NAME=[UNAVAILABLE] ADDR=192.0.2.7
 *                                                            after EHLO, those attributes that it
 *                                                            offers; then EHLO again
 *
 * ADDR is in the last command where one line is too short for all: the next hop may authorize the
 * client of that address from there on. Without NAME and REVERSE_NAME it would keep the names that
 * it has found for us. A hop that is told hears the HELO of the client in EHLO, one that is not
 * told hears our hostname.
 *
 * The connection and the greeting have the connect timeout of the setup, every other step its
 * timeout. What a server says is as replies.h bounds it; of a text the beginning is kept. Before a
 * command is said nothing may be there that was not asked for.
 *
 * Lies in the memory of its owner. Functions return 0 or a negative errno: -EPROTO when what
 * came is no reply, or none to this, -ECONNRESET or -EPIPE when the server has ended, with a 421 that
 * was not asked for or without, -ETIMEDOUT. After one of those only remote_close() makes sense. What a
 * reply says is never an error here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "integration/mail/base/worker/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REMOTE_COMMAND_MAX 1500 /* MAIL and RCPT with all parameters, see sink_smtp.c */

/* Bits of remote.features. */
#define REMOTE_SIZE	1U
#define REMOTE_8BITMIME 2U
#define REMOTE_SMTPUTF8 4U
#define REMOTE_DSN	8U
#define REMOTE_XCLIENT	16U

/* How far a connection has come. */
enum remote_reach { REMOTE_UNREACHED, REMOTE_CONNECTED, REMOTE_GREETED };

struct remote {
	int fd; /* ours; -1: not connected */
	unsigned timeout_ms;
	unsigned end_timeout_ms; /* for each reply to the end of a mail */
	enum remote_reach reach; /* of remote_open(), also when it has failed */
	unsigned features;
	unsigned xclient; /* attributes it offers, remote_smtp.c's own */
	bool is_lmtp;
	bool says_clients_helo; /* the last EHLO had it */
	bool is_at_line_start;
	struct stream stream;
};

/* Not connected. */
void remote_init(struct remote *ret_remote);
void remote_close(struct remote *remote);
bool remote_is_open(const struct remote *remote);

/*
 * Connects and introduces us and the client. When that fails the connection is closed, and
 * *reterr_step says at what (static text); when the server refuses, *reterr_step is also set, the
 * result is -ECONNREFUSED, or -EACCES for a 5xx to the HELO of the client, and *reterr_reply has
 * what it said, else reterr_reply->code is 0.
 * Without a session, NULL, there is no client: a PROXY header has the connection's own ends.
 * A server that is to be told by XCLIENT and does not offer it is not told; features says so.
 */
int remote_open(struct remote *remote, const struct setup_sink *setup, const char *hostname,
		const struct sink_session *session, const char **reterr_step,
		struct sink_reply *reterr_reply);

/* command is complete with CRLF. The reply is that to it; 421 is one as well. */
int remote_command(struct remote *remote, const char *command, struct sink_reply *ret_reply);
/* QUIT, without a wait for its reply; then remote_close(). */
void remote_quit(struct remote *remote);
/* Another reply to it: those behind the first of LMTP's. */
int remote_read_end(struct remote *remote, struct sink_reply *ret_reply);
/*
 * One behind the last that was due, when it has come with that; waits for none. -ENODATA: there is none, or only the
 * 421 of a server that ends, which is no reply to a mail.
 */
int remote_read_excess(struct remote *remote, struct sink_reply *ret_reply);

/* The mail, after 354: dots at the beginning of lines are doubled. */
void remote_begin(struct remote *remote);
int remote_append(struct remote *remote, const uint8_t *bytes, size_t size);
/* The dot; the reply is read. Without it, closing lets the server drop the mail. */
int remote_end(struct remote *remote, struct sink_reply *ret_reply);
/*
 * Behind a failure of these two: has the server refused the mail before it went away? Then
 * *ret_reply is 4xx or 5xx. Does not wait for it to begin.
 */
bool remote_has_refused(struct remote *remote, struct sink_reply *ret_reply);

#ifdef __cplusplus
}
#endif
