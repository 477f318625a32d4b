/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_zip.h - what is known of a zip while it flows.
 *
 * Flow: unpack_zip.c alone: its state in a slot, and what the numbers of the format mean.
 *
 *     struct zip_state *zip = unpack->state;
 *
 * A plain value; offsets are bytes from the begin of the object.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/unpack/zip/unpack_directory.h"
#include "lib/unpack/unpack_inflate64.h"

enum zip_signature {
	ZIP_LOCAL = 0x504b0304,
	ZIP_CENTRAL = 0x504b0102,
	ZIP_END = 0x504b0506,
	ZIP_END64 = 0x504b0606,
	ZIP_LOCATOR = 0x504b0607, /* of the end of 64 bits */
	ZIP_ENCRYPTED_DIRECTORY = 0x504b0608,
};

enum zip_method {
	ZIP_STORED = 0,
	ZIP_DEFLATED = 8,
	ZIP_DEFLATED64 = 9,
	ZIP_BZIP2 = 12,
	ZIP_LZMA = 14,
	ZIP_ZSTD_FIRST = 20, /* its number in APPNOTE 6.3.7 */
	ZIP_ZSTD = 93,
	ZIP_XZ = 95,
};

enum zip_flag {
	ZIP_IS_ENCRYPTED = 1,
	ZIP_HAS_MARKER = 2, /* LZMA: its end is in the stream */
	ZIP_HAS_DESCRIPTOR = 8,
	ZIP_IS_UTF8 = 1 << 11,
	ZIP_IS_MASKED = 1 << 13, /* the directory is encrypted, and the header says nothing */
};

enum zip_step {
	ZIP_SEARCH, /* for a signature */
	ZIP_HEAD,   /* the fixed part of a record */
	ZIP_NAME,
	ZIP_EXTRA_HEAD,
	ZIP_EXTRA,
	ZIP_REMARK,
	ZIP_INFLATE,
	ZIP_KNOWN, /* data whose size is known */
	ZIP_SCAN,  /* data that a descriptor ends */
	ZIP_TAIL,  /* a descriptor */
};

/* What is done with the data of a member but deflated ones. */
enum zip_sink { ZIP_DROP, ZIP_GIVE, ZIP_GIVE_CHECKED, ZIP_GIVE_LZMA };

#define ZIP64_EXTRA    1
#define LZMA_HEAD_SIZE 9 /* version, size of the properties, the properties */

struct zip_state {
	enum zip_step step;
	enum zip_sink sink;
	uint32_t signature; /* the last four bytes, or whose record it is */
	uint8_t head[64];
	unsigned fill;
	unsigned need;

	/* The record. */
	uint8_t seen; /* of the mark of another, within it */
	uint16_t flags;
	uint16_t name_left;
	uint16_t extra_left;
	uint16_t remark_left;
	uint16_t block; /* of the extra field: its tag, and how much of it is left */
	uint16_t block_left;
	struct unpack_digest_item item;
	struct unpack_digest_facts facts;
	uint8_t raw_name[UNPACK_NAME_SIZE];
	unsigned raw_size;

	/* The data of a member as they are. */
	uint64_t left; /* of the packed ones */
	uint64_t packed;
	uint64_t size;
	uint32_t check;
	uint8_t lzma[LZMA_HEAD_SIZE];

	/* The archive: more than one may stand behind another. */
	bool has_any;	/* a record was there, in all of the object */
	bool is_masked; /* there is nothing to compare */
	struct unpack_directory lists;
	bool is_wide; /* which of the two is there */
	union {
		struct unpack_inflate inflate;
		struct unpack_inflate64 inflate64;
	};
};
