/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/uuencode.h"

#include <string.h>
#include <strings.h>

#include "lib/format/ascii.h"
#include "lib/mstream/head/coding.h"
#include "lib/mstream/mstream.h"

#define LINE64_MAX 320

_Static_assert(BASE64_ROOM(LINE64_MAX) <= UUENCODE_BYTES, "a line has room");

static size_t skip_blanks(const uint8_t *line, size_t size, size_t at)
{
	while (at < size && ascii_is_blank(line[at]))
		at++;
	return at;
}

static bool has_word(const uint8_t *line, size_t size, const char *word)
{
	const size_t word_size = strlen(word);
	return size >= word_size && strncasecmp((const char *)line, word, word_size) == 0;
}

/* Blanks at its end are not a name's. */
static void copy_name(const uint8_t *name, size_t size, bool is_encoded, char *ret_name)
{
	uint8_t bytes[BASE64_ROOM(MSTREAM_NAME_SIZE)];
	while (size > 0 && ascii_is_blank(name[size - 1]))
		size--;
	if (is_encoded && size <= MSTREAM_NAME_SIZE) {
		(void)base64_text(name, size, bytes, &size);
		name = bytes;
	}
	if (size > MSTREAM_NAME_SIZE - 1)
		size = MSTREAM_NAME_SIZE - 1;
	if (size > 0)
		memcpy(ret_name, name, size);
	ret_name[size] = '\0';
}

/* A blank behind the word ends it, so that the shorter ones come last. */
static const struct begin {
	const char *word;
	enum uuencode_form form;
	bool is_encoded; /* the name, as sharutils has it */
} begins[] = {
	{ "begin-base64-encoded", UUENCODE_BASE64, true },
	{ "begin-base64", UUENCODE_BASE64, false },
	{ "begin-encoded", UUENCODE_CLASSIC, true },
	{ "begin", UUENCODE_CLASSIC, false },
};

static const struct begin *find_begin(const uint8_t *line, size_t size)
{
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (has_word(line, size, begins[i].word))
			return &begins[i];
	return NULL;
}

/*
 * The mode has three or four digits, and readers take any number of them. Where it is missing and two
 * blanks are there, some clients take what follows for a name.
 */
enum uuencode_form uuencode_begins(const uint8_t *line, size_t size, bool is_said, char *ret_name)
{
	const struct begin *begin = find_begin(line, size);
	if (begin == NULL)
		return UUENCODE_NONE;
	const size_t word_size = strlen(begin->word);
	const size_t mode_at = skip_blanks(line, size, word_size);
	size_t mode_end = mode_at;
	while (mode_end < size && (is_said ? !ascii_is_blank(line[mode_end])
					   : line[mode_end] >= '0' && line[mode_end] <= '7'))
		mode_end++;
	const size_t name_at = skip_blanks(line, size, mode_end);
	const bool has_mode = mode_at > word_size && mode_end > mode_at &&
			      (name_at > mode_end || name_at == size);
	const bool has_gap = mode_at >= word_size + 2 && mode_at < size;
	if (!has_mode && !has_gap)
		return UUENCODE_NONE;
	const size_t name = has_mode ? name_at : mode_at;
	copy_name(line + name, size - name, begin->is_encoded, ret_name);
	return begin->form;
}

bool uuencode_is_sure(const uint8_t *line, size_t size)
{
	const size_t mode_at = strlen("begin ");
	size_t at = mode_at;
	if (!has_word(line, size, "begin "))
		return false;
	while (at < size && line[at] >= '0' && line[at] <= '7')
		at++;
	return (at == mode_at + 3 || at == mode_at + 4) && at < size && line[at] == ' ';
}

static bool is_end(const uint8_t *line, size_t size)
{
	return size >= 3 && has_word(line, size, "end") && skip_blanks(line, size, 3) == size;
}

/* Six bits of a character; of one that is missing, as a blank was lost, none. */
static uint32_t get_sextet(const uint8_t *line, size_t size, size_t at, bool *is_odd)
{
	if (at >= size)
		return 0;
	if (line[at] < ' ' || line[at] > '`')
		*is_odd = true;
	return (uint32_t)(line[at] - ' ') & 077;
}

/* A character behind the data may be a checksum. */
static bool is_too_long(const uint8_t *line, size_t size, size_t needed)
{
	while (size > 0 && ascii_is_blank(line[size - 1]))
		size--;
	return size > needed + 2;
}

void uuencode_take(const uint8_t *line, size_t size, struct uuencode_line *ret_line)
{
	bool is_odd = false;
	ret_line->size = 0;
	ret_line->is_odd = false;
	ret_line->is_full = false;
	ret_line->kind = size == 0	      ? UUENCODE_BLANK
			 : is_end(line, size) ? UUENCODE_END
					      : UUENCODE_DATA;
	if (ret_line->kind != UUENCODE_DATA)
		return;
	const size_t count = get_sextet(line, size, 0, &is_odd);
	if (count == 0)
		ret_line->kind =
			skip_blanks(line, size, 0) < size ? UUENCODE_EMPTY : UUENCODE_BLANK;
	size_t at = 1;
	for (; ret_line->size < count; at += 4) {
		uint32_t group = 0;
		for (size_t i = 0; i < 4; i++)
			group = group << 6 | get_sextet(line, size, at + i, &is_odd);
		for (unsigned i = 0; i < 3 && ret_line->size < count; i++)
			ret_line->bytes[ret_line->size++] = (uint8_t)(group >> (16 - 8 * i));
	}
	ret_line->is_odd = is_odd || is_too_long(line, size, at);
	ret_line->is_full = count > 0 && size >= at && !is_too_long(line, size, at);
}

void uuencode_take64(const uint8_t *line, size_t size, struct uuencode_line *ret_line)
{
	ret_line->size = 0;
	ret_line->is_odd = size >= LINE64_MAX; /* more of it was not kept */
	ret_line->kind = size == 0				     ? UUENCODE_BLANK
			 : size >= 4 && has_word(line, size, "====") ? UUENCODE_END
								     : UUENCODE_DATA;
	if (ret_line->kind != UUENCODE_DATA)
		return;
	const size_t most = size < LINE64_MAX ? size : LINE64_MAX;
	const uint8_t *pad = memchr(line, '=', most);
	if (base64_text(line, pad != NULL ? (size_t)(pad - line) : most, ret_line->bytes,
			&ret_line->size) != CODING_NONE)
		ret_line->is_odd = true;
}
