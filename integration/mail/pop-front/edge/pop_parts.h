/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop_parts.h - what an edge of pop-front and its sessions are made of, beside the base's.
 *
 * Flow: popedge.c makes the one, base/edge/session.c the others; poptalk.c and poplogin.c work on
 *       them. For these alone.
 *
 * A session's password is in its far part while a checker is to be asked, and wiped then.
 */

#include "integration/mail/base/edge/edge_parts.h"
#include "integration/mail/pop-front/edge/asking.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/handover/popcapsule.h"
#include "integration/mail/pop-front/setup/popsetup.h"
#include "lib/pop3/pop3_dialogue.h"

struct pop_session {
	struct session session; /* the first */
	struct asking_wait wait;
	uint8_t kind;	/* enum check_kind of the question */
	bool is_signed; /* SCRAM: the client has the server's signature, and has to say nothing */
	struct pop3_dialogue dialogue;
};

/* Behind what the base keeps: of a login alone. */
struct pop_kept {
	struct session_kept kept; /* the first */
	char mailbox[USERS_ENTRY_SIZE];
	struct ticket ticket;
	char password[SASL_TEXT_MAX + 1];
	char nonce[CHECK_NONCE_SIZE];
	uint16_t first_size;
	uint16_t final_size;
	uint8_t first[SASL_MESSAGE_MAX];
	uint8_t final[SASL_MESSAGE_MAX];
};

union pop_far {
	struct session_far far;
	struct pop_kept kept;
};

struct pop_edge {
	struct edge edge; /* the first */
	struct asking *asking;
	struct limits *failures; /* wrong logins of networks */
	struct pop3_limits limits;
	struct pop3_event event; /* of the session in hand */
	struct popcapsule capsule;
};

static inline struct pop_session *pop_session(struct session *session)
{
	return (struct pop_session *)session;
}

static inline struct pop_edge *pop_edge(const struct session *session)
{
	return (struct pop_edge *)session->edge;
}

static inline const struct popsetup *pop_setup(const struct edge *edge)
{
	return (const struct popsetup *)edge->child->setup;
}

static inline struct pop_kept *pop_kept(const struct session *session)
{
	return (struct pop_kept *)session_far(session);
}

static inline void pop_count(const struct session *session, enum popcount_number number)
{
	bank_add(session->edge->child->counters, number, 1);
}
