/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * boxplan.h - what a user's mailbox has before a load begins: folders, and mails in each.
 *
 * Flow: a seed, a user and a scale -> boxplan_make() -> fill.c writes it, verify.c holds it
 *       against the server; behaviour.h keeps folders at that many mails.
 *
 * Folders have names, depth and numbers of mails by the workload's distributions; mail m of folder
 * f of user u has one number, so that its bytes are known again: boxplan_mail(). A scale of 0.1 has
 * a tenth of the mails, in as many folders as still have one, but always the four that the workload
 * names. A folder comes before those below it.
 *
 * A plan is plain, and made in microseconds: it need not be kept.
 */

#include "bench/users-load/mailplan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BOXPLAN_FOLDERS	 64
#define BOXPLAN_NAME_MAX 64

/* Folders that each user has. */
enum boxplan_special {
	BOXPLAN_INBOX,
	BOXPLAN_SENT,
	BOXPLAN_DRAFTS,
	BOXPLAN_TRASH,
};

struct boxplan_folder {
	/* Levels parted by "/"; the client puts the server's delimiter in. That of [0] is INBOX. */
	char name[BOXPLAN_NAME_MAX];
	uint32_t mails;
	uint64_t first; /* the number of its first mail; the others follow */
};

struct boxplan {
	unsigned folder_count;
	struct boxplan_folder folders[BOXPLAN_FOLDERS];
	uint64_t mails; /* of all */
};

void boxplan_make(struct boxplan *ret_plan, const struct workload *workload, uint64_t seed,
		  uint64_t user, double scale);

/*
 * A mail of a mailbox: the index-th of that folder, the oldest first. to is the user's address.
 * now_s is the newest time that a mail has (the same for fill and verify, for instance 1767225600);
 * INTERNALDATE may be ret_mail->time_s.
 */
void boxplan_mail(const struct boxplan *plan, const struct workload *workload, uint64_t seed,
		  unsigned folder, uint32_t index, int64_t now_s, const char *to,
		  struct mailplan *ret_mail);
/* Whether that mail has \Seen. */
bool boxplan_is_seen(const struct boxplan *plan, const struct workload *workload, uint64_t seed,
		     unsigned folder, uint32_t index);

#ifdef __cplusplus
}
#endif
