/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * transact.h - MAIL, RCPT, DATA and BDAT in a worker: what the sink has to do with a session.
 *
 * Flow: visit.c has a command that asks -> transact_*(): users.h, the sink, parcel.h -> the answer
 *       to the client, said by visit.c.
 *
 * Private to visit.c, transact.c and visit_log.c, which share struct visit: the first has the life
 * of a session and its replies, the second its mails, the third their lines in the log. One mail at
 * a time:
 *
 *     is_in_sink   sink_mail() was called and the mail has not ended: the sink is to abort
 *     is_refused   the sink has refused the MAIL to which an edge has said 250: refusal is the
 *                  answer to each recipient
 *     has_parcel   bytes of the mail have come
 */

#include "integration/mail/base/edge/session_facts.h"
#include "lib/smtp/dialogue.h"
#include "integration/mail/smtp-front/facts/maillog.h"
#include "integration/mail/smtp-front/worker/parcel.h"
#include "integration/mail/smtp-front/worker/trace.h"
#include "lib/process/ration.h"
#include "integration/mail/base/worker/stream.h"
#include "integration/mail/smtp-front/worker/visit.h"

/* Of a mail with more the peers of a scanner hear of the first. */
#define TRANSACT_SCAN_RECIPIENTS 256
#define TRANSACT_HEADER_MAX	 (TRACE_MAX + JUDGE_HEADER_MAX + 32)

struct visit {
	struct visit_parts parts;
	struct dialogue_limits limits;
	/* Of the session. */
	struct capsule *capsule;
	struct dialogue *dialogue; /* in the capsule */
	char id[SESSION_ID_SIZE];
	const char *end; /* a word; NULL: it goes on */
	bool lingers;	 /* the client does not know that it is the end */
	bool takes_lf;	 /* lone LFs of this client are taken as CR LF */
	struct sink_session session;
	unsigned mail_count; /* sent to us */
	unsigned committed_count;
	unsigned recipient_count; /* of those */
	char sender[ENVELOPE_ADDRESS_MAX + 1];
	uint64_t began_us;
	uint64_t cpu_began_us;
	int64_t first_ms;  /* when the session began, by stream_deadline() */
	int64_t waited_ms; /* for commands, since its begin or its last mail */
	int64_t told_ms;   /* when it was seen that the worker is to end; 0: it is not */
	/* Of the transaction. */
	bool is_in_sink;	 /* sink_mail() was called, and the mail has not ended */
	bool is_refused;	 /* the sink has refused MAIL: refusal is for each recipient */
	bool has_parcel;	 /* DATA or BDAT has come */
	struct recipient latest; /* the last one accepted */
	struct users_mailboxes mailboxes; /* of the one that is asked about */
	struct sink_reply refusal;
	/* Of the log. */
	bool has_refusal_line; /* this session; others share what lines there may be */
	struct ration ration;
	struct maillog_list recipients; /* of the transaction, accepted */
	struct dialogue_event event;
	struct stream stream;
	struct screen screen;
	struct parcel parcel;
	/* What peers of the scanner are told; good while the mail is under way. */
	struct scan_envelope scan_facts;
	const char *scan_recipients[TRANSACT_SCAN_RECIPIENTS];
	char client_text[DNSBLV6_IP_TEXT_SIZE];
	char header[TRANSACT_HEADER_MAX];
};

/* ---- visit.c ---- */

/* How long a client may take for a command, or for a reply. */
int64_t visit_deadline(const struct visit *visit);
/* When a mail of the session must have come at the latest, by stream_deadline(). */
int64_t visit_last_end(const struct visit *visit);
/* The session ends with that word; the first one counts. */
void visit_end(struct visit *visit, const char *word, bool lingers);
/* visit->event is said. */
void visit_say(struct visit *visit);
/* The same, and what action means for the session. */
void visit_finish_action(struct visit *visit, enum dialogue_action action);
void visit_answer(struct visit *visit, const struct sink_reply *reply);
void visit_refuse(struct visit *visit, enum dialogue_refusal refusal);
void visit_time_out(struct visit *visit);

/* ---- transact.c ---- */

/* The edge has said 250 to MAIL, and says that it has found the capsule's recipient. */
void transact_first(struct visit *visit);
/* visit->event has the question; it is answered. */
void transact_mail(struct visit *visit);
void transact_recipient(struct visit *visit);
void transact_data(struct visit *visit);
void transact_chunk(struct visit *visit);
/* The transaction is over, or was none. */
void transact_forget(struct visit *visit);

/* Logs and counts what went wrong in a sink, if anything did. */
void transact_look(struct visit *visit, struct sink *sink);
void transact_count(const struct visit *visit, enum tally_number number, uint64_t value);
/* The client has behaved: it need not wait for the banner again. */
void transact_let_by(const struct visit *visit);

/* ---- visit_log.c ---- */

void visit_log_begin(struct visit *visit);
/* The mail is "accepted" or the like; the reply is visit->event, if it has one. */
void visit_log_mail(struct visit *visit, const char *what, const char *reason);
/* visit->event refuses this recipient, or without one the sender. */
void visit_log_refusal(struct visit *visit, const char *recipient, const char *reason);
/* The same of a line that the dialogue has refused by itself, if it is MAIL or RCPT. */
void visit_log_command(struct visit *visit, const char *line, size_t line_size);
/* How many lines the session has not got. */
void visit_log_end(struct visit *visit);
