/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * image.h - the file that a database of signatures is.
 *
 * Flow: tables.c and compile.c write it -> match_db.c reads it, looks at all of it once, and takes
 *       records out of it in place.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      8   "DBV6SIG\n"
 *        8      4   version of this layout
 *       12      4   1, in the order of bytes of the machine
 *       16      8   bytes of the file
 *       24     32   SHA-256 of all that stands from offset 64 on
 *       64     64   version of Vectorscan as it says it, filled with zeros
 *      128     64   16 numbers, enum image_number
 *      192    272   17 sections, enum image_section: offset and bytes, of 8 bytes each
 *      512      .   the sections, each at a multiple of 64
 *
 * Numbers are in the machine's own order. Records are of 32 bit words, as the structures below say;
 * a range is named by its first record and a count. Records are copied out, so that no place in
 * memory is taken for a structure. Vectorscan's database alone is used where it lies: its bytes are
 * those of hs_deserialize_database_at() at a multiple of 64, and hold no address.
 */

#include <stdint.h>
#include <string.h>

#define IMAGE_MAGIC	  "DBV6SIG\n"
#define IMAGE_VERSION	  3
#define IMAGE_HEADER_SIZE 512
#define IMAGE_SUMMED	  64
#define IMAGE_ALIGNMENT	  64
#define IMAGE_HS_VERSION  64 /* offset, and bytes */
#define IMAGE_NUMBERS	  128
#define IMAGE_SECTIONS	  192
#define IMAGE_NONE	  UINT32_MAX
#define IMAGE_FAR	  UINT32_MAX

enum image_number {
	IMAGE_SIGNATURE_COUNT, /* of all kinds */
	IMAGE_EARLY_COUNT,     /* the first signatures, which may be decided before the end */
	IMAGE_COUNTER_COUNT,   /* of an object: counts above one */
	IMAGE_SLOT_COUNT,      /* first ends of parts */
	IMAGE_RING_COUNT,      /* last ends of parts, and beginnings for the end */
	IMAGE_HAS_ALLOWED,     /* are there hashes of objects that are harmless? */
	IMAGE_WANTS_PE,
	IMAGE_STREAM_SIZE,
	IMAGE_NUMBER_COUNT,
};

enum image_section {
	IMAGE_NAMES, /* each ends in a NUL */
	IMAGE_SIGNATURES,
	IMAGE_CONTENTS,
	IMAGE_PARTS,
	IMAGE_PATTERNS, /* by the number that Vectorscan reports */
	IMAGE_USES,	/* of patterns by parts */
	IMAGE_USERS,	/* of contents: numbers of signatures */
	IMAGE_LOGIC,	/* words of programs, siglogic.h */
	IMAGE_MD5,	/* of objects; sorted by digest, then by size */
	IMAGE_SHA1,
	IMAGE_SHA256,
	IMAGE_SECTION_MD5, /* of sections of programs */
	IMAGE_SECTION_SHA1,
	IMAGE_SECTION_SHA256,
	IMAGE_HS, /* Vectorscan's databases, by enum image_group */
	IMAGE_HS_OLE,
	IMAGE_HS_CONTAINED,
	IMAGE_SECTION_COUNT,
};

/*
 * Expressions that are for some objects only have databases of their own, as what Vectorscan looks for
 * in vain costs most: those for OLE files, of which there are many, and those for members of archives
 * and the like. A signature has all of its contents in one group, so that their order is that of the
 * bytes; what several groups look for is in each of them.
 */
enum image_group {
	IMAGE_ALL,
	IMAGE_OLE,
	IMAGE_CONTAINED,
	IMAGE_GROUP_COUNT,
};

enum image_signature_flag {
	IMAGE_AT_END = 1, /* is decided there only */
	IMAGE_HAS_FILE_SIZE = 2,
	IMAGE_HAS_ENTRY = 4,
	IMAGE_HAS_SECTIONS = 8,
};

/* Found when its logic is true in an object that it is for. */
struct image_signature {
	uint32_t name;
	uint32_t flags;
	uint32_t kinds[2]; /* bits of enum content_kind, the lower ones first */
	uint32_t containers[2];
	uint32_t logic;
	uint32_t logic_count;
	uint32_t file_size[2];
	uint32_t entry[2];
	uint32_t sections[2];
};

/* What is counted: a sub-signature, of as many signatures as have the same. */
struct image_content {
	uint32_t place; /* enum sigplace_kind */
	uint32_t section;
	uint32_t value;
	uint32_t shift;
	uint32_t part;
	uint32_t part_count;
	uint32_t counter; /* or IMAGE_NONE: it is there or not */
	uint32_t cap;
	uint32_t user;
	uint32_t user_count;
	uint32_t ring; /* of beginnings, for SIGPLACE_END; else IMAGE_NONE */
};

enum image_part_flag {
	IMAGE_PART_FIRST = 1, /* of a chain; the one before it is the record before it */
	IMAGE_PART_LAST = 2,
	IMAGE_PART_PLACED = 4, /* the first, of a content with a place */
	IMAGE_PART_ONCE = 8,   /* the last, of a content that is there or not */
};

struct image_part {
	uint32_t content;
	uint32_t flags;
	uint32_t gap_min;
	uint32_t gap_max;     /* or IMAGE_FAR */
	uint32_t slot;	      /* its first end is kept there; or IMAGE_NONE */
	uint32_t ring;	      /* its last ends are kept there; or IMAGE_NONE */
	uint32_t before_slot; /* those of the part before it */
	uint32_t before_ring;
};

struct image_pattern {
	uint32_t use;
	uint32_t use_count;
};

struct image_use {
	uint32_t part;
	uint32_t length; /* or IMAGE_NONE: not known */
	uint32_t tail;
};

/* Behind a digest of 16, 20 or 32 bytes. */
struct image_hash {
	uint32_t size; /* or IMAGE_NONE: any */
	uint32_t name; /* or IMAGE_NONE: of a harmless one */
};

static inline uint32_t image_word(const uint8_t *bytes)
{
	uint32_t word = 0;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

static inline uint64_t image_long(const uint8_t *bytes)
{
	uint64_t word = 0;
	memcpy(&word, bytes, sizeof(word));
	return word;
}
