/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/inlined.h"

#include <string.h>

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

#define CHUNK_SIZE 512 /* of base64 at a time */

enum inlined_mode {
	MODE_BEGIN, /* the text has not said yet what it is */
	MODE_OTHER, /* neither XML nor such lines: nothing is in it */
	/* XML */
	MODE_MARKUP,
	MODE_MARK,	  /* behind "<" */
	MODE_NAME,	  /* of an element */
	MODE_TAG,	  /* behind the name of one that has a file */
	MODE_ELEMENT,	  /* its data */
	MODE_ENTITY,	  /* behind "&" in these, when it is none of references.h */
	MODE_DECLARATION, /* "<!", up to ">" */
	MODE_PASSED,	  /* a comment, an instruction or CDATA, up to its own end */
	/* lines */
	MODE_LINE, /* its name */
	MODE_PARAMETERS,
	MODE_REST, /* the value, that is no file */
	MODE_VALUE,
	MODE_BROKEN, /* behind a CR in it: the name of the next, or more of it, of which word has all */
};

/* What is the same for one call. */
struct flow {
	struct inlined *inlined;
	const struct mstream_files *files;
	void *context;
};

void inlined_begin(struct inlined *ret_inlined)
{
	memset(ret_inlined, 0, sizeof(*ret_inlined));
}

/* ---- files ---- */

static void begin_file(const struct flow *flow, enum inlined_mode mode)
{
	struct inlined *inlined = flow->inlined;
	inlined->mode = (uint8_t)mode;
	inlined->base64 = (struct base64){ 0 };
	inlined->is_file = true;
	inlined->is_loose = false;
	inlined->has_data = false;
	flow->files->begin(flow->context, MSTREAM_BASE64, "");
}

static void put_data(const struct flow *flow, const uint8_t *bytes, size_t size)
{
	uint8_t out[BASE64_ROOM(CHUNK_SIZE)];
	while (size > 0) {
		size_t used;
		size_t out_size;
		const size_t some = size < CHUNK_SIZE ? size : CHUNK_SIZE;
		(void)base64_undo(&flow->inlined->base64, bytes, some, &used, out, &out_size);
		if (out_size > 0)
			flow->files->data(flow->context, out, out_size);
		bytes += used;
		size -= used;
	}
}

static void end_file(const struct flow *flow, bool is_whole)
{
	uint8_t out[BASE64_ROOM(0)];
	const size_t size = base64_end(&flow->inlined->base64, out);
	if (size > 0)
		flow->files->data(flow->context, out, size);
	flow->files->end(flow->context, is_whole);
	flow->inlined->is_file = false;
}

/* ---- words ---- */

/* One that is cut here is longer than any that is looked for. */
static void add_to_word(struct inlined *inlined, uint8_t byte)
{
	if (inlined->word_size < INLINED_WORD_SIZE)
		inlined->word[inlined->word_size++] = (char)ascii_lower(byte);
}

static bool is_word(const struct inlined *inlined, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(words[i]) == inlined->word_size &&
		    memcmp(words[i], inlined->word, inlined->word_size) == 0)
			return true;
	return false;
}

#define IS_WORD(inlined, words) is_word(inlined, words, sizeof(words) / sizeof((words)[0]))

static void begin_mark(struct inlined *inlined)
{
	inlined->mode = MODE_MARK;
	inlined->word_size = 0;
}

/* A byte-order mark, which is no ASCII, and blanks may come first. */
static void take_first(struct inlined *inlined, uint8_t byte)
{
	static const char begins[] = "begin:v";
	if (inlined->word_size == 0 &&
	    (byte >= 0x80 || ascii_is_blank(byte) || byte == '\r' || byte == '\n'))
		return;
	add_to_word(inlined, byte);
	if (byte == '<' && inlined->word_size == 1) {
		begin_mark(inlined);
	} else if (memcmp(inlined->word, begins, inlined->word_size) != 0) {
		inlined->mode = MODE_OTHER;
	} else if (inlined->word_size == sizeof(begins) - 1) {
		inlined->mode = MODE_REST;
	}
}

/* ---- XML ---- */

static bool is_of_name(uint8_t byte)
{
	return ascii_is_alnum(byte) || byte == '-' || byte == '_' || byte == '.' || byte >= 0x80;
}

/* Behind the whole name. No document of those with files has a page for its first element. */
static void end_name(const struct flow *flow, uint8_t byte)
{
	static const char *const pages[] = { "html" };
	static const char *const names[] = { "bindata", "binarydata",	"binary-data", "binary",
					     "base64",	"base64binary", "chunk" };
	struct inlined *inlined = flow->inlined;
	if (!inlined->has_root && IS_WORD(inlined, pages)) {
		inlined->mode = MODE_OTHER;
	} else if (!IS_WORD(inlined, names)) {
		inlined->mode = MODE_MARKUP;
	} else if (byte == '>') {
		begin_file(flow, MODE_ELEMENT);
	} else {
		inlined->mode = MODE_TAG;
		inlined->quote = 0;
		inlined->end_count = byte == '/';
	}
	inlined->has_root = inlined->has_root || inlined->word_size > 0;
}

/* The name space before the colon is any. */
static void take_name(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	if (byte == ':') {
		inlined->word_size = 0;
	} else if (is_of_name(byte)) {
		add_to_word(inlined, byte);
	} else if (byte == '<') {
		begin_mark(inlined);
	} else {
		end_name(flow, byte);
	}
}

/* No value of an attribute has a "<", as far as readers take it for XML. */
static void take_tag(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	const bool is_empty = inlined->end_count > 0;
	inlined->end_count = byte == '/';
	if (byte == '<')
		begin_mark(inlined);
	else if (inlined->quote != 0)
		inlined->quote = byte == inlined->quote ? 0 : inlined->quote;
	else if (byte == '"' || byte == '\'')
		inlined->quote = byte;
	else if (byte == '>' && is_empty)
		inlined->mode = MODE_MARKUP;
	else if (byte == '>')
		begin_file(flow, MODE_ELEMENT);
}

static void go_on(struct inlined *inlined)
{
	inlined->mode = inlined->is_file ? MODE_ELEMENT : MODE_MARKUP;
}

/* One of a document's type has others in it. */
static void take_declaration(struct inlined *inlined, uint8_t byte)
{
	if (inlined->quote != 0)
		inlined->quote = byte == inlined->quote ? 0 : inlined->quote;
	else if (byte == '"' || byte == '\'')
		inlined->quote = byte;
	else if (byte == '<')
		begin_mark(inlined);
	else if (byte == '>')
		go_on(inlined);
}

static void begin_passed(struct inlined *inlined, uint8_t end)
{
	inlined->mode = MODE_PASSED;
	inlined->end = end;
	inlined->end_count = 0;
}

/* What looks like a tag in a comment and the like is none. */
static void take_mark(const struct flow *flow, uint8_t byte)
{
	static const char comment[] = "!--";
	static const char cdata[] = "![cdata[";
	struct inlined *inlined = flow->inlined;
	add_to_word(inlined, byte);
	const size_t size = inlined->word_size;
	const bool is_comment = size < sizeof(comment) && memcmp(inlined->word, comment, size) == 0;
	if (size == 1 && byte == '?') {
		begin_passed(inlined, '?');
	} else if (size == 1 && byte != '!') {
		if (inlined->is_file)
			end_file(flow, true);
		inlined->mode = MODE_NAME;
		inlined->word_size = 0;
		take_name(flow, byte);
	} else if (is_comment && size == sizeof(comment) - 1) {
		begin_passed(inlined, '-');
	} else if (!is_comment && memcmp(inlined->word, cdata, size) != 0) {
		inlined->mode = MODE_DECLARATION;
		inlined->quote = 0;
		take_declaration(inlined, byte);
	} else if (size == sizeof(cdata) - 1) {
		begin_passed(inlined, ']');
	}
}

/* "-->", "]]>" or "?>" ends it. CDATA is data. */
static void take_passed(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	const unsigned wanted = inlined->end == '?' ? 1 : 2;
	if (inlined->is_file && inlined->end == ']')
		put_data(flow, &byte, 1);
	if (byte == '>' && inlined->end_count >= wanted)
		go_on(inlined);
	else if (byte != inlined->end)
		inlined->end_count = 0;
	else if (inlined->end_count < wanted)
		inlined->end_count++;
}

/* Its name is no data. */
static void take_entity(struct inlined *inlined, uint8_t byte)
{
	if (byte == '<')
		begin_mark(inlined);
	else if (byte != '&' && !is_of_name(byte))
		go_on(inlined);
}

/* ---- lines of calendars and visiting cards ---- */

static void end_parameter(struct inlined *inlined)
{
	static const char *const words[] = { "encoding=base64", "encoding=b", "base64" };
	if (IS_WORD(inlined, words))
		inlined->is_base64 = true;
	inlined->word_size = 0;
}

static void take_parameter(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	if (byte == '"')
		inlined->quote = inlined->quote == 0 ? byte : 0;
	else if (inlined->quote != 0 || (byte != ';' && byte != ':'))
		add_to_word(inlined, byte);
	else
		end_parameter(inlined);
	if (byte != ':' || inlined->quote != 0)
		return;
	if (inlined->is_base64)
		begin_file(flow, MODE_VALUE);
	else
		inlined->mode = MODE_REST;
}

/* The first byte of a line: is the one before folded, or at its end? true: the byte was used up by that. */
static bool take_line_start(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	const bool is_value = inlined->mode == MODE_VALUE;
	inlined->is_line_start = byte == '\n';
	if (byte == ' ' || byte == '\t')
		return true;
	if (is_value && byte != '\n' && (inlined->is_loose || !inlined->has_data)) {
		inlined->is_loose = true;
		return false;
	}
	if (is_value)
		end_file(flow, true);
	inlined->mode = MODE_LINE;
	return byte == '\n';
}

static void take_line_byte(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	if (inlined->is_line_start && take_line_start(flow, byte))
		return;
	if (byte == '\n') {
		inlined->is_line_start = true;
	} else if (inlined->mode == MODE_PARAMETERS) {
		take_parameter(flow, byte);
	} else if (inlined->mode == MODE_LINE && byte == ';') {
		inlined->mode = MODE_PARAMETERS;
		inlined->is_base64 = false;
		inlined->quote = 0;
		inlined->word_size = 0;
	} else if (inlined->mode == MODE_LINE && !is_of_name(byte)) {
		inlined->mode = MODE_REST;
	} else if (inlined->mode == MODE_VALUE && inlined->is_loose &&
		   (byte == ';' || byte == ':')) {
		end_file(flow, true);
		inlined->mode = MODE_REST;
	} else if (inlined->mode == MODE_VALUE) {
		inlined->has_data = true;
		put_data(flow, &byte, 1);
	}
}

static void go_on_with_value(const struct flow *flow)
{
	struct inlined *inlined = flow->inlined;
	inlined->mode = MODE_VALUE;
	put_data(flow, (const uint8_t *)inlined->word, inlined->word_size);
}

/* A property is one by what ends its name, or by what base64 has not. true: the byte was used up. */
static bool take_broken(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	const bool is_digit = base64_value((char)byte) >= 0;
	if (is_digit && inlined->word_size < INLINED_WORD_SIZE) {
		inlined->word[inlined->word_size++] = (char)byte;
		return true;
	}
	if (byte == ';' || byte == ':' || (is_of_name(byte) && !is_digit)) {
		end_file(flow, true);
		inlined->mode = MODE_LINE;
	} else {
		go_on_with_value(flow);
	}
	return false;
}

/* Any CRs before an LF are of the same end of a line, and others are one. */
static void take_line(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	const bool is_in_value = inlined->mode == MODE_VALUE && inlined->has_data &&
				 !inlined->is_loose && !inlined->is_line_start;
	if (inlined->is_after_cr && byte != '\n' && byte != '\r') {
		if (!is_in_value || ascii_is_blank(byte)) {
			take_line_byte(flow, '\n');
		} else {
			inlined->mode = MODE_BROKEN;
			inlined->word_size = 0;
		}
	}
	inlined->is_after_cr = byte == '\r';
	if (inlined->mode == MODE_BROKEN && take_broken(flow, byte))
		return;
	if (byte != '\r')
		take_line_byte(flow, byte);
}

/* ---- bytes ---- */

static void take_byte(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	switch (inlined->mode) {
	case MODE_BEGIN:
		take_first(inlined, byte);
		break;
	case MODE_NAME:
		take_name(flow, byte);
		break;
	case MODE_TAG:
		take_tag(flow, byte);
		break;
	case MODE_MARK:
		take_mark(flow, byte);
		break;
	case MODE_ENTITY:
		take_entity(inlined, byte);
		break;
	case MODE_DECLARATION:
		take_declaration(inlined, byte);
		break;
	case MODE_PASSED:
		take_passed(flow, byte);
		break;
	default:
		take_line(flow, byte);
	}
}

static const uint8_t *find(const uint8_t *bytes, const uint8_t *end, uint8_t byte)
{
	const uint8_t *found = memchr(bytes, byte, (size_t)(end - bytes));
	return found != NULL ? found : end;
}

/*
 * Behind "<" where no file is open: is it a tag that can have none? Most are, and no look at each byte is worth it.
 * *ret_at is behind its name then.
 */
static bool is_plain_tag(const uint8_t *at, const uint8_t *end, const uint8_t **ret_at)
{
	if (end - at < 2)
		return false;
	*ret_at = at + 1;
	if (*at == '/')
		return true;
	const uint8_t first = at[0] | 0x20;
	const uint8_t second = at[1] | 0x20;
	if (!ascii_is_letter(*at) || (first == 'b' && (second == 'i' || second == 'a')) ||
	    (first == 'c' && second == 'h'))
		return false;
	while (at < end && ascii_is_alnum(*at))
		at++;
	*ret_at = at;
	return at < end && (*at == '>' || *at == ' ' || *at == '/' || *at == '\r' || *at == '\n');
}

/* The next "<" that needs a look, or end. */
static const uint8_t *find_tag(const uint8_t *bytes, const uint8_t *end)
{
	const uint8_t *mark = find(bytes, end, '<');
	while (mark < end && is_plain_tag(mark + 1, end, &bytes))
		mark = find(bytes, end, '<');
	return mark;
}

/* Up to the next tag, or a name in data. */
static size_t pass_text(const struct flow *flow, const uint8_t *bytes, size_t size)
{
	struct inlined *inlined = flow->inlined;
	const uint8_t *end = bytes + size;
	const uint8_t *mark = inlined->is_file || !inlined->has_root ? find(bytes, end, '<')
								     : find_tag(bytes, end);
	if (inlined->is_file) {
		mark = find(bytes, mark, '&');
		put_data(flow, bytes, (size_t)(mark - bytes));
	}
	if (mark == end)
		return size;
	if (*mark == '<')
		begin_mark(inlined);
	else
		inlined->mode = MODE_ENTITY;
	return (size_t)(mark - bytes) + 1;
}

static size_t find_line_end(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	while (at < size && bytes[at] != '\r' && bytes[at] != '\n')
		at++;
	return at;
}

/* What most of a text is: how many of the bytes need no look each. */
static size_t pass_run(const struct flow *flow, const uint8_t *bytes, size_t size)
{
	struct inlined *inlined = flow->inlined;
	const bool is_passed = inlined->mode == MODE_PASSED && inlined->end_count == 0;
	const bool is_value =
		inlined->mode == MODE_VALUE && inlined->has_data && !inlined->is_loose;
	if (inlined->mode == MODE_OTHER)
		return size;
	if (inlined->mode == MODE_MARKUP || inlined->mode == MODE_ELEMENT)
		return pass_text(flow, bytes, size);
	if (!is_passed && ((inlined->mode != MODE_REST && !is_value) || inlined->is_line_start ||
			   inlined->is_after_cr))
		return 0;
	const size_t run = is_passed ? (size_t)(find(bytes, bytes + size, inlined->end) - bytes)
				     : find_line_end(bytes, size);
	if (is_value || (is_passed && inlined->is_file && inlined->end == ']'))
		put_data(flow, bytes, run);
	return run;
}

static void push_run(const struct flow *flow, const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	while (at < size) {
		at += pass_run(flow, bytes + at, size - at);
		if (at == size)
			break;
		if (bytes[at] != '\0') /* of UTF-16 */
			take_byte(flow, bytes[at]);
		at++;
	}
}

/* A character by its number or name is data, or nothing: it begins and ends neither tags nor values. */
static void push_text(const struct flow *flow, const uint8_t *run, size_t run_size)
{
	if (run != &flow->inlined->references.byte)
		push_run(flow, run, run_size);
	else if (flow->inlined->mode == MODE_ELEMENT)
		put_data(flow, run, run_size);
}

void inlined_push(struct inlined *inlined, const uint8_t *bytes, size_t size,
		  const struct mstream_files *files, void *context)
{
	const struct flow flow = { inlined, files, context };
	size_t at = 0;
	while (at < size && inlined->mode != MODE_OTHER) {
		const uint8_t *run;
		size_t run_size;
		at += references_undo(&inlined->references, bytes + at, size - at, &run, &run_size);
		push_text(&flow, run, run_size);
	}
}

void inlined_end(struct inlined *inlined, bool is_whole, const struct mstream_files *files,
		 void *context)
{
	const struct flow flow = { inlined, files, context };
	const uint8_t *run;
	size_t run_size;
	references_end(&inlined->references, &run, &run_size);
	push_text(&flow, run, run_size);
	if (inlined->mode == MODE_BROKEN)
		go_on_with_value(&flow);
	if (inlined->is_file)
		end_file(&flow, is_whole);
	inlined_begin(inlined);
}
