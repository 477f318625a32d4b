/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_build.h - one transaction that replaces a whole database of recipients.
 *
 * Flow: users_list.h -> here -> readers of users.h see it at their next question.
 *
 * The file stays the same file. Everything becomes visible at once, when it is on disk; or never:
 * a crash, a kill -9, a full disk leave the list before, complete. Pages of the list before are
 * used again by a later build, when no reader holds them any more, so that the file is about
 * twice as large as a list. One builder at a time: a second one waits.
 *
 * Logs nothing; what it opens it closes.
 */

#include "integration/mail/base/users/users_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes of fewer than this are never too large: a list may begin small. */
#define USERS_BUILD_SMALL_CHANGE 10

/* What looks like an accident: a file of users that is cut, or the wrong one. */
struct users_build_guard {
	unsigned max_shrink_percent; /* of the recipients, and of the domains, that there are */
	/* With USERS_ESHRINK: what would. */
	const char *unit; /* "recipients" or "domains"; static */
	uint64_t before;
	uint64_t now;
};

/*
 * Writes list, which users_list_sort() has ordered, and creates path when there is none (mode
 * 0644 less umask, as its lock file). now_s is what users_get_facts() says later. Returns 0, -errno
 * (-ENOSPC, -EACCES, ...) or a status of users.h. A file that was created and never committed is
 * removed; a file that is no database of recipients is left alone. USERS_ESHRINK when the guard,
 * which may be NULL, does not let it: it compares with what the transaction would replace.
 */
int users_build(const char *path, const struct users_list *list, int64_t now_s,
		struct users_build_guard *guard);

#ifdef __cplusplus
}
#endif
