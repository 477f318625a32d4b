/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imaptoken.h - the words of what an IMAP server says, out of bytes as they come (RFC 3501, 9).
 *
 * Flow: bytes of a server -> imaptoken_feed() -> words, strings, literals, parentheses, ends of lines
 *       -> imapreader.c makes responses of them.
 *
 *     * 12 FETCH (FLAGS (\Seen) BODY[HEADER.FIELDS (DATE)] {37}CRLF...)CRLF
 *     ^ ^^ ^^^^^ ^^^^^^ ^^^^^  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ LITERAL, BYTES, LITERAL_END, CLOSE, END
 *     ATOM ...  OPEN          one ATOM, with what its brackets have
 *
 * Only this file knows where a word ends. Behind a status ("OK") anything may follow but an end of line:
 * imaptoken_expect_text() says so.
 *
 * A line ends in CR LF. Each byte of a line is counted, and those of each word. Longer ones, a NUL, a control
 * character, parentheses that do not match and words that touch each other are IMAPTOKEN_BROKEN.
 *
 * A plain value. Nothing here allocates, logs or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a line without its literals: SEARCH with 300,000 UIDs is the longest that is right. */
#define IMAPTOKEN_LINE_MAX (4u << 20)
/* Of a word, a string in quotes or a text: the most that servers have for a line of a client. */
#define IMAPTOKEN_WORD_MAX (64u << 10)
/* That are kept of it, with a NUL. */
#define IMAPTOKEN_TEXT_SIZE 128
/* Parentheses in each other: a BODYSTRUCTURE has two for each level of a mail. */
#define IMAPTOKEN_DEPTH_MAX 250

enum imaptoken_kind {
	IMAPTOKEN_MORE,	   /* all bytes are taken */
	IMAPTOKEN_ATOM,	   /* text */
	IMAPTOKEN_STRING,  /* in quotes: text, without them */
	IMAPTOKEN_LITERAL, /* begins: literal_left bytes follow */
	IMAPTOKEN_BYTES,   /* some of them: bytes, bytes_size; borrowed from the input */
	IMAPTOKEN_LITERAL_END,
	IMAPTOKEN_OPEN,
	IMAPTOKEN_CLOSE,
	IMAPTOKEN_CODE,	    /* "[" before a text: atoms follow */
	IMAPTOKEN_CODE_END, /* and its "]" */
	IMAPTOKEN_END,	    /* of the line: text, where one was expected */
	IMAPTOKEN_BROKEN,   /* error; nothing follows */
};

enum imaptoken_error {
	IMAPTOKEN_ESYNTAX = 1,
	IMAPTOKEN_ELONG, /* a line, a word, a literal */
};

struct imaptoken {
	uint64_t literal_left;
	const char *bytes; /* of IMAPTOKEN_BYTES */
	size_t bytes_size;
	uint32_t word_size;		/* of the word, whole */
	char text[IMAPTOKEN_TEXT_SIZE]; /* of the word that has ended, or its beginning */

	/* imaptoken.c's own. */
	uint64_t literal_max;
	uint32_t line_size;
	uint16_t text_size;
	uint8_t state, last, depth, error;
	bool is_code;
};

void imaptoken_init(struct imaptoken *ret_token, uint64_t literal_max);
/* Takes bytes up to the end of a word; *ret_taken says how many. */
enum imaptoken_kind imaptoken_feed(struct imaptoken *token, const char *bytes, size_t size,
				   size_t *ret_taken);
/*
 * Behind an atom: the rest of the line is a text. has_code: words in brackets may stand before
 * it, parted by blanks and parentheses.
 */
void imaptoken_expect_text(struct imaptoken *token, bool has_code);

#ifdef __cplusplus
}
#endif
