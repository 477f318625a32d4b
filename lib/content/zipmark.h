/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zipmark.h - the first member of a zip, wherever it stands.
 *
 * Flow: object.c: the bytes of an object that is no archive -> zipmark_find(): a zip is read from its
 *       end, so that readers open it whatever stands before it -> how many bytes are up to the end of
 *       the mark.
 *
 *     uint8_t seen = 0;
 *     if (zipmark_find(&seen, bytes, size, &behind))
 *             ...                   // ZIPMARK, and then bytes + behind
 *
 * Pure, but for the value; the result does not depend on where the bytes are cut.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZIPMARK	     "PK\3\4"
#define ZIPMARK_SIZE 4

/* seen: how many bytes of a mark were the last ones; 0 before the first call and behind a mark. */
static inline bool zipmark_find(uint8_t *seen, const uint8_t *bytes, size_t size,
				size_t *ret_behind)
{
	static const uint8_t mark[ZIPMARK_SIZE] = { 'P', 'K', 3, 4 };
	size_t at = 0;
	while (at < size) {
		if (*seen == 0) {
			const void *first = memchr(bytes + at, mark[0], size - at);
			if (first == NULL)
				return false;
			at = (size_t)((const uint8_t *)first - bytes);
		}
		const uint8_t byte = bytes[at++];
		if (byte == mark[*seen])
			(*seen)++;
		else
			*seen = byte == mark[0];
		if (*seen == ZIPMARK_SIZE) {
			*seen = 0;
			*ret_behind = at;
			return true;
		}
	}
	return false;
}

#ifdef __cplusplus
}
#endif
