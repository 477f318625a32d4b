/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * inlined.h - files as base64 in elements of XML, and in lines of iCalendar and vCard.
 *
 * Flow: the decoded bytes of a part that is text, in pieces of any size -> inlined_push(), beside embedded.h and
 *       addresses.h -> coding.h for base64 -> the functions of files.h.
 *
 *     inlined_begin(&inlined);
 *     inlined_push(&inlined, bytes, size, &files, context);
 *     inlined_end(&inlined, true, &files, context);
 *
 * A text that begins with "<" is XML, unless its first element is that of a page (html). Files are the
 * contents of elements that are named, in any name space and case, as those of Word 2003 (binData), of
 * Office's flat documents (binaryData, binary-data), of PDFs in XDP (chunk), and of others (binary, base64,
 * base64Binary). One ends where another element or its own end stands. Comments, instructions and
 * declarations are passed anywhere; CDATA has no tags, and is data in a file.
 *
 * A text that begins with "BEGIN:V" has lines of RFC 5545 and 6350. Files are the values of those with
 * ENCODING=BASE64 or B, or, as vCard 2.1 had it, with BASE64 alone. One ends with a line that is not folded,
 * or, when it begins on a line of its own, with an empty line. A CR alone within it is passed, unless a
 * property follows.
 *
 * What base64 has not is passed in both, and so are NULs, for UTF-16. A plain value; no function here keeps
 * a pointer, allocates or logs, and the files do not depend on where the text is cut.
 */

#include "lib/mstream/files.h"
#include "lib/mstream/head/coding.h"
#include "lib/mstream/references.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INLINED_WORD_SIZE 16 /* of a name or a parameter as much is looked at */

struct inlined {
	/* All is inlined.c's own. */
	uint8_t mode;
	uint8_t quote;	    /* that is open in a tag or in parameters */
	uint8_t end;	    /* the byte before ">" of what is passed */
	uint8_t end_count;  /* how many of these, or of "/" in a tag, stand before the next byte */
	bool is_file;	    /* one is open */
	bool has_root;	    /* an element has begun */
	bool is_base64;	    /* one of the parameters says so */
	bool is_line_start; /* of the next byte */
	bool is_after_cr; /* which ends the line when no LF follows, and a value where a property does */
	bool is_loose; /* the value began on a line of its own */
	bool has_data; /* in the value */
	uint8_t word_size;
	char word[INLINED_WORD_SIZE]; /* in small letters, but for data */
	struct references references;
	struct base64 base64;
};

void inlined_begin(struct inlined *ret_inlined);
void inlined_push(struct inlined *inlined, const uint8_t *bytes, size_t size,
		  const struct mstream_files *files, void *context);
/* is_whole: the text is; otherwise a file that is open was cut with it. */
void inlined_end(struct inlined *inlined, bool is_whole, const struct mstream_files *files,
		 void *context);

#ifdef __cplusplus
}
#endif
