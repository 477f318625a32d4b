/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any file for a database whose beginning and sum are right: it is refused, or an object is looked at
 * with it, whole and cut, and the same is found. Vectorscan's part is left out.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      .   the file from its numbers on, byte 128 (image.h)
 */

#include "lib/match/stream/match_db.h"

#include <stdlib.h>

#include <openssl/evp.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is found, as a number. */
static void take(void *context, const struct match_finding *finding)
{
	uint64_t *sum = context;
	for (const char *at = finding->name; *at != '\0'; at++)
		*sum = *sum * 31 + (uint8_t)*at;
	*sum += finding->offset;
}

static uint64_t look_at(struct match_object *object, const uint8_t *bytes, size_t size,
			size_t piece)
{
	uint64_t sum = 0;
	match_begin(object, take, &sum);
	match_set_kind(object, CONTENT_PE, CONTENT_ZIP);
	for (size_t at = 0; at < size; at += piece)
		match_push(object, bytes + at, size - at < piece ? size - at : piece);
	match_end(object);
	return sum;
}

static void use(const struct match_db *db)
{
	struct match_worker *worker = NULL;
	struct match_object *object = NULL;
	if (match_worker_new(db, &worker) != 0)
		return;
	if (match_object_new(worker, &object) == 0) {
		const uint8_t *bytes = (const uint8_t *)"MZ abc";
		const uint64_t whole = look_at(object, bytes, 6, 6);
		require(look_at(object, bytes, 6, 1) == whole, "cuts do not matter");
		require(look_at(object, bytes + 3, 3, 3) == look_at(object, bytes + 3, 3, 2),
			"cuts do not matter for other bytes");
	}
	match_object_free(object);
	match_worker_free(worker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t whole = size + IMAGE_NUMBERS;
	struct match_db db;
	char error[MATCH_ERROR_SIZE];
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned digest_size = 0;
	uint8_t *bytes = aligned_alloc(IMAGE_ALIGNMENT, (whole + IMAGE_ALIGNMENT - 1) /
								IMAGE_ALIGNMENT * IMAGE_ALIGNMENT);
	if (bytes == NULL)
		return 0;
	const uint32_t words[2] = { IMAGE_VERSION, 1 };
	const uint64_t whole_long = whole;
	memset(bytes, 0, IMAGE_NUMBERS);
	if (size > 0)
		memcpy(bytes + IMAGE_NUMBERS, data, size);
	memcpy(bytes, IMAGE_MAGIC, 8);
	memcpy(bytes + 8, words, sizeof(words));
	memcpy(bytes + 16, &whole_long, sizeof(whole_long));
	memcpy(bytes + IMAGE_HS_VERSION, match_db_hs_version(), strnlen(match_db_hs_version(), 63));
	if (EVP_Digest(bytes + IMAGE_SUMMED, whole - IMAGE_SUMMED, digest, &digest_size,
		       EVP_sha256(), NULL) == 1)
		memcpy(bytes + 24, digest, 32);
	if (match_db_attach(bytes, whole, &db, error) == 0)
		use(&db);
	else
		require(strnlen(error, sizeof(error)) < sizeof(error), "an error has an end");
	free(bytes);
	return 0;
}
