/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popaccount.h - the one line that the log has about a session of POP3.
 *
 * Flow: popedge.c for a session that ends in an edge, popvisit.c for one that was handed over ->
 *       popaccount_log() -> object.h. pop-front(8) has the keys.
 *
 * A plain value; texts are borrowed until popaccount_log() returns, and NULL is "". Nothing here
 * allocates.
 */

#include "integration/mail/base/facts/object.h"

#ifdef __cplusplus
extern "C" {
#endif

struct popaccount {
	struct object_session session;
	const char *way;	/* how it logged in: "plain" */
	const char *user;	/* the mailbox, or the last name that was tried */
	uint64_t message_count; /* in the maildrop */
	uint64_t retrieved_count;
	uint64_t top_count;
	uint64_t deleted_count;
};

/* "user", "apop", "plain", "scram"; "" for no way. Static. */
const char *popaccount_way(unsigned way);

/* The JSON object into ret_text, of OBJECT_SIZE bytes. Returns its size without the NUL. */
size_t popaccount_format(const struct popaccount *account, char *ret_text);
/* One line at level info. */
void popaccount_log(const struct popaccount *account);

#ifdef __cplusplus
}
#endif
