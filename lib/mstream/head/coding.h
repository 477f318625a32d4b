/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * coding.h - base64 and quoted-printable as a mail has them (RFC 2045, 6.7 and 6.8), undone.
 *
 * Flow: the body of a part in pieces cut anywhere, without the end of line before a delimiter ->
 *       leaf.c -> base64_undo(), qp_undo() -> decoded bytes.
 *
 *     do {
 *             event = base64_undo(&decoder, bytes, size, &used, out, &out_size);
 *             ...
 *     } while (used < size);
 *
 * Both take whatever they get, as readers of mail do. Where readers differ they stop before the byte
 * that is read differently and tell of it, once each in a part: a copy of the decoder with another
 * .mode then is the other reading, for the bytes that have not been used.
 *
 * Plain values. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum coding_event {
	CODING_NONE,
	CODING_FOREIGN,	 /* the next byte is none of the alphabet: skipped, or the end */
	CODING_URL,	 /* the next byte is "-" or "_": skipped, or as in RFC 4648, part 5 */
	CODING_RESUMED,	 /* the next byte is data behind padding */
	CODING_TRAILING, /* blanks before an end of line: kept, or dropped */
	CODING_ESCAPE,	 /* "=" with no two hexadecimal digits behind it: kept as it is */
};

enum base64_mode {
	BASE64_USUAL,  /* foreign bytes are skipped, and behind padding a new quantum begins */
	BASE64_NO_PAD, /* padding is a foreign byte as well */
	BASE64_WITH_URL,
};

struct base64 {
	enum base64_mode mode;
	uint32_t bits; /* that have not made a byte yet */
	uint8_t bit_count;
	uint8_t lost_count;			/* bits that the padding made void */
	bool is_padded;				/* nothing but padding since the last quantum */
	bool has_foreign, has_url, has_resumed; /* told already */
};

/* How many bytes size characters make at most. */
#define BASE64_ROOM(size) ((size) / 4 * 3 + 6)

/* ret_out has BASE64_ROOM(size) bytes. A struct base64 begins as all zeros. */
enum coding_event base64_undo(struct base64 *decoder, const uint8_t *bytes, size_t size,
			      size_t *ret_used, uint8_t *ret_out, size_t *ret_out_size);
/* The bits that the padding just met has made void are of use again, as in BASE64_NO_PAD. */
void base64_unpad(struct base64 *decoder);
/* Is its last quantum not full, and without padding? */
bool base64_is_cut(const struct base64 *decoder);
/* The bytes of such a quantum, 2 at most. Returns how many. */
size_t base64_end(struct base64 *decoder, uint8_t *ret_out);
/* All of a text. Returns what it has met first; ret_out is as above. */
enum coding_event base64_text(const uint8_t *bytes, size_t size, uint8_t *ret_out,
			      size_t *ret_out_size);

/* Blanks and beginnings of escapes that are held back: a line has 76 characters. */
#define QP_HELD_MAX 79

enum qp_mode {
	QP_KEEP, /* blanks before an end of line are data */
	QP_DROP, /* they are of the transport (RFC 2045, 6.7, rule 3) */
};

struct qp {
	enum qp_mode mode;
	uint8_t held_size;
	uint8_t held[QP_HELD_MAX];
	bool is_long;		       /* more blanks than are held: they are data */
	bool is_behind_cr;	       /* of a soft line break */
	bool has_trailing, has_escape; /* told already */
};

#define QP_ROOM(size) ((size) + QP_HELD_MAX)

enum coding_event qp_undo(struct qp *decoder, const uint8_t *bytes, size_t size, size_t *ret_used,
			  uint8_t *ret_out, size_t *ret_out_size);
/* What is held back at the end. ret_out has QP_ROOM(0) bytes. */
void qp_end(struct qp *decoder, uint8_t *ret_out, size_t *ret_out_size);

#ifdef __cplusplus
}
#endif
