/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imaprun.h - one session of IMAP over its connection: commands of a role, timed.
 *
 * Flow: visits.c, sweep.c, fill_imap.c, verify.c -> imaprun_begin() -> the role's next() says what is to be done -> imaptalk.h over
 *       link.h -> the role's done() and next() ... -> the role's ended().
 *
 * This file alone puts imaptalk.h and link.h together. It thinks as long as a step says, ends IDLE when its time is over
 * or when there are news, begins TLS, and counts (tally.h). A command is due when its thinking is over, LOGIN when the
 * session is: what a connection and its TLS take is part of it.
 *
 * After an error the session is closed; NO alone is left to the role.
 *
 * Lies in the memory of its owner as its first member, and is freed by it in ended(), the last call. Nothing here logs.
 */

#include "bench/users-load/counts/tally.h"
#include "bench/users-load/drive/link.h"
#include "bench/users-load/imap/imaptalk.h"

#include <sys/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct imaprun;

/* What is to be done next. */
struct imaprun_order {
	struct behaviour_step step;
	const char *name;	     /* borrowed until next() is over */
	const struct mailplan *mail; /* of APPEND: borrowed until the command is */
};

struct imaprun_role {
	/* ret_order is zero before; BEHAVIOUR_END ends the session. */
	void (*next)(struct imaprun *run, struct imaprun_order *ret_order);
	/* A command has ended with OK or NO; may be NULL, as the next two. */
	void (*done)(struct imaprun *run, const struct behaviour_step *step,
		     enum imaptalk_result result);
	void (*mail)(struct imaprun *run, const struct imaptalk_mail *mail);
	void (*folder)(struct imaprun *run, const char *name, bool can_select);
	/* The connection is closed, and run->failure says how. */
	void (*ended)(struct imaprun *run);
};

/* The same for all sessions of a role. */
struct imaprun_rules {
	struct links *links;
	struct sockaddr_storage address;
	struct imaptalk_rules talk; /* imaprun_prepare() has the calls */
	const struct imaprun_role *role;
	void *context;	     /* the role's */
	struct tally *tally; /* NULL: nothing is counted */
	uint64_t *faults;    /* of IMAPTALK_FAULTS: how often; or NULL */
	uint64_t start_ns;   /* of uv_hrtime() */
	double rate;	     /* thinking and IDLE are divided by it */
};

enum imaprun_phase {
	IMAPRUN_GREETING,
	IMAPRUN_SECURING,
	IMAPRUN_THINKING,
	IMAPRUN_COMMAND,
	IMAPRUN_IDLING,
	IMAPRUN_OVER,
};

#define IMAPRUN_FINE (-1)

struct imaprun {
	struct link link;
	struct imaptalk talk;
	const struct imaprun_rules *rules;
	struct behaviour_step step; /* of the command, or of the one that is thought about */
	uint64_t begun_ns;	    /* when the session was due */
	uint64_t due_ns;	    /* when the command was */
	const struct mailplan *mail;
	char name[IMAPTALK_NAME_MAX];
	uint8_t phase;
	bool has_begun;		   /* a command */
	bool is_open;		   /* there was a connection */
	int8_t failure;		   /* enum tally_error, or IMAPRUN_FINE */
	LIST_ENTRY(imaprun) entry; /* the role's */
};

/* Fills in what is the same for all. */
void imaprun_prepare(struct imaprun_rules *rules);
/* A connection that is not to be had ends the session: ended() may have been called when this returns. */
void imaprun_begin(struct imaprun *ret_run, const struct imaprun_rules *rules, uint64_t due_ns);
/* Its user is thinking, or waits for news: nothing is lost when it is closed now. */
bool imaprun_is_quiet(const struct imaprun *run);
/* Closes it, because the run is over; without an error. A command is counted as unanswered. */
void imaprun_leave(struct imaprun *run);

/* Since the start. */
uint64_t imaprun_now_ns(const struct imaprun *run);
/* What the server said last, or which error it was. Valid until the next input. */
const char *imaprun_reason(const struct imaprun *run);

#ifdef __cplusplus
}
#endif
