/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * visits.h - sessions of users with their mailboxes, each as behaviour.h has it.
 *
 * Flow: run.c has a session that is due (users.h) -> visits_begin() -> imaprun.h with the steps of behaviour.h -> what of a
 *       run's mails is seen in INBOX: tracking.h.
 *
 * A client that keeps headers asks for those alone that came since another session of its user had them: of each user the
 * UID is kept that comes next. What was there before the run counts as known.
 *
 * A session is some 3 KiB, and the rows of its folder.
 */

#include "bench/users-load/counts/tracking.h"
#include "bench/users-load/counts/users.h"
#include "bench/users-load/drive/imaprun.h"
#include "bench/users-load/drive/smtprun.h"

#ifdef __cplusplus
extern "C" {
#endif

struct visits {
	struct imaprun_rules rules; /* with tally, links, address, start_ns, rate: of the caller */
	struct users_rules users;
	struct session_template name; /* of logins */
	struct tracking *tracking;    /* NULL: no mails are sent */
	double scale;
	uint64_t run; /* the mark of the run in its mails */
	int64_t start_s;
	bool is_over; /* sessions end as soon as their command has */

	/* visits.c's own. */
	uint32_t *next_uids; /* of each user's INBOX; 0: none has been told */
	LIST_HEAD(, imaprun) open;
};

/* The members of the caller are set. 0 or -ENOMEM. */
int visits_init(struct visits *visits);
void visits_deinit(struct visits *visits);

/* 0 or -ENOMEM. */
int visits_begin(struct visits *visits, const struct users_arrival *arrival);
/* No more commands: what thinks or idles is closed, the others when their command has ended. */
void visits_finish(struct visits *visits);
/* Closes all. */
void visits_leave(struct visits *visits);
bool visits_has_open(const struct visits *visits);

/* When a mail came, by INTERNALDATE and the clock: nanoseconds since the start. */
uint64_t visits_came_ns(int64_t internal_s, int64_t start_s, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
