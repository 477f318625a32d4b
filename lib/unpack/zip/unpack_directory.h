/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_directory.h - what a zip's directory, and its ends, must say.
 *
 * Flow: unpack_zip.c: each local header and each entry of the directory -> a digest; where the
 *       directory and the ends are -> unpack_directory_is_right() at the last end.
 *
 *     unpack_directory_begin(&lists);
 *     is_lying = !unpack_directory_is_right(&lists, count, offset);
 *
 * Readers find the directory by its end, or by the end of 64 bits, or by the locator of that: all
 * of them must lead to the one that stands behind the members. Only for lib/unpack.
 */

#include "lib/unpack/zip/unpack_digest.h"

/* All offsets are in the object; UINT64_MAX: there is none yet. */
struct unpack_directory {
	uint64_t start; /* of the first local header */
	uint64_t at;	/* of the directory's first entry */
	struct unpack_digest locals;
	struct unpack_digest listed;
	bool has_end64;
	bool has_locator;
	uint64_t end64_at;
	/* As they are said. */
	uint64_t end64_count;
	uint64_t end64_offset;
	uint64_t locator_offset;
};

void unpack_directory_begin(struct unpack_directory *ret_lists);
/* count and offset: as the last end says them. */
bool unpack_directory_is_right(const struct unpack_directory *lists, uint16_t count,
			       uint32_t offset);
