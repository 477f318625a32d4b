/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/head/mimehead.h"

#include "lib/format/ascii.h"
#include "lib/wire/word.h"

#include <string.h>

static const char *const field_names[MIMEHEAD_FIELD_COUNT] = {
	[MIMEHEAD_TYPE] = "content-type",
	[MIMEHEAD_CODING] = "content-transfer-encoding",
	[MIMEHEAD_DISPOSITION] = "content-disposition",
};

/* Files in text are looked for in whatever is identity: so the last are that as well. */
static const struct {
	const char *name;
	enum mstream_coding coding;
	bool is_uuencode;
} codings[] = {
	{ "7bit", MSTREAM_IDENTITY, false },
	{ "8bit", MSTREAM_IDENTITY, false },
	{ "binary", MSTREAM_IDENTITY, false },
	{ "base64", MSTREAM_BASE64, false },
	{ "quoted-printable", MSTREAM_QUOTED_PRINTABLE, false },
	{ "x-uuencode", MSTREAM_IDENTITY, true },
	{ "x-uue", MSTREAM_IDENTITY, true },
	{ "uuencode", MSTREAM_IDENTITY, true },
	{ "uue", MSTREAM_IDENTITY, true },
	{ "x-yenc", MSTREAM_IDENTITY, false },
	{ "mac-binhex40", MSTREAM_IDENTITY, false },
};

/* ---- bytes ---- */

struct span {
	const uint8_t *bytes;
	size_t size;
};

/* Some readers take each control character for a blank. */
static bool is_blank(uint8_t byte)
{
	return byte <= ' ';
}

static struct span trim(struct span span)
{
	while (span.size > 0 && is_blank(span.bytes[0])) {
		span.bytes++;
		span.size--;
	}
	while (span.size > 0 && is_blank(span.bytes[span.size - 1]))
		span.size--;
	return span;
}

static struct span behind(struct span span, size_t at)
{
	return trim((struct span){ span.bytes + at, span.size - at });
}

/* Of a comment, that begins with "(", with its end: all of span when it has none. */
static size_t comment_size(struct span span)
{
	size_t depth = 0;
	for (size_t i = 0; i < span.size; i++) {
		if (span.bytes[i] == '\\')
			i++;
		else if (span.bytes[i] == '(')
			depth++;
		else if (span.bytes[i] == ')' && --depth == 0)
			return i + 1;
	}
	return span.size;
}

/* Without blanks and comments at its start. */
static struct span skip_comments(struct span span)
{
	span = trim(span);
	while (span.size > 0 && span.bytes[0] == '(')
		span = behind(span, comment_size(span));
	return span;
}

bool mimehead_begins(const char *type, const char *word)
{
	return strncmp(type, word, strlen(word)) == 0;
}

static void odd(struct mimehead *head, enum mstream_oddity oddity)
{
	head->oddities = (uint16_t)(head->oddities | 1U << oddity);
}

/* ---- Content-Type's first segment ---- */

/* RFC 2045, 5.1. */
static bool is_token_byte(uint8_t byte)
{
	return byte > ' ' && byte < 0x7f && strchr("()<>@,;:\\\"/[]?=", byte) == NULL;
}

static bool is_type(const char *text)
{
	const char *slash = strchr(text, '/');
	if (slash == NULL || slash == text || slash[1] == '\0')
		return false;
	for (const char *at = text; *at != '\0'; at++) {
		if (at != slash && !is_token_byte((uint8_t)*at))
			return false;
	}
	return true;
}

/* "multipart / mixed (comment) rest": the type without blanks to ret_text. Returns the rest. */
static struct span read_type(struct span span, char *ret_text, bool *ret_has_blank)
{
	size_t put = 0;
	bool has_slash = false;
	*ret_has_blank = false;
	span = skip_comments(span);
	while (span.size > 0) {
		const bool is_joined =
			span.bytes[0] == '/' || (has_slash && put > 0 && ret_text[put - 1] == '/');
		if (put > 0 && *ret_has_blank && !is_joined)
			break;
		*ret_has_blank = false;
		has_slash = has_slash || span.bytes[0] == '/';
		if (put < MSTREAM_TYPE_SIZE - 1)
			ret_text[put++] = (char)ascii_lower(span.bytes[0]);
		const struct span next = { span.bytes + 1, span.size - 1 };
		span = skip_comments(next);
		*ret_has_blank = span.bytes != next.bytes;
	}
	ret_text[put] = '\0';
	return span;
}

static void take_param(struct mimehead *head, struct span span);

static void take_type(struct mimehead *head, struct span span)
{
	char *type = head->types[head->type];
	bool has_blank;
	const struct span rest = read_type(span, type, &has_blank);
	if (!is_type(type)) {
		odd(head, MSTREAM_BAD_FIELD);
		const bool is_multipart = mimehead_begins(type, "multipart");
		memcpy(type, is_multipart ? "multipart/mixed" : "text/plain",
		       is_multipart ? sizeof("multipart/mixed") : sizeof("text/plain"));
	}
	if (rest.size > 0) {
		odd(head, MSTREAM_BAD_FIELD);
		take_param(head, rest); /* a semicolon may be missing */
	}
}

/* ---- Content-Transfer-Encoding ---- */

static void add_coding(struct mimehead *head, enum mstream_coding coding)
{
	for (unsigned i = 0; i < head->coding_count; i++) {
		if (head->codings[i] == coding)
			return;
	}
	if (head->coding_count < MIMEHEAD_CODINGS)
		head->codings[head->coding_count++] = (uint8_t)coding;
}

static void take_coding(struct mimehead *head, struct span span)
{
	span = skip_comments(span);
	size_t size = 0;
	while (size < span.size && !is_blank(span.bytes[size]) && span.bytes[size] != '(')
		size++;
	const bool is_alone = skip_comments(behind(span, size)).size == 0;
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
		if (!is_alone || !word_is((const char *)span.bytes, size, codings[i].name))
			continue;
		add_coding(head, codings[i].coding);
		head->is_uuencode = head->is_uuencode || codings[i].is_uuencode;
		return;
	}
	/* Taken as no coding by those that follow RFC 2045, 6.4, and guessed by others. */
	odd(head, MSTREAM_BAD_CODING);
	add_coding(head, MSTREAM_IDENTITY);
	add_coding(head, MSTREAM_BASE64);
	add_coding(head, MSTREAM_QUOTED_PRINTABLE);
}

/* ---- parameters ---- */

struct param {
	struct span name; /* without its stars */
	struct span value;
	bool has_star; /* RFC 2231 */
	bool is_extended;
	bool is_section;
	unsigned section;
};

/* "filename*1*": the name and what its stars say. */
static void read_stars(struct param *param)
{
	const uint8_t *star = memchr(param->name.bytes, '*', param->name.size);
	if (star == NULL)
		return;
	const uint8_t *end = param->name.bytes + param->name.size;
	param->name.size = (size_t)(star - param->name.bytes);
	param->has_star = true;
	param->is_extended = end[-1] == '*';
	for (star++; star < end && *star >= '0' && *star <= '9'; star++) {
		param->is_section = true;
		if (param->section < 100000)
			param->section = param->section * 10 + (unsigned)(*star - '0');
	}
}

static bool read_param(struct span span, struct param *ret_param)
{
	memset(ret_param, 0, sizeof(*ret_param));
	span = skip_comments(span);
	const uint8_t *equals = span.size > 0 ? memchr(span.bytes, '=', span.size) : NULL;
	if (equals == NULL || equals == span.bytes)
		return false;
	const size_t at = (size_t)(equals - span.bytes);
	ret_param->name = trim((struct span){ span.bytes, at });
	ret_param->value = skip_comments(behind(span, at + 1));
	read_stars(ret_param);
	return true;
}

/* As RFC 2045 has it. ret_bytes has MIMEHEAD_TEXT_SIZE. is_odd: something is behind it. */
static size_t read_strictly(struct span value, uint8_t *ret_bytes, bool *ret_is_odd)
{
	size_t put = 0;
	size_t at = 0;
	if (value.size == 0 || value.bytes[0] != '"') {
		while (at < value.size && !is_blank(value.bytes[at]) && value.bytes[at] != '(')
			ret_bytes[put++] = value.bytes[at++];
	} else {
		for (at = 1; at < value.size && value.bytes[at] != '"'; at++) {
			if (value.bytes[at] == '\\' && at + 1 < value.size)
				at++;
			ret_bytes[put++] = value.bytes[at];
		}
		at += at < value.size;
	}
	*ret_is_odd = skip_comments(behind(value, at)).size > 0;
	return put;
}

/* As it stands there, without the quotes around it: some readers take them away twice. */
static struct span read_loosely(struct span value)
{
	const uint8_t quote = value.size > 0 ? value.bytes[0] : '\0';
	if (quote != '"' && quote != '\'')
		return value;
	while (value.size > 0 && value.bytes[0] == quote) {
		value.bytes++;
		value.size--;
		size_t end = value.size;
		while (end > 0 && value.bytes[end - 1] != quote)
			end--;
		if (end > 0)
			value.size = end - 1;
	}
	return value;
}

static bool has_boundary(const struct mimehead *head, const uint8_t *bytes, size_t size)
{
	for (unsigned i = 0; i < head->boundary_count; i++) {
		const struct mimehead_boundary *one = &head->boundaries[i];
		if (one->type == head->type && one->size == size &&
		    memcmp(head->boundary_bytes + one->at, bytes, size) == 0)
			return true;
	}
	return false;
}

static size_t boundary_used(const struct mimehead *head)
{
	if (head->boundary_count == 0)
		return 0;
	const struct mimehead_boundary *last = &head->boundaries[head->boundary_count - 1];
	return (size_t)last->at + last->size;
}

static void add_boundary(struct mimehead *head, struct span text, uint32_t next_section)
{
	while (next_section == 0 && text.size > 0 && is_blank(text.bytes[text.size - 1]))
		text.size--;
	const size_t used = boundary_used(head);
	if (text.size == 0 || text.size > MSTREAM_BOUNDARY_MAX)
		odd(head, MSTREAM_BAD_BOUNDARY);
	/* Then a delimiter is a line with more behind it. */
	if (text.size > MSTREAM_BOUNDARY_MAX)
		text.size = MSTREAM_BOUNDARY_MAX;
	if (has_boundary(head, text.bytes, text.size))
		return;
	for (unsigned i = 0; i < head->boundary_count; i++) {
		if (head->boundaries[i].type == head->type)
			odd(head, MSTREAM_BAD_BOUNDARY);
	}
	if (head->boundary_count == MIMEHEAD_BOUNDARIES ||
	    text.size > sizeof(head->boundary_bytes) - used) {
		odd(head, MSTREAM_TOO_ODD);
		return;
	}
	if (text.size > 0)
		memcpy(head->boundary_bytes + used, text.bytes, text.size);
	head->boundaries[head->boundary_count++] = (struct mimehead_boundary){
		.at = (uint16_t)used,
		.size = (uint16_t)text.size,
		.type = head->type,
		.next_section = next_section,
	};
}

/*
 * Another section of the boundary that was the last. False: it was none. In another order than that of
 * their numbers the first stays alone: it is how lines begin for readers that sort them.
 */
static bool go_on_boundary(struct mimehead *head, struct span text, uint32_t section)
{
	if (head->boundary_count == 0)
		return false;
	struct mimehead_boundary *last = &head->boundaries[head->boundary_count - 1];
	const size_t used = boundary_used(head);
	if (last->next_section == 0 || last->type != head->type)
		return false;
	if (last->next_section != section)
		return true;
	last->next_section++;
	if (last->size + text.size > MSTREAM_BOUNDARY_MAX ||
	    text.size > sizeof(head->boundary_bytes) - used) {
		odd(head, MSTREAM_BAD_BOUNDARY);
		return true;
	}
	memcpy(head->boundary_bytes + used, text.bytes, text.size);
	last->size = (uint16_t)(last->size + text.size);
	return true;
}

/* charset'language'text: the charset, and the text (RFC 2231, 4). */
static struct span read_extended(struct span text, enum partname_charset *ret_charset)
{
	const uint8_t *one = text.size > 0 ? memchr(text.bytes, '\'', text.size) : NULL;
	const uint8_t *end = text.bytes + text.size;
	const uint8_t *two = one != NULL ? memchr(one + 1, '\'', (size_t)(end - one) - 1) : NULL;
	*ret_charset = PARTNAME_UTF_8;
	if (two == NULL)
		return text;
	*ret_charset = partname_charset(text.bytes, (size_t)(one - text.bytes));
	return (struct span){ two + 1, (size_t)(end - two) - 1 };
}

/*
 * Readers in C stop at a NUL, and without quotes some do at a byte that is of no token but common in
 * none that is meant.
 */
static struct span cut_token(struct span strict, bool is_quoted)
{
	const char *ends = is_quoted ? "" : "\",\\";
	size_t size = 0;
	while (size < strict.size && strict.bytes[size] != '\0' &&
	       strchr(ends, strict.bytes[size]) == NULL)
		size++;
	return (struct span){ strict.bytes, size };
}

/* With encoded words undone, which RFC 2047 forbids there, and without NULs. */
static void add_decoded(struct mimehead *head, struct span strict)
{
	struct partname decoded;
	if (memchr(strict.bytes, '\0', strict.size) == NULL &&
	    memmem(strict.bytes, strict.size, "=?", 2) == NULL)
		return;
	partname_begin(&decoded);
	partname_add_words(&decoded, strict.bytes, strict.size);
	partname_finish(&decoded);
	/* Both make it shorter, and so does what is cut of a long one. */
	if (decoded.size < strict.size && strict.size < MSTREAM_NAME_SIZE)
		add_boundary(head, (struct span){ (const uint8_t *)decoded.text, decoded.size }, 0);
}

/* Each run of blanks as one: so some readers undo a folding. */
static void add_unfolded(struct mimehead *head, struct span strict)
{
	uint8_t bytes[MIMEHEAD_TEXT_SIZE];
	size_t size = 0;
	for (size_t i = 0; i < strict.size; i++) {
		const bool is_space = ascii_is_blank(strict.bytes[i]);
		if (!is_space || size == 0 || bytes[size - 1] != ' ')
			bytes[size++] = is_space ? ' ' : strict.bytes[i];
	}
	add_boundary(head, (struct span){ bytes, size }, 0);
}

static void take_boundary(struct mimehead *head, const struct param *param, struct span strict,
			  struct span loose)
{
	struct partname decoded;
	if (!param->has_star) {
		const bool is_quoted = param->value.size > 0 && param->value.bytes[0] == '"';
		const struct span token = cut_token(strict, is_quoted);
		add_boundary(head, strict, 0);
		add_boundary(head, loose, 0);
		if (token.size > 0)
			add_boundary(head, token, 0);
		add_boundary(head, trim(strict), 0);
		add_unfolded(head, strict);
		add_decoded(head, strict);
		return;
	}
	odd(head, MSTREAM_BAD_FIELD); /* nothing writes a boundary like that in good faith */
	if (param->is_extended) {
		enum partname_charset charset;
		if (!param->is_section || param->section == 0)
			strict = read_extended(strict, &charset);
		partname_begin(&decoded);
		partname_add_percent(&decoded, PARTNAME_UTF_8, strict.bytes, strict.size);
		strict = (struct span){ (const uint8_t *)decoded.text, decoded.size };
	}
	if (param->is_section && param->section > 0 && go_on_boundary(head, strict, param->section))
		return;
	add_boundary(head, strict, param->is_section ? param->section + 1 : 0);
}

/* Of two names the one that readers prefer: filename before name, and with a star before without. */
static void take_name(struct mimehead *head, const struct param *param, struct span text,
		      bool is_filename)
{
	const uint8_t rank = (uint8_t)((is_filename ? 3 : 1) + param->has_star);
	const bool goes_on = param->is_section && param->section > 0 && rank == head->name_rank;
	if (rank <= head->name_rank && !goes_on)
		return;
	if (!goes_on) {
		partname_begin(&head->name);
		head->name_rank = rank;
	}
	if (!param->has_star) {
		partname_add_words(&head->name, text.bytes, text.size);
		return;
	}
	if (!param->is_extended) {
		partname_add(&head->name, PARTNAME_UTF_8, text.bytes, text.size);
		return;
	}
	if (!goes_on) {
		enum partname_charset charset;
		text = read_extended(text, &charset);
		head->name_charset = (uint8_t)charset;
	}
	partname_add_percent(&head->name, (enum partname_charset)head->name_charset, text.bytes,
			     text.size);
}

static bool span_is(struct span span, const char *word)
{
	return word_is((const char *)span.bytes, span.size, word);
}

static void take_param(struct mimehead *head, struct span span)
{
	struct param param;
	uint8_t bytes[MIMEHEAD_TEXT_SIZE];
	bool is_odd;
	if (!read_param(span, &param))
		return;
	const bool is_boundary = span_is(param.name, "boundary");
	const bool is_filename = span_is(param.name, "filename");
	if (!is_boundary && !is_filename && !span_is(param.name, "name"))
		return;
	const struct span strict = { bytes, read_strictly(param.value, bytes, &is_odd) };
	const struct span loose = read_loosely(param.value);
	if (is_boundary && head->field == MIMEHEAD_TYPE)
		take_boundary(head, &param, strict, loose);
	if (!is_boundary)
		take_name(head, &param,
			  param.value.size > 0 && param.value.bytes[0] == '"' ? strict : loose,
			  is_filename);
}

/* ---- segments of a field ---- */

static void take_segment(struct mimehead *head, struct span span)
{
	const bool is_first = head->is_first;
	head->is_first = false;
	if (head->field == MIMEHEAD_CODING) {
		if (is_first)
			take_coding(head, span);
	} else if (!is_first) {
		take_param(head, span);
	} else if (head->field == MIMEHEAD_TYPE) {
		take_type(head, span);
	}
}

static void flush(struct mimehead *head)
{
	if (head->is_cut)
		odd(head, MSTREAM_LONG_FIELD);
	take_segment(head, (struct span){ head->text, head->text_size });
	head->text_size = 0;
	head->is_cut = false;
}

static void append(struct mimehead *head, uint8_t byte)
{
	if (head->text_size < sizeof(head->text))
		head->text[head->text_size++] = byte;
	else
		head->is_cut = true;
}

/* A "(" amid a word is a part of it: a name such as "a(1).zip" without quotes is common. */
static bool is_comment_start(const struct mimehead *head)
{
	return head->text_size == 0 || is_blank(head->text[head->text_size - 1]);
}

static void take_byte(struct mimehead *head, uint8_t byte)
{
	if (head->is_escaped) {
		head->is_escaped = false;
	} else if (head->is_quoted) {
		head->is_escaped = byte == '\\';
		head->is_quoted = byte != '"';
	} else if (head->comment_depth > 0) {
		head->is_escaped = byte == '\\';
		if (byte == '(' && head->comment_depth < UINT16_MAX)
			head->comment_depth++;
		else if (byte == ')')
			head->comment_depth--;
	} else if (byte == ';') {
		flush(head);
		return;
	} else if (byte == '"') {
		head->is_quoted = true;
	} else if (byte == '(' && is_comment_start(head)) {
		head->comment_depth = 1;
	}
	append(head, byte);
}

void mimehead_value(struct mimehead *head, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		take_byte(head, bytes[i]);
}

/* A quote or a comment has no end: readers that do not look for it cut at each semicolon. */
static void flush_open(struct mimehead *head)
{
	uint8_t bytes[MIMEHEAD_TEXT_SIZE];
	struct span rest = { bytes, head->text_size };
	memcpy(bytes, head->text, rest.size);
	odd(head, MSTREAM_BAD_FIELD);
	if (head->is_cut)
		odd(head, MSTREAM_LONG_FIELD);
	while (rest.size > 0) {
		const uint8_t *semicolon = memchr(rest.bytes, ';', rest.size);
		const size_t size =
			semicolon != NULL ? (size_t)(semicolon - rest.bytes) : rest.size;
		take_segment(head, (struct span){ rest.bytes, size });
		rest.bytes += size;
		rest.size -= size;
		if (semicolon != NULL) {
			rest.bytes++;
			rest.size--;
		}
	}
	head->text_size = 0;
}

void mimehead_close(struct mimehead *head)
{
	if (head->is_quoted || head->comment_depth > 0)
		flush_open(head);
	else
		flush(head);
}

/* ---- the header ---- */

void mimehead_begin(struct mimehead *head, bool is_digest)
{
	head->oddities = 0;
	head->type_count = 0;
	head->boundary_count = 0;
	head->is_uuencode = false;
	head->coding_count = 0;
	head->is_digest = is_digest;
	head->name_rank = 0;
	head->name_charset = PARTNAME_UTF_8;
	head->text_size = 0;
	memset(head->has_field, 0, sizeof(head->has_field));
	partname_begin(&head->name);
}

/* Of more than two the first and the last: those between are what few readers take. */
static void open_type(struct mimehead *head)
{
	if (head->type_count < MIMEHEAD_TYPES)
		head->type = head->type_count++;
	else
		odd(head, MSTREAM_TOO_ODD);
	while (head->type > 0 && head->boundary_count > 0 &&
	       head->boundaries[head->boundary_count - 1].type == head->type)
		head->boundary_count--;
}

bool mimehead_open(struct mimehead *head, const uint8_t *name, size_t name_size)
{
	const struct span span = trim((struct span){ name, name_size });
	unsigned field = 0;
	while (field < MIMEHEAD_FIELD_COUNT && !span_is(span, field_names[field]))
		field++;
	if (field == MIMEHEAD_FIELD_COUNT)
		return false;
	if (span.size != name_size)
		odd(head, MSTREAM_BAD_FIELD);
	if (head->has_field[field] && field != MIMEHEAD_DISPOSITION)
		odd(head, MSTREAM_TWO_TYPES);
	head->has_field[field] = true;
	head->field = (uint8_t)field;
	if (field == MIMEHEAD_TYPE)
		open_type(head);
	head->is_first = true;
	head->is_quoted = false;
	head->is_escaped = false;
	head->is_cut = false;
	head->comment_depth = 0;
	head->text_size = 0;
	return true;
}

bool mimehead_has_field(const struct mimehead *head)
{
	bool has_one = false;
	for (unsigned i = 0; i < MIMEHEAD_FIELD_COUNT; i++)
		has_one = has_one || head->has_field[i];
	return has_one;
}

void mimehead_finish(struct mimehead *head)
{
	if (head->type_count == 0) {
		const char *type = head->is_digest ? "message/rfc822" : "text/plain";
		memcpy(head->types[0], type, strlen(type) + 1);
		head->type_count = 1;
	}
	if (head->coding_count == 0)
		add_coding(head, MSTREAM_IDENTITY);
	partname_finish(&head->name);
}
