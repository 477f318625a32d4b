/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popaccount.h - the one line that the log has about a session.
 *
 * Flow: an edge for a session that ends there, a worker for one that was handed over ->
 *       popaccount_log() -> lib/common/log.h.
 *
 *     info: [5f0c3a9b1e42] session {"client":"192.0.2.7","port":40112,"by":"worker", ...}
 *
 * What is behind "session" is a JSON object (RFC 8259), whole in every case: texts from outside
 * are cut so that everything fits into a line. pop-front(8) has the keys.
 *
 * A plain value; texts are borrowed until popaccount_log() returns, and NULL is "". Nothing here
 * allocates.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/edge/session_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POPACCOUNT_TEXT_SIZE 960 /* of the 1024 of log.h, less "info: [ID] session " */

struct popaccount {
	struct session_facts facts;
	const char *by;	   /* the process that ended it: "edge" or "worker" */
	const char *end;   /* how: a word, as "quit" */
	const char *zones; /* that list the client */
	const char *tls;   /* "TLSv1.3"; "": clear */
	const char *way;   /* how it logged in: "plain" */
	const char *user;  /* the mailbox, or the last name that was tried */
	unsigned command_count;
	uint64_t queue_us; /* login to the worker */
	uint64_t worker_ms;
	uint64_t worker_cpu_us;
	uint64_t message_count; /* in the maildrop */
	uint64_t retrieved_count;
	uint64_t top_count;
	uint64_t deleted_count;
};

/* "user", "apop", "plain", "scram"; "" for no way. Static. */
const char *popaccount_way(unsigned way);

/* The JSON object into ret_text, of POPACCOUNT_TEXT_SIZE bytes. Returns its size without the NUL. */
size_t popaccount_format(const struct popaccount *account, char *ret_text);
/* One line at level info. */
void popaccount_log(const struct popaccount *account);

#ifdef __cplusplus
}
#endif
