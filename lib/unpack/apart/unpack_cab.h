/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_cab.h - the list of files of a cabinet, in the order in which libarchive reads them.
 *
 * Flow: unpack_archive.c: libarchive pulls -> unpack_cab_next(): the head with its list written anew, then blocks
 *       of the feed -> libarchive.
 *
 *     while ((size = unpack_cab_next(&cab, unpack, &bytes)) > 0)
 *
 * libarchive refuses a cabinet ([MS-CAB]) whose list has a file before the one that it follows, or two with the same
 * bytes, as WiX writes equal files, and other readers open it. A file whose bytes another one has is left out of
 * the list. What has some of another one's bytes, or is nowhere, is told: no program writes that.
 */

#include "lib/unpack/apart/unpack_feed.h"

#define UNPACK_CAB_HEAD (8 << 20) /* bytes up to the end of the list; more are UNPACK_MEMORY */

/* All zero at first. */
struct unpack_cab {
	uint8_t *bytes; /* the caller frees them */
	size_t size;
	size_t room;
	size_t list_end;     /* how far the list was looked at */
	unsigned list_count; /* files of it up to there */
	bool is_given;
};

/* Within the run of a feed: how many bytes are at *ret_bytes, up to the next call; 0 at the end. */
size_t unpack_cab_next(struct unpack_cab *cab, struct unpack *unpack, const uint8_t **ret_bytes);
