/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_stages.h"

#include <string.h>

/* Filters from *at on, up to FlateDecode, or to one that is too many, which is returned. */
static enum pdf_filter take_filters(const char **at, enum pdf_filter last,
				    struct pdf_stage *ret_stages)
{
	enum pdf_filter filter = pdf_dictionary_filter(at);
	size_t count = 0;
	for (; filter != PDF_PLAIN && filter != PDF_FLATE && count < PDF_STAGES_MAX; count++) {
		ret_stages[count].filter = filter;
		filter = pdf_dictionary_filter(at);
	}
	ret_stages[count].filter = last;
	return filter;
}

bool pdf_stages_set(struct pdf_stages *ret_stages, const char *filters, bool *ret_is_flate)
{
	const char *at = filters;
	memset(ret_stages, 0, sizeof(*ret_stages));
	enum pdf_filter next = take_filters(&at, PDF_PLAIN, ret_stages->before);
	*ret_is_flate = next == PDF_FLATE;
	ret_stages->behind[0].filter = PDF_INFLATED;
	if (*ret_is_flate)
		next = take_filters(&at, PDF_INFLATED, ret_stages->behind);
	while (next == PDF_FLATE)
		next = pdf_dictionary_filter(&at);
	return next == PDF_PLAIN;
}

bool pdf_stages_add_rows(struct pdf_stages *stages, enum pdf_filter filter)
{
	struct pdf_stage *at = stages->behind;
	const struct pdf_stage *last = &stages->behind[PDF_STAGES_MAX + 1];
	if (filter != PDF_FLATE) {
		for (at = stages->before; at->filter != PDF_LZW; at++) {
			if (at->filter == PDF_PLAIN)
				return false;
		}
		at++;
		last = &stages->before[PDF_STAGES_MAX + 1];
	}
	memmove(at + 1, at, (size_t)(last - at) * sizeof(*at));
	memset(at, 0, sizeof(*at));
	at->filter = PDF_ROWS;
	return true;
}
