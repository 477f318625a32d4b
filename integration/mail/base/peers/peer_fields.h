/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * peer_fields.h - the header fields of a mail one by one, for peers that have them so.
 *
 * Flow: the bytes of a mail -> peer_fields_push() -> peer_milter.c: a packet for each field, then
 *       the body.
 *
 *     struct peer_fields *fields;                     zero at the beginning; some 60 kB
 *     while (size > 0 && !is_body) {
 *             switch (peer_fields_push(fields, bytes, size, &used)) {
 *             case FIELDS_MORE:  break;               // all is used
 *             case FIELDS_FIELD: fields->text has it; break;
 *             case FIELDS_BODY:  fields->text begins the body, what is left follows
 *             }
 *             bytes += used;
 *             size -= used;
 *     }
 *
 * A field is a name of printable characters without a colon, as of RFC 5322 section 3.6.8, blanks
 * perhaps, a colon, and a value, whose lines of folding are separated by LF as milters have them.
 * Any other line ends the header, as an empty one does, but belongs to the body.
 *
 * Bounded: of a field with more than FIELDS_TEXT_MAX bytes the beginning is kept, and a name that
 * is longer is none. A NUL, which a milter's packet cannot carry, is a blank.
 *
 * The result does not depend on where the input is cut. No I/O, no memory of its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIELDS_TEXT_MAX 60000

enum fields_step {
	FIELDS_MORE,
	FIELDS_FIELD, /* is there until the next call */
	FIELDS_BODY,  /* and from now on */
};

enum fields_state {
	FIELDS_AT_LINE, /* a line begins; the field before may go on */
	FIELDS_AT_CR,	/* a line begins with CR */
	FIELDS_IN_NAME,
	FIELDS_BEHIND_NAME,
	FIELDS_IN_VALUE,
};

struct peer_fields {
	enum fields_state state;
	bool is_pending;   /* text has a field, whose end has not been seen */
	size_t name_size;  /* text begins with the name... */
	size_t value_from; /* ...and ends with the value */
	size_t size;	   /* of text; with FIELDS_BODY bytes of the body */
	char text[FIELDS_TEXT_MAX];
};

/* Goes on up to one field. *ret_used of the bytes are taken, also none. */
enum fields_step peer_fields_push(struct peer_fields *fields, const uint8_t *bytes, size_t size,
				  size_t *ret_used);
/* The mail ends within its header: FIELDS_FIELD and then FIELDS_BODY, or the latter alone. */
enum fields_step peer_fields_end(struct peer_fields *fields);

#ifdef __cplusplus
}
#endif
