/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * uuencode.h - the lines of uuencode and of its form with base64, as POSIX has them.
 *
 * Flow: embedded.c has a whole line -> uuencode_begins() for each line of a text, then
 *       uuencode_take() for each line of the file -> its bytes.
 *
 *     if (uuencode_begins(line, size, false, name) != UUENCODE_NONE)
 *             ...
 *     uuencode_take(next, next_size, &taken);
 *
 * Lines are without their ends. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uuencode_form { UUENCODE_NONE, UUENCODE_CLASSIC, UUENCODE_BASE64 };

enum uuencode_kind {
	UUENCODE_DATA,
	UUENCODE_BLANK, /* nothing at all */
	UUENCODE_EMPTY, /* of no bytes: the last before the end */
	UUENCODE_END,
};

#define UUENCODE_BYTES 246 /* room for 320 characters of base64; a classic line has 63 */

struct uuencode_line {
	enum uuencode_kind kind;
	bool is_odd; /* characters that are none, or too many */
	bool is_full; /* as long as its first character says, whatever the others are: classic ones alone */
	size_t size;
	uint8_t bytes[UUENCODE_BYTES];
};

/*
 * "begin 644 NAME". ret_name has MSTREAM_NAME_SIZE bytes; longer names are cut. is_said: a header says that it is
 * uuencode, so that the mode may be any word.
 */
enum uuencode_form uuencode_begins(const uint8_t *line, size_t size, bool is_said, char *ret_name);
/* Has the line that begins a file blanks and digits as uuencode(1) writes them, so that prose has none? */
bool uuencode_is_sure(const uint8_t *line, size_t size);
void uuencode_take(const uint8_t *line, size_t size, struct uuencode_line *ret_line);
/* The same of a file of UUENCODE_BASE64, at most 320 characters. */
void uuencode_take64(const uint8_t *line, size_t size, struct uuencode_line *ret_line);
