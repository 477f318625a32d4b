/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mark.h - a few bytes that something begins with, wherever they stand.
 *
 * Flow: object.c: the bytes of an object that is no archive -> mark_find(): a zip is read from its end, so that
 *       readers open it whatever stands before its first member -> how many bytes are up to the end of the mark.
 *       unpack_zip.c and unpack_onenote.c look for members and files likewise.
 *
 *     uint8_t seen = 0;
 *     if (mark_find(ZIPMARK, ZIPMARK_SIZE, &seen, bytes, size, &behind))
 *             ...                   // ZIPMARK, and then bytes + behind
 *
 * Pure, but for the value; the result does not depend on where the bytes are cut.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ZIPMARK	     "PK\3\4" /* of a member */
#define ZIPMARK_SIZE 4

/*
 * The first byte of the mark is in it once. seen: how many bytes of a mark were the last ones; 0 before the first call
 * and behind a mark.
 */
static inline bool mark_find(const char *mark, size_t mark_size, uint8_t *seen,
			     const uint8_t *bytes, size_t size, size_t *ret_behind)
{
	size_t at = 0;
	while (at < size) {
		if (*seen == 0) {
			const void *first = memchr(bytes + at, mark[0], size - at);
			if (first == NULL)
				return false;
			at = (size_t)((const uint8_t *)first - bytes);
		}
		const uint8_t byte = bytes[at++];
		if (byte == (uint8_t)mark[*seen])
			(*seen)++;
		else
			*seen = byte == (uint8_t)mark[0];
		if (*seen == mark_size) {
			*seen = 0;
			*ret_behind = at;
			return true;
		}
	}
	return false;
}
