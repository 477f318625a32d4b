/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imapcheck.h - each command that the clients of the load have, once, and whether it did what it should.
 *
 * Flow: users-load check -> imapcheck_next() -> imaptalk_start() ... IMAPTALK_DONE -> imapcheck_done() -> a line for its
 *       user -> the next one.
 *
 * In two folders of its own, which are made first and deleted in the end, of a mailbox that may have others. What a server does
 * not offer (MOVE, UIDPLUS) is left out.
 *
 * Pure: no clock, no I/O. Mails are those of a workload.
 */

#include "bench/users-load/imap/imaptalk.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IMAPCHECK_MAILS	   3
#define IMAPCHECK_NAME_MAX 80

struct imapcheck {
	struct mailplan mails[IMAPCHECK_MAILS];
	char user[IMAPTALK_NAME_MAX];
	char folder[IMAPCHECK_NAME_MAX];
	char other[IMAPCHECK_NAME_MAX]; /* below it */
	unsigned row;			/* imapcheck.c: of its table */
	unsigned here, there;		/* mails that the two have to have */
	/* Told since the command began. */
	unsigned told;	     /* mails */
	unsigned headers;    /* that are of this check */
	uint64_t body_bytes; /* of the last one */
	uint8_t flags;	     /* of the first mail of the folder */
	uint8_t flags_of_last;
	bool has_inbox, has_folder, has_other, has_wrong_size, has_date;
	enum imaptalk_fault fault;
};

struct imapcheck_order {
	struct behaviour_step step;
	const char *name;
	const struct mailplan *mail;
	const char *what; /* for its line */
};

/* run: no other check that leaves its mails behind has it. user is copied. */
void imapcheck_init(struct imapcheck *ret_check, const struct workload *workload, uint64_t run,
		    const char *user);

/* false: there are no more. ret_order is borrowed until the next call. */
bool imapcheck_next(struct imapcheck *check, const struct imaptalk *talk,
		    struct imapcheck_order *ret_order);
/*
 * Of the command that has ended; NULL: it is as it should be. Static text. Behind a LOGIN that failed there is
 * nothing more.
 */
const char *imapcheck_done(struct imapcheck *check, const struct imaptalk *talk);

/* What imaptalk_calls tell. */
void imapcheck_mail(struct imapcheck *check, const struct imaptalk_mail *mail);
void imapcheck_folder(struct imapcheck *check, const char *name);
void imapcheck_fault(struct imapcheck *check, enum imaptalk_fault fault);

#ifdef __cplusplus
}
#endif
