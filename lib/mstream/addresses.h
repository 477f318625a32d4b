/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * addresses.h - files that stand in the addresses of a page: "data:image/png;base64,iVBOR...".
 *
 * Flow: the decoded bytes of a part that is text, in pieces of any size -> addresses_push(), beside
 *       embedded.h -> datauri.h for what follows a mark -> the functions of files.h.
 *
 *     addresses_begin(&addresses);
 *     addresses_push(&addresses, bytes, size, &files, context);
 *     addresses_end(&addresses, true, &files, context);
 *
 * The mark is ";base64," wherever it stands, also within what is a line of uuencode to another reader, or
 * "data:", a type of media or nothing, and a comma; where a quote, "=" or "(" stands before "data:", the type is
 * anything up to the end that these say.
 * As browsers have it, tabs and ends of lines in it are nothing, blanks around its word neither, and
 * "&#44;", "&#x2c;" and "&comma;" are a comma. Such characters end no address that begins without them.
 * A backslash before a comma is nothing, either, as visiting cards have it, nor are in base64 those before "/" and
 * ends of lines, as strings of scripts have them.
 * They are undone twice, for pages in attributes of a page (srcdoc), and escapes of ISO-2022-JP are nothing.
 *
 * A plain value. No function here keeps a pointer, allocates or logs; the files do not depend on where
 * the text is cut.
 */

#include "lib/mstream/datauri.h"
#include "lib/mstream/references.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ADDRESSES_WORD	    "data" /* and a colon */
#define ADDRESSES_TAIL_SIZE 7	   /* of DATAURI_MARK, and more than ADDRESSES_WORD */

/* What stood before, without blanks, and how deep in references each of it was. */
struct addresses_tail {
	uint8_t size;
	char text[ADDRESSES_TAIL_SIZE];
	uint8_t depths[ADDRESSES_TAIL_SIZE];
};

struct addresses {
	/* All is addresses.c's own. */
	bool is_open;
	uint8_t depth; /* in references, of the bytes that come */
	struct addresses_tail tail;
	/* Of the address whose word was there, and whose comma is not yet. */
	bool has_word;
	bool is_any;  /* what comes may be anything, as its end was not there */
	bool is_type; /* what came may be a type */
	bool has_slash;
	char first; /* behind the colon; '\0': none yet */
	char before; /* the character before the word, also of the address that is open; '\0': none, or not known */
	uint8_t before_depth;
	uint8_t escape; /* its last byte, of one that is not over; 0: none */
	struct references once;
	struct references twice;
	struct datauri datauri;
};

void addresses_begin(struct addresses *ret_addresses);
void addresses_push(struct addresses *addresses, const uint8_t *bytes, size_t size,
		    const struct mstream_files *files, void *context);
/* is_whole: the text is; otherwise a file that is open was cut with it. */
void addresses_end(struct addresses *addresses, bool is_whole, const struct mstream_files *files,
		   void *context);

#ifdef __cplusplus
}
#endif
