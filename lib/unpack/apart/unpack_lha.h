/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_lha.h - headers of an LHA, written so that libarchive reads what other programs do.
 *
 * Flow: unpack_archive.c: libarchive pulls -> unpack_lha_next(): blocks of the feed, with each header as one
 *       of level 0 -> libarchive.
 *
 *     while ((size = unpack_lha_next(&lha, unpack, &bytes)) > 0)
 *
 * lhasa, 7-Zip and The Unarchiver read headers at which libarchive ends: of a wrong checksum, without a name, of links
 * with bytes, behind a member of a method that they do not know. What is kept of a header is the method, the sizes, the
 * checksum of the file and its name, in UTF-8. A member of an unknown method is told and left out. Bytes that are no
 * header end it, as libarchive would ask for as much memory as they say.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   size of what follows; level 2: two bytes, of all; level 3: 4, and the size is at 24
 *        1      1   sum of it
 *        2      5   "-lh5-"
 *        7      4   size of the data; level 1: and of the headers that follow
 *       11      4   size of the file
 *       15      4   time
 *       19      1   attributes
 *       20      1   level
 *       21      .   levels 0 and 1: size of the name, the name, 2 checksum; then level 1, as the others: 1 system,
 *                   and headers: size, type, data, each beginning in the size behind the one before
 */

#include "lib/unpack/apart/unpack_feed.h"

#define UNPACK_LHA_HEAD                                                                            \
	(64 * 1024)	    /* all headers of a member; level 3 may have more, and nothing has */
#define UNPACK_LHA_NAME 200 /* bytes of it that are kept: a header of level 0 has room for them */

/* All zero at first. */
struct unpack_lha {
	uint64_t left; /* of the data, up to the next header */
	uint64_t pass; /* the same, of a member that is left out */
	bool is_over;  /* behind the end of the archive */
	bool is_odd;   /* which is no end, as was told */
	size_t at;     /* in bytes, of which there are fill */
	size_t fill;
	uint8_t head[32 + UNPACK_LHA_NAME];
	uint8_t bytes[UNPACK_LHA_HEAD + UNPACK_FEED_BLOCK];
};

/* Within the run of a feed: how many bytes are at *ret_bytes, up to the next call; 0 at the end. */
size_t unpack_lha_next(struct unpack_lha *lha, struct unpack *unpack, const uint8_t **ret_bytes);
