/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * session.h - one session of SMTP, LMTP (RFC 2033) or POP3 (pop.h) from the client's side, without
 *             its connection.
 *
 * Flow: trace.c says what it is to be -> driver.c sends what session_output() gives and
 *       puts in what comes back -> outcome.
 *
 *     session_begin(&session, &rules, &plan);
 *     until session_input() or session_output() has said that it is over:
 *             size = session_output(&session, &rules, buffer);      // 0: wait for a reply
 *             session_sent(&session, what the socket took of size);
 *             session_input(&session, &rules, what the socket had);
 *
 * It sends a flight, which is a command, or with pipelining MAIL, all RCPT and DATA, or a
 * message, and then waits for its replies. Of a flight only the offset is kept: the bytes are made
 * again when a socket did not take all of them. So a session has one size, some 150 bytes, in
 * whatever state it is.
 *
 * With rules.reuse a session may follow one that was delivered, on the same connection; it begins
 * with MAIL, and its plan cannot be to leave before.
 *
 * Nothing here allocates, logs, reads a clock or keeps a pointer but that of session_give().
 */

#include "bench/smtp-load/trace.h"
#include "lib/smtp/replies.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SESSION_TEXT_MAX 256 /* of an address, a template or a name */
/* Of what session_output() gives at a time: all recipients of a session in a flight. */
#define SESSION_OUTPUT_MAX (64u << 10)

/* "user%d@example.com", taken apart. */
struct session_template {
	char before[SESSION_TEXT_MAX];
	char behind[SESSION_TEXT_MAX];
};

/* How a server is told the client's address. */
enum session_tell {
	SESSION_TELL_NOTHING,
	SESSION_TELL_BIND, /* the connection comes from it: the driver's business */
	SESSION_TELL_PROXY1,
	SESSION_TELL_PROXY2,
	SESSION_TELL_XCLIENT,
};

/*
 * Where messages and recipients come from in place of the trace and message.h, for sessions that are
 * given a mail (session_give()).
 */
struct session_source {
	/* Of the message, which ends in CRLF, without the dot behind it. No line begins with a dot. */
	size_t (*size)(const void *mail);
	/* The first room bytes from offset on, or less when it ends before. */
	size_t (*copy)(const void *mail, size_t offset, char *ret_bytes, size_t room);
	/* Of recipient 0 to plan.recipients - 1; of the sender. */
	void (*recipient)(const void *mail, unsigned index, char ret_address[SESSION_TEXT_MAX]);
	const char *(*sender)(const void *mail);
	/* RCPT of that recipient was answered so. */
	void (*answered)(void *mail, unsigned index, int code);
};

/* The same for all sessions. */
struct session_rules {
	char helo[SESSION_TEXT_MAX];
	char sender[SESSION_TEXT_MAX];
	struct session_template valid;
	struct session_template invalid;
	unsigned users;
	enum session_tell tell;
	bool has_pipelining; /* when the server has it too */
	bool has_starttls;   /* behind the first EHLO; the caller has TLS */
	bool is_lmtp;	     /* LHLO, and a reply for each recipient behind the message */
	bool is_pop;	     /* POP3: pop.h; valid is of users, and has_pipelining is not used */
	bool deletes;	     /* of POP3: each mail that was read */
	char password[SESSION_TEXT_MAX]; /* of POP3: of all users */
	unsigned reuse; /* so many sessions may follow the first one on its connection */
	const struct session_source *source; /* NULL: the trace alone */
};

enum session_outcome {
	SESSION_OPEN,	   /* nothing is decided yet */
	SESSION_DELIVERED, /* the message was taken over, by LMTP for each that was accepted */
	SESSION_BOUNCED,   /* every RCPT got 5xx */
	SESSION_LEFT,	   /* as planned: now the connection is to be closed */
	SESSION_REFUSED,   /* 5xx to anything else */
	SESSION_DEFERRED,  /* 4xx */
	SESSION_BROKEN,	   /* an answer that is none */
	SESSION_TIMEOUT,   /* the last two are the driver's: no answer in time */
	SESSION_FAILED,	   /* no connection, or it ended before there was an outcome */
	SESSION_OUTCOMES,
};

/* What a session of POP3 has beside others; pop.c's. */
struct session_pop {
	unsigned messages; /* that STAT has told */
	unsigned index;	   /* how many of those it wants are done */
	uint8_t matched;   /* bytes of what ends a mail */
	bool is_in_mail;
	uint8_t line_size;
	char line[32]; /* the beginning of a status line */
};

struct session {
	struct trace_session plan;
	struct replies replies;
	enum session_outcome outcome;
	uint8_t step;		/* what the next reply is about */
	uint8_t flight;		/* the step with which what is sent now begins */
	bool has_server_piping; /* the server said PIPELINING */
	bool is_secure;		/* TLS has begun */
	unsigned reused;	/* sessions before it on this connection */
	unsigned pending;	/* replies that this flight still gets */
	unsigned rcpt_index;	/* which RCPT the next reply is about, and the flight begins with */
	unsigned accepted;	/* recipients: 2xx, 5xx, 4xx */
	unsigned rejected;
	unsigned deferred;
	struct session_pop pop;
	size_t flight_size; /* of all its bytes */
	size_t sent_bytes;
	void *mail; /* for rules.source: borrowed */
};

enum session_status {
	SESSION_GOES_ON,
	SESSION_OVER, /* nothing more is to be said: close the connection */
	SESSION_DONE, /* it was delivered, and another may follow: session_again() or session_quit() */
	SESSION_SECURE, /* the handshake of TLS is to follow, and session_secured() */
};

/* "user%d@example.com" to *ret_template. Negative when it has not one %d, or is too long. */
int session_parse_template(const char *text, struct session_template *ret_template);

void session_begin(struct session *ret_session, const struct session_rules *rules,
		   const struct trace_session *plan);
/* Behind session_begin() or session_again(), with rules.source: what mail it is. */
void session_give(struct session *session, void *mail);

/*
 * What is to be sent now, from where session_sent() has come to; 0 when replies are due first.
 * ret_bytes has SESSION_OUTPUT_MAX.
 */
size_t session_output(struct session *session, const struct session_rules *rules, char *ret_bytes);
void session_sent(struct session *session, size_t size_bytes);

/*
 * Bytes of the server. session->outcome may be known before the session is over: behind it
 * there is QUIT.
 */
enum session_status session_input(struct session *session, const struct session_rules *rules,
				  const char *bytes, size_t size);

/* Behind SESSION_DONE: the next one begins with MAIL on the same connection, or there is none. */
void session_again(struct session *session, const struct session_rules *rules,
		   const struct trace_session *plan);
void session_quit(struct session *session, const struct session_rules *rules);

/* Behind SESSION_SECURE: EHLO comes once more. */
void session_secured(struct session *session, const struct session_rules *rules);

/* The first reply has come. */
bool session_is_greeted(const struct session *session);

#ifdef __cplusplus
}
#endif
