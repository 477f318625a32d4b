/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * embedded.h - files that stand in a text: uuencode, yEnc, BinHex 4.0.
 *
 * Flow: the decoded bytes of a part that is text, in pieces of any size -> embedded_push() ->
 *       the functions of files.h, for each file in the text.
 *
 *     embedded_begin(&embedded);
 *     embedded_push(&embedded, bytes, size, &files, context);
 *     embedded_end(&embedded, true, &files, context);
 *
 * Each begins at the start of a line: "begin 644 NAME" with a line of uuencode behind it,
 * "begin-base64 644 NAME", either with "-encoded" and a name in base64, "=ybegin ... name=NAME",
 * and ":" below the line that says that the file
 * must be converted with BinHex. Lines end in CRLF, LF or CR. What readers bear is borne: blanks at
 * ends of lines that were lost, a line longer than it says; lines of something else before the first, as Thunderbird
 * opens a file at its "begin 644 NAME", whatever follows. A file without its end is given as far as it goes, and
 * MSTREAM_NO_END; a size or a checksum that is wrong, and bytes that a coding does not have, are
 * MSTREAM_BAD_CODING, once for each file. The two forks of BinHex are two files, NAME and NAME.rsrc.
 *
 * A run of BinHex makes up to 95 bytes of one: what counts bytes counts what comes out.
 *
 * A plain value of less than 1 KiB. No function here keeps a pointer, allocates or logs; the files
 * do not depend on where the text is cut.
 */

#include "lib/mstream/binhex.h"
#include "lib/mstream/files.h"
#include "lib/mstream/yenc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EMBEDDED_LINE_SIZE 320 /* of a line as much is looked at */

struct embedded {
	/* All is embedded.c's own. */
	uint8_t mode;
	bool is_after_cr;  /* an LF belongs to the end of the line that was */
	bool is_passed;	   /* nothing begins in this line */
	bool has_binhex;   /* its first line was there */
	bool has_odd;	   /* was said, of this file */
	bool is_said;	   /* that it is uuencode, by a header */
	bool has_junk;	   /* between "begin" and a line of uuencode */
	uint8_t junk_left; /* lines that may be */
	uint16_t line_size;
	uint8_t line[EMBEDDED_LINE_SIZE];
	char name[MSTREAM_NAME_SIZE];
	union {
		struct yenc yenc;
		struct binhex binhex;
	} of;
};

void embedded_begin(struct embedded *ret_embedded);
/* Before any bytes: a header says that uuencode follows. */
void embedded_expect(struct embedded *embedded);
void embedded_push(struct embedded *embedded, const uint8_t *bytes, size_t size,
		   const struct mstream_files *files, void *context);
/* is_whole: the text is; otherwise a file that is open was cut with it, and that is not odd. */
void embedded_end(struct embedded *embedded, bool is_whole, const struct mstream_files *files,
		  void *context);

#ifdef __cplusplus
}
#endif
