/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * binhex.h - BinHex 4.0 (RFC 1741): a file of the Macintosh, both forks of it, in a text.
 *
 * Flow: embedded.c has the ":" behind the line that says so -> binhex_begin() -> binhex_push() with
 *       what follows, until the ":" at its end -> the functions of files.h.
 *
 *     binhex_begin(&binhex);
 *     while (!binhex.is_done && size > 0)
 *             ... binhex_push(&binhex, bytes, size, &out) ...
 *     binhex_end(&binhex, true, &out);
 *
 * The data fork is the file NAME, also without a byte; the resource fork is NAME.rsrc, when it has
 * bytes. is_odd is set for a character that there is none, a header that cannot be, and a checksum
 * that is wrong. A plain value; no allocation, no pointer kept.
 */

#include "lib/mstream/outflow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BINHEX_NAME_MAX	   255 /* of a disk 63, but readers take more */
#define BINHEX_HEADER_SIZE (1 + BINHEX_NAME_MAX + 21)

struct binhex {
	bool is_done; /* its last ":" was there, or it is none */
	bool is_odd;
	bool is_open; /* a fork: begun, and not ended */
	/* The rest is binhex.c's own. */
	bool is_repeat; /* the next byte says how often */
	bool is_complete;
	uint8_t step;
	uint8_t last;
	uint16_t header_size;
	uint8_t bit_count;
	uint16_t bits;
	uint16_t crc;
	uint16_t said_crc;
	uint32_t left; /* of a fork, or of a checksum */
	uint32_t resource_size;
	uint8_t header[BINHEX_HEADER_SIZE];
};

void binhex_begin(struct binhex *ret_binhex);
/* How many of the bytes were used: all, until .is_done. */
size_t binhex_push(struct binhex *binhex, const uint8_t *bytes, size_t size, struct outflow *out);
/* .is_done, or the text has ended, whole or cut. True when all of the file was there. */
bool binhex_end(struct binhex *binhex, bool is_text_whole, struct outflow *out);

#ifdef __cplusplus
}
#endif
