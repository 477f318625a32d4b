/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_string.h - the bytes that a string of a PDF stands for (ISO 32000-1, 7.3.4).
 *
 * Flow: unpack_script.c, unpack_sealed.c: each byte behind the first parenthesis or angle -> pdf_string_take().
 *
 *     struct pdf_string string = { .mode = PDF_STRING_LITERAL };
 *     while (string.mode != PDF_STRING_NONE && text < end)
 *             count = pdf_string_take(&string, *text++, bytes);
 *
 * Pure, and a plain value. Only for lib/unpack.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PDF_STRING_ADDED 2 /* by one byte, at most */

enum pdf_string_mode {
	PDF_STRING_NONE, /* it has come to its end */
	PDF_STRING_LITERAL,
	PDF_STRING_HEX,
};

struct pdf_string {
	enum pdf_string_mode mode;
	bool is_escaped;
	bool has_nibble;
	uint8_t octal_digits;
	uint8_t byte; /* of digits */
	unsigned parentheses;
};

/* How many bytes it adds to ret_bytes, which has room for PDF_STRING_ADDED. */
size_t pdf_string_take(struct pdf_string *string, uint8_t byte, uint8_t *ret_bytes);
