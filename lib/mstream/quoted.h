/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * quoted.h - files as base64 in strings of scripts and in elements of XML, which their first bytes tell.
 *
 * Flow: the decoded bytes of a part that is text, in pieces of any size -> quoted_push(), beside embedded.h,
 *       addresses.h and inlined.h -> datauri.h for what follows a mark -> the functions of files.h.
 *
 *     quoted_begin(&quoted);
 *     quoted_push(&quoted, bytes, size, &files, context);
 *     quoted_end(&quoted, true, &files, context);
 *
 * Pages and scripts that make a file have it so: atob("UEsDBBQA..."). Behind a quote, ">" or "[", as CDATA has it,
 * stands what base64 makes of the first bytes of a program, an archive or a document; blanks may be before it. It ends
 * where an address with base64 does; in an element references are undone. So much has to follow one another as
 * QUOTED_MARK_SIZE says: scripts that look at files have marks of them as words. One in an element of which inlined.h
 * knows the name is found by both.
 *
 * A plain value. No function here keeps a pointer, allocates or logs; the files do not depend on where
 * the text is cut.
 */

#include "lib/mstream/datauri.h"
#include "lib/mstream/references.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUOTED_MARK_SIZE 32

struct quoted {
	/* All is quoted.c's own. */
	bool is_open;
	bool is_begun; /* a quote was there, and what is kept */
	char before;   /* that quote */
	uint8_t mark_size;
	union {
		char mark[QUOTED_MARK_SIZE];
		struct references references; /* while one is open */
	} of;
	struct datauri datauri;
};

void quoted_begin(struct quoted *ret_quoted);
void quoted_push(struct quoted *quoted, const uint8_t *bytes, size_t size,
		 const struct mstream_files *files, void *context);
/* is_whole: the text is; otherwise a file that is open was cut with it. */
void quoted_end(struct quoted *quoted, bool is_whole, const struct mstream_files *files,
		void *context);

#ifdef __cplusplus
}
#endif
