/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sink.h - where a worker's mail goes: one interface, several kinds.
 *
 * Flow: worker.c -> sink_open() once -> for each session sink_enter(), for each mail sink_mail(),
 *       sink_recipient(), sink_begin(), sink_append(), sink_commit(), at the end sink_leave().
 *
 *     sink_enter(sink, &session);
 *     if (sink_mail(sink, &envelope, &reply) &&
 *         sink_recipient(sink, &recipient, mailboxes, &reply) &&
 *         sink_begin(sink, &reply) &&
 *         sink_append(sink, bytes, size, &reply) &&
 *         sink_commit(sink, &reply))
 *             say(reply);     // 250: from here on the mail is the sink's
 *     else
 *             sink_abort(sink), say(reply);
 *     sink_leave(sink);
 *
 * There is no queue behind a worker, so 250 after the mail is a promise that the sink keeps, and
 * every other end is told to the client: a sink that cannot be reached is a 4xx of that mail, and
 * the next mail tries again. Before sink_commit() no part of a mail may be seen outside.
 *
 * Calls are in that order. After a refused mail there is no recipient; after a refused recipient
 * there may be others; begin comes with one recipient at least; after a refusal by begin, append
 * or commit the mail is gone, as after abort, which is allowed at any time. What is appended is
 * the mail as it is sent and stored: lines that end in CRLF, no lone CR or LF, no dot doubled.
 *
 * A sink of kind "postfix" has sink_pass() only; no other has that.
 *
 * Made and closed by a worker, used by it alone. Sinks block, with deadlines from the setup. They
 * do not log: what went wrong stands in the reply, and sink_trouble() has what is not for clients.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/users/users.h"
#include "integration/mail/smtp-front/sinks/delivered.h"
#include "lib/smtp/envelope.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/base/edge/session_facts.h"
#include "integration/mail/smtp-front/setup/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* About that of a line of 512 (RFC 5321 4.5.3.1.5) without code and end. */
#define SINK_TEXT_MAX	 500
#define SINK_TROUBLE_MAX 200
#define SINK_PROBE_MS	 5000

/* A plain value, for reply_make(), which makes what came from a next hop harmless. */
struct sink_reply {
	int code;
	char text[SINK_TEXT_MAX + 1]; /* begins with "2.0.0 " or such; "\n" begins a line */
};

/* What a next hop may be told about a client. All borrowed until sink_leave(). */
struct sink_session {
	struct session_facts facts;
	const char *helo;
	bool is_esmtp;
};

struct sink;

/* What all processes are to hear of the next hop once, from the one that has seen it. */
enum sink_news { SINK_NEWS_NONE, SINK_NEWS_DOWN, SINK_NEWS_UP };

/*
 * What each kind brings; NULL for calls it does not have, without close() it is freed. Through the
 * functions below alone.
 */
struct sink_ops {
	void (*probe)(struct sink *sink);
	void (*enter)(struct sink *sink);
	bool (*mail)(struct sink *sink, const struct envelope *envelope, struct sink_reply *reply);
	bool (*recipient)(struct sink *sink, const struct recipient *recipient,
			  const struct users_mailboxes *mailboxes, struct sink_reply *reply);
	bool (*begin)(struct sink *sink, struct sink_reply *reply);
	void (*mark)(struct sink *sink);
	bool (*append)(struct sink *sink, const uint8_t *bytes, size_t size,
		       struct sink_reply *reply);
	bool (*commit)(struct sink *sink, struct sink_reply *reply);
	void (*abort)(struct sink *sink);
	void (*leave)(struct sink *sink);
	bool (*pass)(struct sink *sink, int fd, struct sink_reply *reply);
	void (*close)(struct sink *sink);
};

/* The first member of every kind's own struct. */
struct sink {
	const struct sink_ops *ops;
	const struct setup_sink *setup;	    /* borrowed */
	const char *hostname;		    /* borrowed; ours */
	const struct sink_session *session; /* borrowed; NULL between sessions */
	struct hopstate *hop;		    /* borrowed; shared with other processes, or NULL */
	struct delivered *delivered;	    /* the same */
	enum sink_news news;
	uint64_t down_ms; /* of SINK_NEWS_UP */
	const char *remark;
	char trouble[SINK_TROUBLE_MAX];
};

/* setup and hostname are borrowed until sink_close(). 0, or -errno with *ret_sink untouched. */
int sink_open(const struct setup_sink *setup, const char *hostname, struct sink **ret_sink);
/* Takes NULL. A mail that is not committed is aborted. */
void sink_close(struct sink *sink);

/* What the sink shares with those of other processes, before the first session; borrowed. */
void sink_share(struct sink *sink, struct hopstate *hop, struct delivered *delivered);

/*
 * Asks a next hop for its extensions, before there is a client; one that cannot be asked remains
 * unknown. Takes SINK_PROBE_MS for each step at most.
 */
void sink_probe(struct sink *sink);
/* Extensions of envelope.h that the next hop lacks; 0 when that is unknown, or there is none. */
unsigned sink_lacks(const struct sink *sink);

/* A client's session begins. */
void sink_enter(struct sink *sink, const struct sink_session *session);
/* It has ended. */
void sink_leave(struct sink *sink);

/* true: *ret_reply is 2xx. Otherwise it is 4xx or 5xx, for the client. */
bool sink_mail(struct sink *sink, const struct envelope *envelope, struct sink_reply *ret_reply);
/*
 * mailboxes are the recipient's here, whatever the client calls it: users_find_mailboxes() gives
 * them, one at least. All have the mail, or the recipient is refused. A next hop has its own, and
 * takes NULL.
 */
bool sink_recipient(struct sink *sink, const struct recipient *recipient,
		    const struct users_mailboxes *mailboxes, struct sink_reply *ret_reply);
/* This and sink_append() write *ret_reply only when they return false. */
bool sink_begin(struct sink *sink, struct sink_reply *ret_reply);
/*
 * What is appended from here on is the client's own: without our header it is the same each time.
 */
void sink_mark(struct sink *sink);
bool sink_append(struct sink *sink, const uint8_t *bytes, size_t size,
		 struct sink_reply *ret_reply);
bool sink_commit(struct sink *sink, struct sink_reply *ret_reply);
void sink_abort(struct sink *sink);

/*
 * Gives a connection to which nothing was said yet to an smtpd. fd stays the caller's to close.
 * false: *ret_reply is 421, for a client that has had no greeting.
 */
bool sink_pass(struct sink *sink, int fd, struct sink_reply *ret_reply);

/*
 * Why the sink was not reached or broke, for the log, once for each time: "connect: Connection
 * refused". ret_text has SINK_TROUBLE_MAX bytes. false: it was and did not, and ret_text is "".
 */
bool sink_trouble(struct sink *sink, char *ret_text);
/* What is not as the setup wants it, of a sink that has taken what it was given; or NULL. Static text. */
const char *sink_remark(struct sink *sink);
/*
 * News of the next hop, once for each: DOWN, of which the trouble says why, and is to be taken
 * first; UP, with *ret_down_ms.
 */
enum sink_news sink_news(struct sink *sink, uint64_t *ret_down_ms);

/* ---- for the kinds ---- */

/* In sink_KIND.c; sink_open() calls that of setup->kind, and fills struct sink. */
int sink_null_open(struct sink **ret_sink);
int sink_store_open(struct sink **ret_sink);
int sink_maildir_open(const struct setup_sink *setup, struct sink **ret_sink);
int sink_smtp_open(const struct setup_sink *setup, struct sink **ret_sink);
int sink_postfix_open(struct sink **ret_sink);

/* Fills *ret_reply, text as given. Returns whether code is 2xx. */
bool sink_say(struct sink_reply *ret_reply, int code, const char *text);
/*
 * A trouble, "STEP: strerror(error)" for the log, and a reply for the client: 452 4.3.1 when the
 * disk is full, else 451 4.3.0. error is positive, as errno. Returns false.
 */
bool sink_fail(struct sink *sink, struct sink_reply *ret_reply, const char *step, int error);

#ifdef __cplusplus
}
#endif
