/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_stages.h - in which order the filters of a PDF's stream are undone.
 *
 * Flow: unpack_pdf.c: the value of /Filter -> pdf_stages_set() -> pdf_stages_add_rows(), and then what each
 *       filter is at in the stream.
 *
 *     is_all = pdf_stages_set(&stages, "[/A85 /Fl]", &is_flate);
 *
 * Plain values. Only for lib/unpack.
 */

#include "lib/unpack/pdf/unpack_dictionary.h"

#define PDF_STAGES_MAX 4 /* filters other than FlateDecode within one another */

struct pdf_stage {
	enum pdf_filter filter;
	bool is_over; /* the filter's own end was there */
	bool has_nibble;
	uint8_t nibble;
	uint8_t group_size; /* digits of ASCII85... */
	uint32_t group;	    /* ...and their value; of a run, see take_runs() in unpack_filters.c */
};

/* Behind the last of each stands PDF_PLAIN or PDF_INFLATED; there is room for PDF_ROWS besides. */
struct pdf_stages {
	struct pdf_stage before[PDF_STAGES_MAX + 2]; /* what is compressed */
	struct pdf_stage behind[PDF_STAGES_MAX + 2];
};

/* Each from the begin. false: there are more filters than there is room for. */
bool pdf_stages_set(struct pdf_stages *ret_stages, const char *filters, bool *ret_is_flate);
/* Behind the first of the filter, what a predictor has made. false: there is no such filter. */
bool pdf_stages_add_rows(struct pdf_stages *stages, enum pdf_filter filter);
