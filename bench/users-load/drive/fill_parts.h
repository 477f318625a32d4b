/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * fill_parts.h - what the two ways to fill a mailbox share.
 *
 * Flow: fill.c has the loop and the counts -> fill_by_lmtp() and fill_by_imap() put their connections into the loop, which runs
 *       until each has no more users -> fill.c prints.
 */

#include "bench/users-load/boxplan.h"
#include "bench/users-load/drive/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FILL_ERRORS_MAX 1000 /* then it is given up */

struct fill {
	const struct setup *setup;
	uv_loop_t loop;
	struct links links;
	uint32_t next_user;
	bool has_inbox; /* LMTP has filled INBOX */
	uint64_t users;
	uint64_t folders;
	uint64_t mails;
	uint64_t bytes;
	uint64_t errors;
};

/* 0 with the next user's plan, or negative when there is none, or no use in going on. */
int fill_take_user(struct fill *fill, uint32_t *ret_user, struct boxplan *ret_plan);
/* On standard error, the first few; all are counted. */
void fill_tell(struct fill *fill, uint32_t user, const char *what, const char *reason);
/* A mail of that plan, to the user. */
void fill_plan_mail(const struct fill *fill, const struct boxplan *plan, uint32_t user,
		    unsigned folder, uint32_t index, struct mailplan *ret_mail);

/* 0, or -errno when there is no connection at all. */
int fill_by_lmtp(struct fill *fill);
int fill_by_imap(struct fill *fill);

#ifdef __cplusplus
}
#endif
