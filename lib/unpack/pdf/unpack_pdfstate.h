/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_pdfstate.h - what the reader of a PDF knows of it, and of the stream that it is in.
 *
 * Flow: unpack_pdf.c: which bytes are a stream's, and what its dictionary says -> unpack_filters.c: what they stand
 *       for -> the stream's member.
 *
 * It stands in unpack->state. Only for these two.
 */

#include "lib/unpack/pdf/unpack_dictionary.h"
#include "lib/unpack/pdf/unpack_lzw.h"
#include "lib/unpack/pdf/unpack_predictor.h"
#include "lib/unpack/pdf/unpack_script.h"
#include "lib/unpack/pdf/unpack_seal.h"
#include "lib/unpack/pdf/unpack_stages.h"
#include "lib/unpack/unpack_inflate.h"

#define PDF_END_WORD	  "endstream"
#define PDF_END_WORD_SIZE 9
#define PDF_PIECE_SIZE	  512

enum pdf_mode {
	PDF_TEXT,
	PDF_STREAM,
};

/* What was there of "stream" and the end of its line. */
enum pdf_word {
	WORD_NONE,
	WORD_STREAM,
	WORD_BLANK,
	WORD_CR, /* the LF of a CRLF may follow */
};

enum pdf_body {
	PDF_HEAD, /* its first two bytes */
	PDF_INFLATE,
	PDF_RAW,
	PDF_PASSED, /* to its end */
};

struct pdf_state {
	enum pdf_mode mode;
	enum pdf_word word;
	enum pdf_body body;
	bool is_image;
	bool is_within;	   /* another stream, it has begun */
	bool is_encrypted; /* it says so */
	bool is_opened;	   /* and was, already */
	uint8_t held_size; /* bytes that may be the end of a line, and PDF_END_WORD */
	uint8_t word_size; /* how much of it */
	uint8_t head_size;
	uint8_t head[2];
	uint8_t held[2 + PDF_END_WORD_SIZE];
	unsigned count;		    /* of streams */
	bool has_word;		    /* PDF_END_WORD was in the stream, within its length */
	enum inflate_step inflated; /* what was last */
	uint64_t taken;		    /* of the stream */
	/* Of the stream, or what its dictionary has said until now. */
	uint64_t length; /* 0: not said */
	struct pdf_stages stages;
	enum pdf_filter predicted; /* what .predictor is of */
	bool is_flate;
	bool is_late;		/* LZW's codes become longer when they have to */
	bool is_unpredicted;	/* there is a predictor that is not known here */
	bool is_unfiltered;	/* and that of filters */
	bool has_filters;	/* /Filter was there */
	struct pdf_place place; /* of the text's first byte */
	unsigned text_size;
	unsigned piece_size;
	unsigned given_size;
	uint8_t text[PDF_TEXT_SIZE];
	uint8_t piece[PDF_PIECE_SIZE];
	uint8_t given[PDF_PIECE_SIZE];
	struct unpack_inflate inflate;
	const struct pdf_stage *lzw_stage; /* of the first that has bytes; NULL: none */
	uint64_t lzw_out;
	struct unpack_lzw lzw;
	struct pdf_predictor predictor;
	bool has_objects;	 /* the stream */
	bool is_doubted;	 /* its dictionary says that it is not encrypted */
	enum pdf_seal_fact fact; /* if it is not in the copy; 0: it is */
	unsigned facts;		 /* of all streams */
	unsigned script_count;
	struct pdf_seal seal;
	struct pdf_script outside; /* of all bytes of the file */
	struct pdf_script inside;  /* of streams that have objects */
};
