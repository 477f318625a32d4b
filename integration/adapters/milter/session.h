/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * session.h - one SMTP session as the milter sees it: its client, and what is done with its mails.
 *
 * Flow: milter.c, a callback of libmilter -> session_...() -> judge.h -> a step, which milter.c
 *       says in libmilter's words.
 *
 * The address is judged at the connection, and the reply is given to the first recipient: there
 * it is known whether the client has authenticated, and the mail server has said before which
 * recipients it does not have. A client that is let through costs no call behind the
 * connection, unless headers have to be looked at.
 *
 * The order of calls is the mail server's business; none of them trusts it. A session belongs to
 * one thread at a time; what sessions share may be used by all of them at once.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "integration/common/judge.h"
#include "integration/adapters/milter/counters.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SESSION_ID_MAX 8 /* hexadecimal digits */

/* What sessions share. Lies in the memory of its owner. */
struct session_shared {
	struct judge *judge; /* borrowed */
	bool is_quarantine;
	pthread_rwlock_t allowing; /* the allow list, which session_shared_reload() replaces */
	uint64_t counters[COUNTERS_COUNT];
	uint32_t last_id;
	uint32_t open;
};

enum session_step {
	SESSION_GO_ON,
	SESSION_LEAVE,	/* the mail server need not tell more: of this mail, or at the connection of
			   any */
	SESSION_REJECT, /* with code and text of the judgement */
	SESSION_DEFER,
};

struct session {
	struct session_shared *all;
	char id[SESSION_ID_MAX + 1]; /* in each line of the log */
	char client[DNSBLV6_IP_TEXT_SIZE];
	struct judgement judgement;
	/* Of the mail: */
	bool is_authenticated;
	bool is_logged;
	unsigned found_count; /* headers that have our name */
};

/* To be done with a mail at its end. Texts are borrowed until the session's next call. */
struct session_changes {
	unsigned delete_count;	/* headers of our name that came with it, all of them */
	const char *header;	/* the value of a new one, or NULL */
	const char *quarantine; /* why it is put there, or NULL */
};

/* judge is finished. 0 or -errno. */
int session_shared_init(struct session_shared *ret_sessions, struct judge *judge,
			bool is_quarantine);
/* Headers of mails have to be seen and written. */
bool session_shared_want_headers(const struct session_shared *sessions);
/* judge_reload() while sessions go on. */
int session_shared_reload(struct session_shared *sessions, struct networks_error *reterr_error);

/* NULL without memory. */
struct session *session_new(struct session_shared *sessions);
void session_free(struct session *session);

/* address is NULL, or of any family. Waits for DNS up to the deadline. */
enum session_step session_connect(struct session *session, const struct sockaddr *address);
/* login is NULL or "" when the client has not authenticated. */
enum session_step session_mail(struct session *session, const char *login);
enum session_step session_rcpt(struct session *session);
void session_header(struct session *session, const char *name);
void session_end_mail(struct session *session, struct session_changes *ret_changes);

#ifdef __cplusplus
}
#endif
