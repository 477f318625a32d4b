/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-cluster/clusterlines.h"

#include <errno.h>
#include <string.h>

#include "lib/format/ascii.h"

/* Between two columns, and where the second of a list begins. */
#define GAP	   2
#define THING_SIZE 16

/* ---- a line, taken apart ---- */

static bool is_key(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool clusterlines_is(struct clusterlines_text value, const char *word)
{
	return value.size == strlen(word) && memcmp(value.bytes, word, value.size) == 0;
}

/* A word begins at *at, before end. false: none does. */
static bool take_word(const char **at, const char *end, struct clusterlines_word *ret_word)
{
	const char *key = *at;
	const char *equals = key;
	while (equals < end && is_key(*equals))
		equals++;
	if (equals == key || equals == end || *equals != '=')
		return false;
	ret_word->key = (struct clusterlines_text){ key, (size_t)(equals - key) };
	const char *value = equals + 1;
	const char *stop = clusterlines_is(ret_word->key, "text")
				   ? NULL
				   : memchr(value, ' ', (size_t)(end - value));
	if (stop == NULL)
		stop = end;
	ret_word->value = (struct clusterlines_text){ value, (size_t)(stop - value) };
	*at = stop < end ? stop + 1 : end;
	return true;
}

int clusterlines_next(const char **text, struct clusterlines_row *ret_row)
{
	const char *at = *text;
	ret_row->count = 0;
	if (*at == '\0')
		return 0;
	const char *end = at + strcspn(at, "\n");
	if (*end == '\0')
		return -EPROTO;
	while (at < end) {
		if (ret_row->count == CLUSTERLINES_WORDS_MAX ||
		    !take_word(&at, end, &ret_row->words[ret_row->count]))
			return -EPROTO;
		ret_row->count++;
	}
	*text = end + 1;
	return 1;
}

bool clusterlines_get(const struct clusterlines_row *row, const char *key,
		      struct clusterlines_text *ret_value)
{
	for (size_t i = 0; i < row->count; i++) {
		if (clusterlines_is(row->words[i].key, key)) {
			*ret_value = row->words[i].value;
			return true;
		}
	}
	return false;
}

bool clusterlines_find(const char *text, const char *key, struct clusterlines_text *ret_value)
{
	struct clusterlines_row row;
	while (clusterlines_next(&text, &row) > 0)
		if (clusterlines_get(&row, key, ret_value))
			return true;
	return false;
}

bool clusterlines_find_number(const char *text, const char *key, uint64_t *ret_number)
{
	struct clusterlines_text value;
	if (!clusterlines_find(text, key, &value))
		return false;
	const int64_t number = ascii_number(value.bytes, value.size, INT64_MAX);
	if (number < 0)
		return false;
	*ret_number = (uint64_t)number;
	return true;
}

/* ---- columns ---- */

struct column {
	struct clusterlines_text key;
	size_t width;
};

struct columns {
	struct column items[CLUSTERLINES_COLUMNS_MAX];
	size_t count;
};

static size_t printed_size(struct clusterlines_text text)
{
	size_t size = 0;
	for (size_t i = 0; i < text.size; i++)
		size += text.bytes[i] >= ' ' && text.bytes[i] < 0x7f ? 1 : 4;
	return size;
}

void clusterlines_print_value(FILE *out, struct clusterlines_text text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.bytes[i] >= ' ' && text.bytes[i] < 0x7f)
			putc(text.bytes[i], out);
		else
			fprintf(out, "\\x%02x", (unsigned char)text.bytes[i]);
	}
}

static struct column *find_column(struct columns *columns, struct clusterlines_text key)
{
	for (size_t i = 0; i < columns->count; i++)
		if (columns->items[i].key.size == key.size &&
		    memcmp(columns->items[i].key.bytes, key.bytes, key.size) == 0)
			return &columns->items[i];
	if (columns->count == CLUSTERLINES_COLUMNS_MAX)
		return NULL;
	struct column *column = &columns->items[columns->count++];
	*column = (struct column){ key, key.size };
	return column;
}

static int measure(const char *text, struct columns *ret_columns)
{
	struct clusterlines_row row;
	int ret;
	ret_columns->count = 0;
	while ((ret = clusterlines_next(&text, &row)) > 0) {
		for (size_t i = 0; i < row.count; i++) {
			struct column *column = find_column(ret_columns, row.words[i].key);
			if (column == NULL)
				return -E2BIG;
			const size_t size = printed_size(row.words[i].value);
			column->width = size > column->width ? size : column->width;
		}
	}
	return ret;
}

int clusterlines_check(const char *text)
{
	struct columns columns;
	return measure(text, &columns);
}

/* Blanks stand between two columns, and none at the end of a line. */
static void print_cell(FILE *out, const struct columns *columns, size_t i,
		       struct clusterlines_text text)
{
	clusterlines_print_value(out, text);
	if (i + 1 < columns->count)
		fprintf(out, "%*s", (int)(columns->items[i].width - printed_size(text) + GAP), "");
	else
		putc('\n', out);
}

void clusterlines_print_table(FILE *out, const char *text)
{
	static const struct clusterlines_text none = { "-", 1 };
	struct columns columns;
	struct clusterlines_row row;
	if (measure(text, &columns) != 0)
		return;
	for (size_t i = 0; i < columns.count; i++)
		print_cell(out, &columns, i, columns.items[i].key);
	while (clusterlines_next(&text, &row) > 0) {
		for (size_t i = 0; row.count > 0 && i < columns.count; i++) {
			struct clusterlines_text value = none;
			for (size_t n = 0; n < row.count; n++)
				if (find_column(&columns, row.words[n].key) == &columns.items[i] &&
				    row.words[n].value.size > 0)
					value = row.words[n].value;
			print_cell(out, &columns, i, value);
		}
	}
}

/* ---- a list ---- */

static void print_rest(FILE *out, const struct clusterlines_row *row, size_t first)
{
	const bool is_alone = row->count - first == 1;
	for (size_t i = first; i < row->count; i++) {
		const struct clusterlines_word *word = &row->words[i];
		if (!is_alone && !clusterlines_is(word->key, "text")) {
			clusterlines_print_value(out, word->key);
			putc('=', out);
		}
		clusterlines_print_value(out, word->value);
		if (i + 1 < row->count)
			putc(' ', out);
	}
	putc('\n', out);
}

void clusterlines_print_list(FILE *out, const char *text)
{
	struct clusterlines_row row;
	while (clusterlines_next(&text, &row) > 0) {
		if (row.count == 0)
			continue;
		const bool is_thing = clusterlines_is(row.words[0].key, "thing");
		const struct clusterlines_text thing =
			is_thing ? row.words[0].value : row.words[0].key;
		const size_t size = printed_size(thing);
		clusterlines_print_value(out, thing);
		fprintf(out, "%*s", (int)(size + GAP > THING_SIZE ? GAP : THING_SIZE - size), "");
		print_rest(out, &row, is_thing ? 1 : 0);
	}
}
