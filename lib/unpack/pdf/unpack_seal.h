/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_seal.h - what of a PDF is kept until its end says with what it is encrypted.
 *
 * Flow: unpack_pdf.c: all that is no stream -> pdf_seal_text(); the bytes of streams -> pdf_seal_take(), and behind
 *       some of them whether they are plain -> pdf_seal_decide() -> the copy, an object that another process keeps
 *       (unpack_sealed.c).
 *
 *     pdf_seal_text(&seal, unpack, byte);
 *     pdf_seal_begin_stream(&seal);
 *     if (pdf_seal_take(&seal, unpack, byte))
 *             pdf_seal_decide(&seal, unpack, is_plain);
 *     if (seal.mode == PDF_SEAL_UNDECIDED)
 *             pdf_seal_decide(&seal, unpack, is_plain);
 *     pdf_seal_end_stream(&seal, unpack);
 *     was_given = pdf_seal_end(&seal, unpack, PDF_SEAL_ENCRYPTED | PDF_SEAL_STREAM);
 *
 * The copy begins with a stream that is not plain, or when it is asked for: most PDFs have none. It has the
 * PDF_SEAL_TEXT bytes before that are in no stream, too; a stream that is plain has no bytes in it.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of a record: PDF_SEAL_IS_TEXT, or PDF_SEAL_IS_DATA, which are of one stream up to the next text
 *        1      4   size, little end first
 *        5      .   bytes
 *        .      1   behind the last record: enum pdf_seal_fact, a sum of them
 *
 * No more of it is given than there is room for in the budget's spool. A plain value. Only for lib/unpack.
 */

#include "lib/unpack/unpack_rows.h"

#define PDF_SEAL_TEXT	 4096
#define PDF_SEAL_KEPT	 640 /* bytes of a stream by which it is decided */
#define PDF_SEAL_NOTHING 2   /* bytes, which may be the end of a line before "endstream" */
#define PDF_SEAL_HEAD	 5
#define PDF_SEAL_IS_TEXT 0
#define PDF_SEAL_IS_DATA 1

/* What the PDF says, and what of it is not in the copy, as it seems to be plain. */
enum pdf_seal_fact {
	PDF_SEAL_ENCRYPTED = 1, /* it says so */
	PDF_SEAL_STREAM = 2,	/* none of these */
	PDF_SEAL_FILE = 4,	/* by its dictionary an embedded one */
	PDF_SEAL_METADATA = 8,
};

enum pdf_seal_mode { PDF_SEAL_OUTSIDE, PDF_SEAL_UNDECIDED, PDF_SEAL_DATA, PDF_SEAL_PLAIN };

struct pdf_seal {
	void *member;	/* the copy; NULL: there is none */
	bool is_over;	/* there will be none any more */
	uint64_t given; /* bytes */
	enum pdf_seal_mode mode;
	bool is_round;	    /* before the copy begins: what is behind .text_size is older text */
	unsigned text_size; /* of .text */
	unsigned kept_size;
	uint8_t kept[PDF_SEAL_KEPT]; /* of the stream */
	uint8_t text[PDF_SEAL_TEXT];
};

void pdf_seal_begin(struct pdf_seal *ret_seal);
/* .text is full: into the copy, or else it goes round. */
void pdf_seal_turn(struct pdf_seal *seal, struct unpack *unpack);
/* Of each byte outside of streams. */
static inline void pdf_seal_text(struct pdf_seal *seal, struct unpack *unpack, uint8_t byte)
{
	if (seal->text_size == PDF_SEAL_TEXT)
		pdf_seal_turn(seal, unpack);
	seal->text[seal->text_size++] = byte;
}
/* The copy begins, if there is none yet. */
void pdf_seal_open(struct pdf_seal *seal, struct unpack *unpack);
void pdf_seal_begin_stream(struct pdf_seal *seal);
/* true: there is enough of it for pdf_seal_decide(). Not for streams that are decided to be plain. */
bool pdf_seal_take(struct pdf_seal *seal, struct unpack *unpack, uint8_t byte);
void pdf_seal_decide(struct pdf_seal *seal, struct unpack *unpack, bool is_plain);
/* Of one that is decided. */
void pdf_seal_end_stream(struct pdf_seal *seal, struct unpack *unpack);
/* Are the bytes of the stream that are kept a text, as no encrypted ones are? */
bool pdf_seal_is_text(const struct pdf_seal *seal);
/* Is there a whole copy? Also when unpack->is_over. facts: enum pdf_seal_fact. */
bool pdf_seal_end(struct pdf_seal *seal, struct unpack *unpack, unsigned facts);
