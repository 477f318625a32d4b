/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_tar.h - headers of a tar, written so that libarchive reads what other programs do.
 *
 * Flow: unpack_archive.c: libarchive pulls -> unpack_tar_next(): blocks of the feed, with headers as POSIX has
 *       them -> libarchive.
 *
 *     while ((size = unpack_tar_next(&tar, unpack, &bytes)) > 0)
 *
 * GNU tar, Python, 7-Zip and The Unarchiver each read some headers at which libarchive ends, or members that it has no
 * bytes for: numbers in odd forms, dates and owners that are none, types that nothing knows, bytes of devices. A header
 * is known by its checksum; anything else passes as it is. Where it is not sure that a member has bytes, they
 * are there unless the next block is a header, or the end. When that is attributes, which might be its bytes, it is
 * told as damage.
 */

#include "lib/content/tarhead.h"
#include "lib/unpack/apart/unpack_feed.h"

#define UNPACK_TAR_PAX 4096 /* of an attribute, to see whether it is the size */

/* All zero at first. */
struct unpack_tar {
	uint64_t left;	  /* bytes up to the next header */
	bool is_extended; /* a sparse file's map goes on in the next block */
	bool is_held;	  /* a header waits for the block behind it */
	bool is_passing;  /* zeros, behind a header that may have no bytes */
	bool is_pax;	  /* what is left is attributes of the next member... */
	bool is_global;	  /* ...or of all that follow */
	bool has_size;	  /* they have said it */
	bool has_global_size;
	uint64_t size;
	uint64_t global_size;
	/* Of the attribute that is read. */
	bool has_length;
	uint64_t record_size;
	uint64_t record_at;
	size_t pax_size;
	uint8_t held[TARHEAD_SIZE];
	uint8_t pax[UNPACK_TAR_PAX];
	uint8_t bytes[TARHEAD_SIZE + UNPACK_FEED_BLOCK];
};

/* Within the run of a feed: how many bytes are at *ret_bytes, up to the next call; 0 at the end. */
size_t unpack_tar_next(struct unpack_tar *tar, struct unpack *unpack, const uint8_t **ret_bytes);
