/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * peer_replies.h - what clamd and milters say, as it comes in.
 *
 * Flow: the bytes of a connection -> clamd_reply_push(), milter_reply_push() -> peer_clamd.c,
 *       peer_milter.c, which decide what it means.
 *
 *     struct clamd_reply reply = { 0 };
 *     if (clamd_reply_push(&reply, bytes, size) == REPLY_WHOLE)
 *             verdict = clamd_reply_read(&reply, name);
 *
 * The peer is not believed: what is longer than it may be, or is none of its words, is REPLY_BAD.
 * Texts come out as printable ASCII, other bytes as "?". The result does not depend on where the
 * input is cut. Plain values that begin as zero; no I/O, no clock, no memory of their own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REPLY_TEXT_MAX 400 /* with its NUL; longer ones are cut */

enum reply_status { REPLY_MORE, REPLY_WHOLE, REPLY_BAD };

/* Copies size bytes as text, cut to REPLY_TEXT_MAX, into ret_text. */
void reply_copy_text(const void *bytes, size_t size, char ret_text[REPLY_TEXT_MAX]);

/* ---- clamd: one line that ends with NUL ---- */

#define CLAMD_LINE_MAX 1024

struct clamd_reply {
	char line[CLAMD_LINE_MAX];
	size_t size;
};

enum clamd_word { CLAMD_OK, CLAMD_FOUND, CLAMD_ERROR };

/* What is behind the NUL is ignored: there is one reply. */
enum reply_status clamd_reply_push(struct clamd_reply *reply, const uint8_t *bytes, size_t size);
/*
 * Of a whole reply: "stream: NAME FOUND", "stream: OK", and what ends with "ERROR". ret_text is the
 * name or the error. false: none of these.
 */
bool clamd_reply_read(const struct clamd_reply *reply, enum clamd_word *ret_word,
		      char ret_text[REPLY_TEXT_MAX]);

/* ---- milters: packets of a size in four bytes, a letter, data ---- */

#define MILTER_PACKET_MAX (1 << 20) /* more is an error of the protocol */
#define MILTER_DATA_MAX	  600	    /* of these, what is kept: a reply code and its text */

struct milter_reply {
	uint8_t head[5];
	size_t got; /* of the packet, size included */
	char letter;
	size_t data_size; /* of all */
	uint8_t data[MILTER_DATA_MAX];
};

/*
 * Up to the end of one packet, *ret_used bytes. With REPLY_WHOLE it is in reply, until the next call,
 * which begins the next one.
 */
enum reply_status milter_reply_push(struct milter_reply *reply, const uint8_t *bytes, size_t size,
				    size_t *ret_used);
/* Bytes of data that are there. */
size_t milter_reply_kept(const struct milter_reply *reply);

/*
 * Of data behind the letter "y": "550 5.7.1 No", whose code has to begin with 4 or 5. ret_text is
 * the first line without the codes. false: it is none.
 */
bool milter_reply_code(const struct milter_reply *reply, unsigned *ret_code,
		       char ret_text[REPLY_TEXT_MAX]);
/* Three numbers of 32 bits, behind the letter "O". false: they are not there. */
bool milter_reply_options(const struct milter_reply *reply, uint32_t ret_numbers[3]);

#ifdef __cplusplus
}
#endif
