/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_dictionary.h - what the dictionary of a PDF's stream says (ISO 32000-1, 7.3).
 *
 * Flow: unpack_pdf.c: the text before "stream" -> pdf_dictionary_copy() -> pdf_dictionary_find() and
 *       the others.
 *
 *     has_begin = pdf_dictionary_copy(text, size, &place, true, copy);
 *     filters = pdf_dictionary_filters(copy);
 *     while ((filter = pdf_dictionary_filter(&filters)) != PDF_PLAIN)
 *             ...
 *
 * Only names of the dictionary itself count: what stands in a string, in a comment or in another
 * object says nothing, and names of a dictionary within begin with PDF_INNER.
 * Pure. Only for lib/unpack.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PDF_TEXT_SIZE 640 /* of a text that is looked at at a time */
#define PDF_INNER     "\1"

enum pdf_filter {
	PDF_PLAIN,
	PDF_HEX,
	PDF_ASCII85,
	PDF_RUNS,
	PDF_LZW,
	PDF_ROWS, /* what a predictor has made; no name of a filter */
	PDF_FLATE,
	PDF_INFLATED,
};

/* Where a byte is. */
struct pdf_place {
	bool is_object; /* the begin of one was before it */
	bool is_escaped;
	bool is_comment;
	unsigned parentheses;
	unsigned angles; /* two for each dictionary */
};

/* These are asked of each byte of a PDF. */
static inline bool pdf_is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f' ||
	       byte == '\0';
}

static inline bool pdf_is_delimiter(uint8_t byte)
{
	return byte == '/' || byte == '[' || byte == ']' || byte == '<' || byte == '>' ||
	       byte == '(' || byte == ')' || byte == '%';
}

/* Does text end with "stream", for itself, behind the end of a dictionary? */
bool pdf_ends_with_stream(const uint8_t *text, size_t size);
/* Does the name stand in text, with something behind it? */
bool pdf_has_name(const uint8_t *text, size_t size, const char *name);
/*
 * The dictionary that text, of PDF_TEXT_SIZE bytes at most, ends with, or has a part of; ret_text has
 * room for a NUL more. place is that of its first byte, and becomes that of the byte in the middle of
 * PDF_TEXT_SIZE. Returns whether the begin of its object is there.
 */
bool pdf_dictionary_copy(const uint8_t *text, size_t size, struct pdf_place *place, bool is_whole,
			 char *ret_text);
/* Does the name stand in it, for itself? Where, or NULL. */
const char *pdf_dictionary_find(const char *dictionary, const char *name);
/* Of a key of its own, as a name: /Type /XRef. */
bool pdf_dictionary_has(char *dictionary, const char *key, const char *name);
/* 0: it does not stand here, but in an object of its own, perhaps. */
uint64_t pdf_dictionary_number(const char *dictionary, const char *name);
/* Of a name, an array or a dictionary, without the last bracket, or as far as the text goes. */
size_t pdf_dictionary_size(const char *value);
/* Is there a reference to another object, "6 0 R", in the value? */
bool pdf_dictionary_is_elsewhere(const char *value);
/*
 * Where its filters begin; what follows them is cut off. NULL: none are said. *is_long: the long name of their key was
 * there, in an earlier part of the dictionary perhaps, and the short one says nothing.
 */
const char *pdf_dictionary_filters(char *dictionary, bool *is_long);
/* Of /DecodeParms, or of /DP, its short name, or NULL. */
char *pdf_dictionary_all_parameters(char *dictionary);
/* Of these values, or NULL, those of a filter among the filters; NULL: it has none. */
char *pdf_dictionary_parameters(char *values, const char *filters, const char *filter);
/* Does the filter Crypt with these values leave all as it is (7.4.10)? NULL: it has none, and does. */
bool pdf_dictionary_is_uncrypted(char *values);
/* The next one behind *at, which goes there; PDF_PLAIN, too, when there is none. */
enum pdf_filter pdf_dictionary_filter(const char **at);

#ifdef __cplusplus
}
#endif
