/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_dictionary.h"

#include <string.h>

#include "lib/format/hex.h"

#define BLANKS	   " \t\r\n\f"
#define DIGITS	   "0123456789"
#define VALUE_ENDS "/[]<>(" PDF_INNER
#define NAME_ENDS  BLANKS VALUE_ENDS

/* ---- words ---- */

/* Is what stands before at the end of a dictionary, but for blanks, and comments on lines before? */
static bool is_behind_dictionary(const uint8_t *text, size_t at)
{
	bool is_clear = true; /* of the line, what is behind at are blanks, or a comment */
	bool is_first = true;
	for (; at > 0; at--) {
		const uint8_t byte = text[at - 1];
		if (byte == '\r' || byte == '\n') {
			if (!is_clear)
				return false;
			is_first = false;
		} else if (byte == '%' && !is_first) {
			is_clear = true;
		} else if (is_clear && byte == '>' && at > 1 && text[at - 2] == '>') {
			return true;
		} else if (!pdf_is_space(byte)) {
			is_clear = false;
		}
	}
	return false;
}

bool pdf_ends_with_stream(const uint8_t *text, size_t size)
{
	static const char word[] = "stream";
	const size_t word_size = sizeof(word) - 1;
	return size >= word_size + 2 && memcmp(text + size - word_size, word, word_size) == 0 &&
	       is_behind_dictionary(text, size - word_size);
}

/* ---- a copy without what does not count ---- */

/* "0 obj", with or without the blank, and no part of a name. */
static bool is_begin(const uint8_t *text, size_t size, size_t at)
{
	return at > 0 && size - at >= 3 && memcmp(text + at, "obj", 3) == 0 &&
	       (pdf_is_space(text[at - 1]) || (text[at - 1] >= '0' && text[at - 1] <= '9'));
}

/* Of a string, which is a value, the begin stays. */
static uint8_t take_string(struct pdf_place *place, uint8_t byte)
{
	const bool is_first = place->parentheses == 0;
	if (place->is_escaped || byte == '\\')
		place->is_escaped = !place->is_escaped;
	else if (byte == '(')
		place->parentheses++;
	else if (byte == ')')
		place->parentheses--;
	return is_first ? '(' : ' ';
}

/* What stands for the byte in the copy. */
static uint8_t take_byte(struct pdf_place *place, uint8_t byte)
{
	if (place->is_comment) {
		place->is_comment = byte != '\r' && byte != '\n';
		return ' ';
	}
	if (place->parentheses > 0 || byte == '(')
		return take_string(place, byte);
	if (byte == '%') {
		place->is_comment = true;
		return ' ';
	}
	if (byte == '<')
		place->angles++;
	else if (byte == '>' && place->angles > 0)
		place->angles--;
	return byte == '/' && place->angles > 2 ? (uint8_t)PDF_INNER[0] : byte;
}

/* Names as they are meant (7.3.5): #46 is F, but never the end of a name. */
static uint8_t take_escape(const uint8_t *text, size_t left)
{
	const int value = text[0] == '#' && left >= 3 ? hex_pair(text + 1) : -1;
	const uint8_t byte = value >= 0 ? (uint8_t)value : 0;
	if (value < 0)
		return '\0';
	return pdf_is_space(byte) || pdf_is_delimiter(byte) ? '?' : byte;
}

bool pdf_has_name(const uint8_t *text, size_t size, const char *name)
{
	const uint8_t *end = text + size;
	const uint8_t *at = text;
	while ((at = memchr(at, '/', (size_t)(end - at))) != NULL) {
		const char *left = name + 1;
		for (at++; at < end && *left != '\0'; left++) {
			const uint8_t escaped = take_escape(at, (size_t)(end - at));
			if ((escaped != '\0' ? escaped : *at) != (uint8_t)*left)
				break;
			at += escaped != '\0' ? 3 : 1;
		}
		if (*left == '\0' && at < end && (pdf_is_space(*at) || pdf_is_delimiter(*at)))
			return true;
	}
	return false;
}

/* From a byte on. *ret_begin: behind the last begin of an object; 0: there is none. The size of the copy. */
static size_t copy_from(const uint8_t *text, size_t begin, size_t size, struct pdf_place *place,
			struct pdf_place *ret_middle, size_t *ret_begin, char *ret_text)
{
	size_t count = 0;
	*ret_begin = 0;
	for (size_t at = begin; at < size; at++) {
		if (at <= PDF_TEXT_SIZE / 2)
			*ret_middle = *place;
		const bool is_plain = place->parentheses == 0 && !place->is_comment;
		if (is_plain && is_begin(text, size, at)) {
			memset(place, 0, sizeof(*place));
			place->is_object = true;
			*ret_begin = at + 3;
			count = 0;
		}
		const uint8_t escaped = is_plain ? take_escape(text + at, size - at) : '\0';
		const uint8_t byte = escaped != '\0' ? escaped : take_byte(place, text[at]);
		if (at >= *ret_begin)
			ret_text[count++] = byte != '\0' ? (char)byte : ' ';
		at += escaped != '\0' ? 2 : 0;
	}
	ret_text[count] = '\0';
	return count;
}

/* Does it end with the dictionary of an object? */
static bool is_closed(const char *text, size_t size, const struct pdf_place *place)
{
	while (size > 0 && pdf_is_space((uint8_t)text[size - 1]))
		size--;
	return size > 0 && text[size - 1] == '>' && place->parentheses == 0 && place->is_object;
}

/*
 * What stands between objects, where readers do not look, may begin a string that never ends: then
 * the last begin of an object counts, wherever it seems to be.
 */
bool pdf_dictionary_copy(const uint8_t *text, size_t size, struct pdf_place *place, bool is_whole,
			 char *ret_text)
{
	struct pdf_place end = *place;
	struct pdf_place middle = *place;
	size_t begin = 0;
	size_t last = size;
	const size_t count = copy_from(text, 0, size, &end, place, &begin, ret_text);
	if (!is_whole || is_closed(ret_text, count, &end))
		return begin > 0;
	while (last > 0 && !is_begin(text, size, last))
		last--;
	if (last == 0)
		return begin > 0;
	memset(&end, 0, sizeof(end));
	copy_from(text, last + 3, size, &end, &middle, &begin, ret_text);
	return true;
}

/* ---- what it says ---- */

const char *pdf_dictionary_find(const char *dictionary, const char *name)
{
	const size_t size = strlen(name);
	for (const char *at = strstr(dictionary, name); at != NULL; at = strstr(at + 1, name)) {
		const uint8_t next = (uint8_t)at[size];
		if (pdf_is_space(next) || pdf_is_delimiter(next))
			return at;
	}
	return NULL;
}

uint64_t pdf_dictionary_number(const char *dictionary, const char *name)
{
	const char *at = pdf_dictionary_find(dictionary, name);
	uint64_t number = 0;
	if (at == NULL)
		return 0;
	at += strlen(name);
	while (pdf_is_space((uint8_t)*at) && *at != '\0')
		at++;
	for (; *at >= '0' && *at <= '9'; at++)
		number = number < UINT32_MAX ? number * 10 + (uint64_t)(*at - '0') : number;
	while (pdf_is_space((uint8_t)*at) && *at != '\0')
		at++;
	return *at >= '0' && *at <= '9' ? 0 : number;
}

/* Of what begins with a bracket. */
static size_t bracket_size(const char *text, char begin, char end)
{
	size_t at = 0;
	for (unsigned depth = 0; text[at] != '\0'; at++) {
		if (text[at] == begin)
			depth++;
		else if (text[at] == end && --depth == 0)
			break;
	}
	return at;
}

size_t pdf_dictionary_size(const char *value)
{
	if (*value == '[')
		return bracket_size(value, '[', ']');
	if (*value == '<')
		return bracket_size(value, '<', '>');
	return *value == '/' ? 1 + strcspn(value + 1, NAME_ENDS) : 0;
}

/*
 * Of a key of its own, the last as most readers have it, up to the end of the dictionary. A name may be a key or a
 * value, which follow each other. NULL: there is none, or it is a null.
 */
static char *value_of(char *dictionary, const char *name)
{
	const size_t name_size = strlen(name);
	char *value = NULL;
	bool has_key = false;
	for (char *at = dictionary; *at != '\0';) {
		const size_t size = *at == '/' || *at == '[' ? pdf_dictionary_size(at) : 1;
		const bool is_key = *at == '/' && !has_key;
		has_key = is_key || (has_key && pdf_is_space((uint8_t)*at));
		if (is_key && size == name_size && memcmp(at, name, name_size) == 0)
			value = at + size;
		at += size;
	}
	value = value != NULL ? value + strspn(value, BLANKS) : NULL;
	return value != NULL && *value != 'n' ? value : NULL;
}

bool pdf_dictionary_has(char *dictionary, const char *key, const char *name)
{
	const char *value = value_of(dictionary, key);
	const size_t size = strlen(name);
	return value != NULL && pdf_dictionary_size(value) == size &&
	       memcmp(value, name, size) == 0;
}

static size_t skip_value(const char *text)
{
	size_t size = pdf_dictionary_size(text);
	if (size == 0)
		size = strcspn(text, NAME_ENDS);
	else if (*text != '/' && text[size] != '\0')
		size++;
	if (size == 0)
		size = *text != '\0' ? 1 : 0;
	return size + strspn(text + size, BLANKS);
}

/* As readers have it: an array for an array, and a value for a name. */
char *pdf_dictionary_parameters(char *values, const char *filters, const char *filter)
{
	if (values == NULL || (*filters == '[') != (*values == '['))
		return NULL;
	if (*filters != '[')
		return values;
	filters += 1 + strspn(filters + 1, BLANKS);
	values += 1 + strspn(values + 1, BLANKS);
	while (filters < filter && *values != '\0' && *values != ']') {
		filters += skip_value(filters);
		values += skip_value(values);
	}
	return *values == '<' || (*values >= '0' && *values <= '9') ? values : NULL;
}

bool pdf_dictionary_is_elsewhere(const char *value)
{
	unsigned numbers = 0;
	while (*value != '\0') {
		const size_t size = strspn(value, DIGITS);
		if (*value == 'R' && numbers >= 2)
			return true;
		numbers = size > 0 ? numbers + 1 : 0;
		value += size > 0 ? size : 1;
		value += strspn(value, BLANKS);
	}
	return false;
}

/* What may be filters: /F may be a file, too. */
static bool may_be_filters(const char *value)
{
	return *value == '/' || *value == '[' || (*value >= '0' && *value <= '9');
}

const char *pdf_dictionary_filters(char *dictionary, bool *is_long)
{
	char *value = value_of(dictionary, "/Filter");
	*is_long = *is_long || value != NULL;
	if (value == NULL && !*is_long)
		value = value_of(dictionary, "/F");
	if (value == NULL || (!*is_long && !may_be_filters(value)))
		return NULL;
	const size_t size = pdf_dictionary_size(value);
	value[size > 0 ? size : strcspn(value, VALUE_ENDS)] = '\0';
	return value;
}

char *pdf_dictionary_all_parameters(char *dictionary)
{
	char *values = value_of(dictionary, "/DecodeParms");
	return values != NULL ? values : value_of(dictionary, "/DP");
}

bool pdf_dictionary_is_uncrypted(char *values)
{
	static const char key[] = PDF_INNER "Name";
	static const char none[] = PDF_INNER "Identity";
	if (values == NULL)
		return true;
	const size_t size = pdf_dictionary_size(values);
	char *end = values + (size > 0 ? size : strcspn(values, VALUE_ENDS));
	const char kept = *end;
	*end = '\0';
	bool is_none = !pdf_dictionary_is_elsewhere(values);
	for (const char *at = values; (at = strstr(at, key)) != NULL;) {
		at += sizeof(key) - 1;
		if (strcspn(at, NAME_ENDS) > 0)
			continue;
		at += strspn(at, BLANKS);
		is_none = is_none && strncmp(at, none, sizeof(none) - 1) == 0 &&
			  strcspn(at + sizeof(none) - 1, NAME_ENDS) == 0;
	}
	*end = kept;
	return is_none;
}

enum pdf_filter pdf_dictionary_filter(const char **at)
{
	static const struct {
		const char *name;
		enum pdf_filter filter;
	} filters[] = {
		{ "/ASCIIHexDecode", PDF_HEX },	   { "/AHx", PDF_HEX },
		{ "/ASCII85Decode", PDF_ASCII85 }, { "/A85", PDF_ASCII85 },
		{ "/FlateDecode", PDF_FLATE },	   { "/Fl", PDF_FLATE },
		{ "/RunLengthDecode", PDF_RUNS },  { "/RL", PDF_RUNS },
		{ "/LZWDecode", PDF_LZW },	   { "/LZW", PDF_LZW },
	};
	const char *first = NULL;
	enum pdf_filter filter = PDF_PLAIN;
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		const char *found = pdf_dictionary_find(*at, filters[i].name);
		if (found == NULL || (first != NULL && first < found))
			continue;
		first = found;
		filter = filters[i].filter;
	}
	*at = first != NULL ? first + 1 : *at;
	return filter;
}
