/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * account.h - the one line that the log has about a session.
 *
 * Flow: smtp_edge.c for a session that ends in an edge, worker.c for one that was handed over,
 *       with what the capsule says of the edge's part -> account_log() -> lib/common/log.h.
 *
 *     info: [5f0c3a9b1e42] session {"client":"192.0.2.7","port":40112,"by":"edge", ...}
 *
 * What is behind "session" is a JSON object (RFC 8259), whole in every case: texts from outside
 * are cut so that everything fits into a line. smtp-front(8) has the keys.
 *
 * A plain value; texts are borrowed until account_log() returns, and NULL is "". Nothing here
 * allocates.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/edge/session_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCOUNT_TEXT_SIZE 960 /* of the 1024 of log.h, less "info: [ID] session " */

struct account {
	struct session_facts facts;
	const char *by;	   /* the process that ended it: "edge" or "worker" */
	const char *end;   /* how: a word, as "quit" */
	const char *zones; /* "bl6.example,bl.example" */
	const char *tls;   /* "TLSv1.3"; "": clear */
	/* What was said, as it came. */
	const char *helo;
	const char *sender;	  /* of the last mail */
	const char *recipient;	  /* the last one */
	unsigned mail_count;	  /* committed */
	unsigned recipient_count; /* accepted */
	unsigned command_count;
	uint64_t queue_us;  /* trust to the worker: mostly a part of a millisecond */
	uint64_t worker_ms; /* from there to the end */
	uint64_t worker_cpu_us;
};

/* The JSON object into ret_text, of ACCOUNT_TEXT_SIZE bytes. Returns its size without the NUL. */
size_t account_format(const struct account *account, char *ret_text);

/* One line at level info. */
void account_log(const struct account *account);

#ifdef __cplusplus
}
#endif
