/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * maillog.h - the lines that the log has about mails and about refused commands.
 *
 * Flow: talk.c for an edge, visit_log.c for a worker -> maillog_mail(), maillog_refusal() ->
 *       lib/common/log.h. account.h has the line of the session, with the same number.
 *
 *     info: [5f0c3a9b1e42] mail accepted, number=1 client=192.0.2.7 helo="mail.example"
 *       from="a@example.net" to="bob@example.org" recipients=1 size=1234
 *       message_id="<1@example.net>" reply="250 2.0.0 Ok: queued as 4XyZ" queue_id="4XyZ"
 *     info: [5f0c3a9b1e42] recipient refused, client=192.0.2.7 helo="mail.example"
 *       from="a@example.net" to="eve@example.org" reply="550 5.1.1 No such user here" (unknown)
 *
 * each in one line. Texts from outside are as text.h writes them, and are cut so that
 * everything fits. A mail whose recipients do not fit has further lines "mail recipients".
 * smtp-front(8) has the keys.
 *
 * Plain values; texts are borrowed until a function returns, and NULL is none. Nothing here
 * allocates.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/edge/session_facts.h"
#include "lib/common/log.h"
#include "lib/smtp/dialogue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* About 2000 addresses of common length. */
#define MAILLOG_LIST_SIZE 65536

/* The recipients of a mail. What does not fit is counted, and not named. */
struct maillog_list {
	unsigned count;
	size_t size;
	char bytes[MAILLOG_LIST_SIZE]; /* addresses, with a NUL behind each */
};

void maillog_list_clear(struct maillog_list *list);
void maillog_list_add(struct maillog_list *list, const char *address);

/* What both lines say of the session. */
struct maillog_session {
	struct session_facts facts;
	const char *helo;
	const char *sender; /* of the mail; "" is <> */
};

struct maillog_mail {
	const char *what; /* "accepted" */
	unsigned number;  /* of the mail in its session, as in its Received header */
	const struct maillog_list *recipients;
	uint64_t size_bytes;
	const char *message_id;
	const char *reply;  /* as the client hears it: "250-2.0.0 one\r\n250 two\r\n"; NULL: none */
	const char *reason; /* why it is so, a word or two of ours */
};

struct maillog_refusal {
	const char *what;      /* "recipient" */
	const char *recipient; /* NULL: command has it */
	const char *command;   /* a line that was not understood, or came at the wrong time */
	size_t command_size;
	const char *zones; /* that list the client; "" or NULL: that is not why */
	const char *reply;
	const char *reason;
};

/*
 * A line without level and number. ret_text has LOG_LINE_MAX bytes. Returns where the recipients begin
 * that it has no room for, or its size.
 */
size_t maillog_format_mail(const struct maillog_session *session, const struct maillog_mail *mail,
			   char *ret_text);
size_t maillog_format_refusal(const struct maillog_session *session,
			      const struct maillog_refusal *refusal, char *ret_text);

/*
 * Of a line that the dialogue has refused by itself, without any other part of the server: event is the
 * answer, state behind it. False: it is neither MAIL nor RCPT, or was not refused.
 */
bool maillog_make_refusal(const struct dialogue_event *event, enum dialogue_state state,
			  const char *line, size_t line_size, struct maillog_session *session,
			  struct maillog_refusal *ret_refusal);

/* At level info. */
void maillog_mail(const struct maillog_session *session, const struct maillog_mail *mail);
void maillog_refusal(const struct maillog_session *session, const struct maillog_refusal *refusal);

#ifdef __cplusplus
}
#endif
