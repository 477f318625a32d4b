/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_script.h - the text of scripts that stand in strings of a PDF (ISO 32000-1, 7.3.4 and 12.6.4.16).
 *
 * Flow: unpack_pdf.c: each byte of a PDF, and of its streams that have objects -> pdf_script_take() -> members of
 *       the PDF, beside the stream that is open: what the strings say.
 *
 *     /JS <6170702e616c657274>      /J#53 (app\056alert)      4 0 obj <FEFF0061...>
 *
 * Strings behind the name /JS count, and those that are an object of their own, as a script may be. Of UTF-16 what is
 * ASCII is given as that. Where a comment or a string ends is not looked at: a name within one begins a script, too,
 * so that no comment hides the one behind it.
 *
 * A plain value. Only for lib/unpack.
 */

#include "lib/unpack/pdf/unpack_string.h"
#include "lib/unpack/unpack_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pdf_script {
	struct pdf_string string; /* that is open */
	bool is_open;		  /* is it a member? */
	bool is_wanted;		  /* a string that comes next */
	bool is_comment;	  /* before it */
	bool is_angle;		  /* behind its "<", which may be that of a dictionary */
	bool is_wide;		  /* UTF-16, or its first byte was there, which is .first */
	uint8_t first;
	uint8_t word_size; /* of the name or the word, as far as .word has room */
	uint8_t word[4];
	uint8_t name_digits; /* of #53, with the # */
	uint8_t name_byte;
	uint8_t at;   /* of the string's bytes, 0, 1 and then 2 or 3 */
	void *member; /* NULL: not wanted */
	unsigned size;
	uint8_t bytes[128];
};

void pdf_script_begin(struct pdf_script *ret_script);
/* *count is that of all scripts of the PDF. */
void pdf_script_take(struct pdf_script *script, struct unpack *unpack, unsigned *count,
		     uint8_t byte);
/* A script that is open is whole as far as it goes; then as at the begin. Also when unpack->is_over. */
void pdf_script_end(struct pdf_script *script, struct unpack *unpack);

#ifdef __cplusplus
}
#endif
