/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_predictor.h"

#include <stdlib.h>
#include <string.h>

#include "lib/unpack/pdf/unpack_dictionary.h"

enum { TAG_SUB = 1, TAG_UP, TAG_AVERAGE, TAG_PAETH };

static uint64_t number_or(const char *parameters, const char *name, uint64_t otherwise)
{
	const uint64_t number = pdf_dictionary_number(parameters, name);
	return number > 0 ? number : otherwise;
}

bool pdf_predictor_set(struct pdf_predictor *predictor, const char *parameters)
{
	predictor->row_size = 0;
	const uint64_t kind = number_or(parameters, PDF_INNER "Predictor", 1);
	const uint64_t colors = number_or(parameters, PDF_INNER "Colors", 1);
	const uint64_t bits = number_or(parameters, PDF_INNER "BitsPerComponent", 8);
	const uint64_t columns = number_or(parameters, PDF_INNER "Columns", 1);
	if (pdf_dictionary_is_elsewhere(parameters))
		return false;
	if (kind == 1)
		return true;
	if (colors > 32 || bits > 16 || columns > 8 * PDF_ROW_MAX || (kind == 2 && bits != 8))
		return false;
	const unsigned row_size = (unsigned)((colors * bits * columns + 7) / 8);
	if (row_size > PDF_ROW_MAX)
		return false;
	predictor->is_png = kind != 2;
	predictor->row_size = row_size;
	predictor->pixel_size = (unsigned)(colors * bits + 7) / 8;
	return true;
}

void pdf_predictor_begin(struct pdf_predictor *predictor)
{
	predictor->is_tagged = !predictor->is_png;
	predictor->tag = TAG_SUB;
	predictor->at = 0;
	memset(predictor->row, 0, predictor->row_size);
}

/* PNG 9.4. */
static int paeth(int left, int up, int corner)
{
	const int to_left = abs(up - corner);
	const int to_up = abs(left - corner);
	const int to_corner = abs(left + up - 2 * corner);
	if (to_left <= to_up && to_left <= to_corner)
		return left;
	return to_up <= to_corner ? up : corner;
}

static int predict(const struct pdf_predictor *predictor, int corner)
{
	const uint8_t *at = predictor->row + predictor->at;
	const int left =
		predictor->at >= predictor->pixel_size ? at[-(int)predictor->pixel_size] : 0;
	switch (predictor->tag) {
	case TAG_SUB:
		return left;
	case TAG_UP:
		return *at;
	case TAG_AVERAGE:
		return (left + *at) / 2;
	case TAG_PAETH:
		return paeth(left, *at, corner);
	default:
		return 0;
	}
}

bool pdf_predictor_take(struct pdf_predictor *predictor, uint8_t *byte)
{
	if (!predictor->is_tagged) {
		predictor->tag = *byte;
		predictor->is_tagged = true;
		return false;
	}
	uint8_t *above = predictor->row + predictor->at;
	uint8_t *corner = predictor->corners + predictor->at % predictor->pixel_size;
	*byte = (uint8_t)(*byte +
			  predict(predictor, predictor->at < predictor->pixel_size ? 0 : *corner));
	*corner = *above;
	*above = *byte;
	if (++predictor->at == predictor->row_size) {
		predictor->at = 0;
		predictor->is_tagged = !predictor->is_png;
	}
	return true;
}
