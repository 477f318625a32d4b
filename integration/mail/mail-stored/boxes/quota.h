/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * quota.h - how much a mailbox may have, and how long it keeps mails.
 *
 * Flow: clients.c at CHECK, keeper.c for what is too old -> here -> the settings of users.h, or those
 *       of stored.conf for a mailbox without any.
 *
 * A mailbox is asked about as it was when the index was written last: it may exceed its limits by
 * what comes within "index-delay".
 */

#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "lib/mailstore/maillayer.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A plain value, all borrowed. */
struct quota {
	const struct stored_setup *setup;
	struct users *users; /* NULL: none, or none yet */
	/* Taken while users is asked, which is one thread's at a time. NULL: only one asks. */
	pthread_mutex_t *turn;
};

struct quota_limits {
	uint64_t messages; /* 0: no limit, as in the next */
	uint64_t octets;
	uint64_t keep_s;
};

/* May any mailbox have a limit? */
bool quota_exists(const struct quota *quota);
/* May any mailbox have mails that become too old? */
bool quota_may_expire(const struct quota *quota);
/* Users that were not there when it was made. */
bool quota_has_users(const struct quota *quota);
void quota_give_users(struct quota *quota, struct users *users);
/* 0 or a status of users.h. */
int quota_limits(const struct quota *quota, struct mailname mailbox,
		 struct quota_limits *ret_limits);
/* 0; MAILSTORE_EQUOTA when one more mail of so many octets is too much; or a failure. */
int quota_check(const struct quota *quota, struct maillayer *layer, struct mailname mailbox,
		uint64_t octets);

#ifdef __cplusplus
}
#endif
