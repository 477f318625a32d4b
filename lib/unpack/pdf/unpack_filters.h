/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_filters.h - what the bytes of a PDF's stream stand for (ISO 32000-1, 7.4).
 *
 * Flow: unpack_pdf.c: the state's .stages, and each byte of the stream -> pdf_filters_take() -> the member that is
 *       open, and scripts in it.
 *
 *     pdf_filters_take(unpack, byte);
 *     pdf_filters_flush(unpack);	// then .body says whether what is compressed has come to its end
 *     pdf_filters_end(unpack);
 *
 * The state is that of unpack_pdfstate.h, .body PDF_HEAD at a stream's begin. Only for unpack_pdf.c.
 */

#include "lib/unpack/unpack_rows.h"

void pdf_filters_take(struct unpack *unpack, uint8_t byte);
/* What is held of the last piece. */
void pdf_filters_flush(struct unpack *unpack);
void pdf_filters_end(struct unpack *unpack);
