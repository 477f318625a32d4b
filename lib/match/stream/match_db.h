/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * match_db.h - a database of signatures in memory, and its records.
 *
 * Flow: match_open() -> match_db_attach(), which looks at every record once -> match_object.c and
 *       match_digest.c read records without looking again.
 *
 *     match_db_content(db, number, &content);
 *
 * Records are copied out of the file. All numbers in them that name others are in range, and all
 * programs of logic are whole.
 */

#include <sys/stat.h>

#include "lib/match/stream/image.h"
#include "lib/match/match.h"

#define MATCH_DIGESTS 3 /* MD5, SHA1, SHA256 */

struct match_db {
	const uint8_t *bytes;
	size_t size;
	struct stat status; /* of the file, as it was seen last */
	uint32_t numbers[IMAGE_NUMBER_COUNT];
	const uint8_t *sections[IMAGE_SECTION_COUNT];
	uint32_t counts[IMAGE_SECTION_COUNT]; /* of records; of bytes where there are none */
	const void *hs[IMAGE_GROUP_COUNT];    /* hs_database_t, or NULL without expressions */
	/* The largest object and section that has a hash of a kind; IMAGE_NONE: any may. */
	bool has_hashes[2][MATCH_DIGESTS];
	uint32_t largest[2][MATCH_DIGESTS];
	bool has_section_hashes;
	bool has_ends; /* contents that stand before the end */
};

/*
 * Of bytes that are a file, but for what Vectorscan is to say about its part. 0, -EBADMSG or
 * -ESTALE with a line in reterr of MATCH_ERROR_SIZE. The bytes are borrowed.
 */
int match_db_attach(const uint8_t *bytes, size_t size, struct match_db *ret_db, char *reterr);

/* Vectorscan's, as a file is to say it. */
const char *match_db_hs_version(void);
unsigned match_db_digest_size(unsigned kind);
/* Bytes of a record. */
size_t match_db_record_size(unsigned section);
/* NUL-terminated, borrowed. */
const char *match_db_name(const struct match_db *db, uint32_t name);

static inline void match_db_read(const struct match_db *db, enum image_section section,
				 uint32_t number, void *ret_record, size_t size)
{
	memcpy(ret_record, db->sections[section] + (size_t)number * size, size);
}

static inline struct image_signature match_db_signature(const struct match_db *db, uint32_t number)
{
	struct image_signature record;
	match_db_read(db, IMAGE_SIGNATURES, number, &record, sizeof(record));
	return record;
}

static inline struct image_content match_db_content(const struct match_db *db, uint32_t number)
{
	struct image_content record;
	match_db_read(db, IMAGE_CONTENTS, number, &record, sizeof(record));
	return record;
}

static inline struct image_part match_db_part(const struct match_db *db, uint32_t number)
{
	struct image_part record;
	match_db_read(db, IMAGE_PARTS, number, &record, sizeof(record));
	return record;
}

static inline struct image_pattern match_db_pattern(const struct match_db *db, uint32_t number)
{
	struct image_pattern record;
	match_db_read(db, IMAGE_PATTERNS, number, &record, sizeof(record));
	return record;
}

static inline struct image_use match_db_use(const struct match_db *db, uint32_t number)
{
	struct image_use record;
	match_db_read(db, IMAGE_USES, number, &record, sizeof(record));
	return record;
}

static inline uint32_t match_db_user(const struct match_db *db, uint32_t number)
{
	return image_word(db->sections[IMAGE_USERS] + (size_t)number * sizeof(uint32_t));
}

/* Words lie at a multiple of their size, image.h. */
static inline const uint32_t *match_db_logic(const struct match_db *db, uint32_t number)
{
	return (const uint32_t *)(const void *)db->sections[IMAGE_LOGIC] + number;
}
