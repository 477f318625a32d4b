/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * smtp_parts.h - what SMTP adds to an edge and its sessions.
 *
 * Flow: smtp_edge.c makes the one, edge.c and session.c of base have all other parts of both;
 *       talk.c, pack.c and refusals.c work on them. For these alone.
 *
 * Each begins with what base has of it, so that a pointer to one is a pointer to the other.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/edge/edge_parts.h"
#include "integration/mail/base/users/users.h"
#include "integration/mail/smtp-front/facts/tally.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/handover/capsule.h"
#include "integration/mail/smtp-front/recipients/callforward.h"
#include "lib/smtp/dialogue.h"

/* Bytes of an address that are kept for the session's line. */
#define SMTP_PATH_SIZE 80

struct smtp_session {
	struct session session;
	uint64_t swallow_size;	      /* bytes of a refused chunk that are still to come */
	struct callforward_wait wait; /* in SESSION_ASKED */
	char sender[SMTP_PATH_SIZE];  /* the last that were named, for the log */
	char recipient[SMTP_PATH_SIZE];
	struct dialogue dialogue;
};

struct smtp_kept {
	struct session_kept kept;
	struct recipient recipient; /* the one that proved it */
	size_t late_size;	    /* of what is said behind a chunk that is swallowed */
	char late[REPLY_LINE_MAX + 2];
};

union smtp_far {
	struct session_far far;
	struct smtp_kept kept;
};

struct smtp_edge {
	struct edge edge;
	const struct setup *setup;
	struct hopstate *hop;
	struct users *users;		 /* NULL: the next hop is asked */
	struct callforward *forward;	 /* NULL: users are */
	struct dialogue_limits rules[2]; /* without and with XCLIENT */

	/* Of the session in hand, for the time of one event. */
	struct dialogue_event event;
	struct capsule capsule;
};

static inline struct smtp_session *smtp_session(const struct session *session)
{
	return (struct smtp_session *)(void *)session;
}

static inline struct smtp_edge *smtp_edge(const struct edge *edge)
{
	return (struct smtp_edge *)(void *)edge;
}

static inline struct smtp_edge *smtp_edge_of(const struct session *session)
{
	return smtp_edge(session->edge);
}

static inline struct smtp_kept *smtp_kept(const struct session *session)
{
	return (struct smtp_kept *)(void *)session_far(session);
}

static inline uint64_t *smtp_counters(const struct session *session)
{
	return session->edge->child->counters;
}
