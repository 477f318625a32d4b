/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * match.h - signatures against objects whose bytes flow by.
 *
 * Flow: compile.h makes a database of ClamAV's files -> match_open() reads it, in each
 *       process -> for each object (a part, a member, a file) match_begin(), match_push() with
 *       pieces of any size, match_end() -> findings.
 *
 *     match_open(path, &db, error);           // once
 *     match_worker_new(db, &worker);          // once a process
 *     object = match_object_new(worker);      // as many as are open at a time
 *
 *     match_begin(object, found, context);
 *     match_push(object, bytes, size);
 *     match_set_kind(object, CONTENT_PE, container);   // when the head is there
 *     match_end(object);
 *
 * The findings do not depend on how the bytes are cut. An object takes what match_object_size()
 * says, whatever its length: states of Vectorscan's streams, of hashes, of parts that wait for
 * others, and of the object's last bytes. Nothing is allocated behind match_object_new().
 *
 * A database is one file, complete or not there: a new one takes the name of the old (rename(2)),
 * and processes that have the old one open go on with it until they open again. A worker is for
 * one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/content/kind.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MATCH_ERROR_SIZE 256
#define MATCH_NAME_MAX	 255

struct match_db;
struct match_worker;
struct match_object;

struct match_finding {
	const char *name; /* the signature's, borrowed from the database */
	uint64_t offset;  /* of the end of what was found, in the object; of a hash its size */
};

/* Once for each signature at most; is called out of match_push() and match_end(). */
typedef void match_found_fn(void *context, const struct match_finding *finding);

/*
 * Reads it and checks it: magic, version, checksum, and that it was made for this processor and this
 * Vectorscan. 0, or -errno with one line in reterr of MATCH_ERROR_SIZE that begins with path:
 * -EBADMSG for a file that is none or is damaged, -ESTALE for one that is to be compiled again.
 */
int match_open(const char *path, struct match_db **ret_db, char *reterr);
void match_close(struct match_db *db); /* takes NULL; workers have gone */
/* Is path another file now than the one that is open, or than it was at the last call? */
bool match_is_stale(struct match_db *db, const char *path);
/*
 * The file that was stale was not taken, with this status of match_open() or another -errno: it is stale again at
 * the next call, unless the status is about what is in it.
 */
void match_not_taken(struct match_db *db, int status);
unsigned match_count(const struct match_db *db); /* signatures in it */

int match_worker_new(const struct match_db *db, struct match_worker **ret_worker);
void match_worker_free(struct match_worker *worker);

size_t match_object_size(const struct match_db *db); /* bytes of one, for the books */
int match_object_new(struct match_worker *worker, struct match_object **ret_object);
void match_object_free(struct match_object *object);

/* Begins anew, whatever it was before. found and context are borrowed until match_end(). */
void match_begin(struct match_object *object, match_found_fn *found, void *context);
/*
 * Begins as what from, of the same database, is now: for bytes that may go on in two ways. What from
 * has had is not found again, but for what only its end decides.
 */
void match_copy(struct match_object *object, const struct match_object *from, match_found_fn *found,
		void *context);
/*
 * What the object is, and what it is a member of (CONTENT_OTHER: of nothing). Once, before
 * match_end(), and best before the first match_push(): until then only signatures for all kinds are
 * decided, and those that are not for this one are looked for, too.
 */
void match_set_kind(struct match_object *object, enum content_kind kind,
		    enum content_kind container);
void match_push(struct match_object *object, const uint8_t *bytes, size_t size);
/* Decides what needs the whole: hashes, offsets from the end, logic with "not" in it. */
void match_end(struct match_object *object);

#ifdef __cplusplus
}
#endif
