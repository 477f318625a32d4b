/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailbody.h - a mail's text as POP3 sends it, and back, byte by byte the same.
 *
 * Flow: mailstore.c -> mailbody_measure(), then mailbody_fill() into the log; a reader of the
 *       log -> mailbody_undo_take(), unless it is POP3 itself, which sends what is there.
 *
 * In the log each line ends in CRLF and one that begins with a dot has two (RFC 1939, part 3), so
 * that retrieval copies nothing. How lines ended before is kept: in .lines, and where a text has
 * line ends of both kinds, as the places of those that were a lone LF (.exceptions). A lone CR is
 * text. Plain values; no function here does I/O.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mailbody_lines {
	MAILBODY_CRLF = 0,  /* as in SMTP; also a text without a line end */
	MAILBODY_LF = 1,    /* as in a Unix file */
	MAILBODY_MIXED = 2, /* see .exceptions */
};
/* Added to one of these when the text does not end with a line end: the last one is ours. */
#define MAILBODY_OPEN 4
#define MAILBODY_MASK 7

/* The room for .exceptions: some 32,000 lines of the rarer kind. */
#define MAILBODY_EXCEPTIONS_MAX 65536

struct mailbody {
	const uint8_t *text; /* borrowed */
	size_t size;
	uint64_t wire_size; /* of what mailbody_fill() makes */
	uint64_t octets;    /* the same without the dots that were added: the size that POP3 says */
	uint8_t lines;	    /* enum mailbody_lines, and MAILBODY_OPEN */
	bool is_wire;	    /* what mailbody_fill() makes is the text itself */
	/* For MAILBODY_MIXED: lines that ended with LF, each as the count of lines since the one
	 * before, seven bits a byte, the lowest first, 0x80 when more follow. */
	uint8_t *exceptions; /* freed by mailbody_free() */
	size_t exceptions_size;
	size_t at; /* of mailbody_fill(), as is the next */
	bool is_dot_due;
	bool is_lf_due;
};

/*
 * Reads size bytes of text, which have to stay until the last mailbody_fill(). 0, -ENOMEM, or
 * -E2BIG when .exceptions would be too long. mailbody_free() in any case.
 */
int mailbody_measure(const uint8_t *text, size_t size, struct mailbody *ret_body);
void mailbody_free(struct mailbody *body);
/* The next bytes, at most room of them. 0 at the end; mailbody_rewind() begins again. */
size_t mailbody_fill(struct mailbody *body, uint8_t *out, size_t room);
void mailbody_rewind(struct mailbody *body);

/* The way back, in pieces of any size. */
struct mailbody_undo {
	uint8_t lines;
	const uint8_t *exceptions; /* borrowed */
	size_t exceptions_size;
	uint64_t left; /* bytes of the wire form that are still to come */
	/* The rest is mailbody.c's own. */
	uint64_t line;
	uint64_t next_exception;
	bool is_at_start;
	bool has_cr;
};

void mailbody_undo_init(struct mailbody_undo *ret_undo, uint8_t lines, const uint8_t *exceptions,
			size_t exceptions_size, uint64_t wire_size);
/*
 * Takes the next size bytes of the wire form. out has size + 1 bytes, since a CR may have been
 * held, and may not be in. Returns the number of bytes in out.
 */
size_t mailbody_undo_take(struct mailbody_undo *undo, const uint8_t *in, size_t size, uint8_t *out);

#ifdef __cplusplus
}
#endif
