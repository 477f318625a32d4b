/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * datauri.h - files in addresses of a page: "data:image/png;base64,iVBOR..." (RFC 2397).
 *
 * Flow: addresses.c has found ";base64," or "data:text/html," -> datauri_begin() -> datauri_push() with
 *       what follows, to the end of the address -> outflow.h.
 *
 *     datauri_begin(&uri, true, '"');
 *     while (!uri.is_done && size > 0)
 *             ... datauri_push(&uri, bytes, size, false, &out) ...
 *
 * As browsers have it, blanks and ends of lines are passed where quotes stand around it, or where they
 * are coded, %2B is +, and it ends at any character that base64 has not; without base64 at the quote that
 * stands before it, or, behind "=", at a blank or ">". With base64 it goes on in a string that a script joins to
 * its own: "AAAA" + "BBBB". A plain value; no allocation, no pointer kept.
 */

#include "lib/mstream/outflow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DATAURI_MARK ";base64" /* and a comma */

struct datauri {
	bool is_done;
	/* The rest is datauri.c's own. */
	bool is_base64;
	bool is_quoted;
	bool is_inner;	 /* of the bytes that come */
	bool is_escaped; /* behind a backslash */
	uint8_t join;	 /* enum join */
	bool is_line_start;
	char before;
	uint8_t first;	 /* of the digits of %XX */
	uint8_t percent; /* of %XX: how many of its three characters were there */
	uint8_t code;
	uint8_t bit_count;
	uint16_t bits;
};

/* before: the character before the address; '\0': not known. */
void datauri_begin(struct datauri *ret_uri, bool is_base64, char before);
/*
 * How many of the bytes were used: all, until .is_done; the byte that ends it is not. is_inner: they are named by
 * references, and the character before is not, so that no quote or blank of them ends it.
 */
size_t datauri_push(struct datauri *uri, const uint8_t *bytes, size_t size, bool is_inner,
		    struct outflow *out);

#ifdef __cplusplus
}
#endif
