/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_predictor.h - rows of which each byte is the difference to others (ISO 32000-1, 7.4.4.4).
 *
 * Flow: unpack_pdf.c: what /DecodeParms say -> pdf_predictor_set(); what comes out of FlateDecode or
 *       LZWDecode, byte for byte -> pdf_predictor_take().
 *
 *     is_known = pdf_predictor_set(&predictor, parameters);
 *     pdf_predictor_begin(&predictor);
 *     if (pdf_predictor_take(&predictor, &byte))
 *             ...
 *
 * Those of PNG, and TIFF's of 8 bits. A plain value. Only for lib/unpack.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PDF_ROW_MAX   4096 /* bytes of a row */
#define PDF_PIXEL_MAX 64

struct pdf_predictor {
	bool is_png;
	unsigned row_size; /* 0: there is none */
	unsigned pixel_size;
	/* Of the byte that comes next. */
	bool is_tagged; /* the row's tag was there */
	uint8_t tag;
	unsigned at;
	uint8_t row[PDF_ROW_MAX];	/* from .at on that above */
	uint8_t corners[PDF_PIXEL_MAX]; /* of the row above, by their places in a pixel */
};

/* What they say of none is none. false: one that is not known here, and then there is none. */
bool pdf_predictor_set(struct pdf_predictor *predictor, const char *parameters);
void pdf_predictor_begin(struct pdf_predictor *predictor);
/* false: the byte was a row's tag. */
bool pdf_predictor_take(struct pdf_predictor *predictor, uint8_t *byte);

#ifdef __cplusplus
}
#endif
