/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * object.h - the one line that the log has about a session, and the JSON object (RFC 8259) in it.
 *
 * Flow: an edge for a session that ends there, a worker for one that was handed over -> a program's
 *       account of it -> object_make() -> its own members -> object_put_work() -> object_finish() ->
 *       object_log().
 *
 *     info: [5f0c3a9b1e42] session {"client":"192.0.2.7","port":40112,"by":"edge", ...}
 *
 * Texts of strangers are escaped, and cut to their room, so that the object is whole in every case, and
 * fits into a line. Nothing here allocates or keeps a pointer.
 */

#include "integration/mail/base/edge/session_facts.h"
#include "integration/mail/base/facts/text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OBJECT_SIZE 960 /* of the 1024 of log.h, less "info: [ID] session " */

/* What an account of any server has. Texts are borrowed, and NULL is "". */
struct object_session {
	struct session_facts facts;
	const char *by;	   /* the process that ended it: "edge" or "worker" */
	const char *end;   /* how: a word, as "quit" */
	const char *zones; /* "bl6.example,bl.example", which list the client */
	const char *tls;   /* "TLSv1.3"; "": clear */
	unsigned command_count;
	uint64_t queue_us; /* from trust or a login to the worker: mostly a part of a millisecond */
	uint64_t worker_ms; /* from there to the end */
	uint64_t worker_cpu_us;
};

/* In ret_object, of OBJECT_SIZE bytes: from "client" to "tls". */
struct text object_make(const struct object_session *session, char *ret_object);
/* From "refused" to "worker_us". */
void object_put_work(struct text *text, const struct object_session *session);
/* Returns the size without the NUL. */
size_t object_finish(struct text *text);
/* One line at level info. */
void object_log(const struct object_session *session, const char *object);

/* ---- a program's own members ---- */

void object_put_number(struct text *text, const char *name, uint64_t number);
/* No more than room bytes between the quotes: what does not fit is left out. NULL is "". */
void object_put_text(struct text *text, const char *name, const char *value, size_t room);
/* One of our own words, of 16 bytes at most. */
void object_put_word(struct text *text, const char *name, const char *value);

#ifdef __cplusplus
}
#endif
