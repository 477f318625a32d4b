/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * smtprun.h - one mail to the server under test: a connection, a session of SMTP, and what becomes of its recipients.
 *
 * Flow: run.c has a mail that is due (mails.h) -> smtprun_begin() -> session.h of smtp-load over link.h -> tally.h, tracking.h.
 *
 * A mail has a connection of its own. It counts from when it is due to the reply behind its end; QUIT is not waited for in
 * any count. A recipient that is refused at RCPT is dropped from what is tracked, and an error; so is a mail that is not taken.
 *
 * Lies in the memory that smtprun_begin() gets and frees. Nothing here logs.
 */

#include "bench/users-load/counts/mails.h"
#include "bench/users-load/counts/tally.h"
#include "bench/users-load/counts/tracking.h"
#include "bench/users-load/drive/link.h"
#include "bench/users-load/mailplan.h"

#include <sys/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct smtprun;
LIST_HEAD(smtprun_list, smtprun);

/* What all mails of one way have in common. */
struct smtprun_rules {
	struct links *links;
	struct sockaddr_storage address;
	struct session_rules session; /* smtprun_prepare() completes it */
	const struct workload *workload;
	uint64_t seed;
	uint64_t run;		       /* the mark of the run in its mails */
	int64_t start_s;	       /* of the wall clock */
	uint64_t start_ns;	       /* of uv_hrtime() */
	struct session_template local; /* of addresses */
	struct session_template remote;
	struct tally *tally;
	struct tracking *tracking;
	struct smtprun_list *list; /* that those that are open stand in */
};

/* Recipient n in the remote domain, or a sender there. Writes SESSION_TEXT_MAX bytes at most. */
void smtprun_address(const struct session_template *pattern, uint32_t number, char *ret_address);

void smtprun_prepare(struct smtprun_rules *rules);
/* 0 or -ENOMEM. A connection that is not to be had is counted. */
int smtprun_begin(const struct smtprun_rules *rules, const struct mail *mail);
/* The run is over: those that are open are counted as unanswered, and closed. */
void smtprun_leave_all(struct smtprun_list *list);

#ifdef __cplusplus
}
#endif
