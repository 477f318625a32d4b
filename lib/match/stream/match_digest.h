/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * match_digest.h - hashes of an object, and of a section of a program, as bytes flow by.
 *
 * Flow: match_object.c -> match_digest_begin(), match_digest_push() -> match_digest_end() -> the names that a
 *       database has for hash and size.
 *
 *     match_digest_begin(&digest);
 *     match_digest_push(&digest, bytes, size);
 *     match_digest_end(&digest, found, context);
 *
 * Only kinds of hashes that the database has are made, and each ends when the object has become
 * larger than the largest with a hash of that kind. Contexts are made once and used again.
 */

#include <openssl/evp.h>

#include "lib/match/stream/match_db.h"

enum match_digest_of {
	MATCH_DIGEST_OBJECT,
	MATCH_DIGEST_SECTION,
};

struct match_digest {
	const struct match_db *db;
	enum match_digest_of of;
	uint64_t size;
	EVP_MD_CTX *contexts[MATCH_DIGESTS]; /* NULL: not of this kind */
	bool is_running[MATCH_DIGESTS];
};

/* name of IMAGE_NONE: the object is a harmless one. */
typedef void match_digest_found_fn(void *context, uint32_t name, uint64_t size);

/* 0 or -errno; match_digest_free() in either case. */
int match_digest_new(struct match_digest *ret_digest, const struct match_db *db,
		     enum match_digest_of of);
void match_digest_free(struct match_digest *digest);

void match_digest_begin(struct match_digest *digest);
/* Begins as what from, of the same kind and database, is now. */
void match_digest_copy(struct match_digest *digest, const struct match_digest *from);
void match_digest_push(struct match_digest *digest, const uint8_t *bytes, size_t size);
void match_digest_end(struct match_digest *digest, match_digest_found_fn *found, void *context);
