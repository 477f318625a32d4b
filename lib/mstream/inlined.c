/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/inlined.h"

#include <string.h>

#include "lib/format/ascii.h"

#define CHUNK_SIZE 512 /* of base64 at a time */

enum inlined_mode {
	MODE_BEGIN, /* the text has not said yet what it is */
	MODE_OTHER, /* neither XML nor such lines: nothing is in it */
	/* XML */
	MODE_MARKUP,
	MODE_NAME,    /* behind "<" */
	MODE_TAG,     /* behind the name of an element that has a file */
	MODE_ELEMENT, /* its data */
	MODE_INNER,   /* behind "<" in these */
	MODE_PASSED,  /* a comment and the like in these */
	/* lines */
	MODE_LINE, /* its name */
	MODE_PARAMETERS,
	MODE_REST, /* the value, that is no file */
	MODE_VALUE,
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
}

static bool is_open(const struct inlined *inlined)
{
	return (inlined->mode >= MODE_ELEMENT && inlined->mode <= MODE_PASSED) ||
	       inlined->mode == MODE_VALUE;
}

/* ---- words ---- */

/* false: it is longer than any that is looked for, and then none of them. */
static bool add_to_word(struct inlined *inlined, uint8_t byte)
{
	if (inlined->word_size < INLINED_WORD_SIZE)
		inlined->word[inlined->word_size++] = (char)ascii_lower(byte);
	return inlined->word_size < INLINED_WORD_SIZE;
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

/* A byte-order mark, which is no ASCII, and blanks may come first. */
static void take_first(struct inlined *inlined, uint8_t byte)
{
	static const char begins[] = "begin:v";
	if (inlined->word_size == 0 &&
	    (byte >= 0x80 || ascii_is_blank(byte) || byte == '\r' || byte == '\n'))
		return;
	(void)add_to_word(inlined, byte);
	if (byte == '<' && inlined->word_size == 1) {
		inlined->mode = MODE_NAME;
		inlined->word_size = 0;
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

/* The name space before the colon is any. */
static void take_name(const struct flow *flow, uint8_t byte)
{
	static const char *const names[] = { "bindata", "binarydata", "binary-data",
					     "binary",	"base64",     "base64binary" };
	struct inlined *inlined = flow->inlined;
	if (byte == ':') {
		inlined->word_size = 0;
	} else if (is_of_name(byte)) {
		(void)add_to_word(inlined, byte);
	} else if (byte == '<') {
		inlined->word_size = 0;
	} else if (!IS_WORD(inlined, names)) {
		inlined->mode = MODE_MARKUP;
	} else if (byte == '>') {
		begin_file(flow, MODE_ELEMENT);
	} else {
		inlined->mode = MODE_TAG;
		inlined->quote = 0;
	}
}

static void take_tag(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	if (inlined->quote != 0)
		inlined->quote = byte == inlined->quote ? 0 : inlined->quote;
	else if (byte == '"' || byte == '\'')
		inlined->quote = byte;
	else if (byte == '>' && inlined->last[0] == '/')
		inlined->mode = MODE_MARKUP;
	else if (byte == '>')
		begin_file(flow, MODE_ELEMENT);
}

/* Data go on behind CDATA's mark, and behind what is passed; anything else is another tag. */
static void take_inner(const struct flow *flow, uint8_t byte)
{
	static const char cdata[] = "![cdata[";
	struct inlined *inlined = flow->inlined;
	(void)add_to_word(inlined, byte);
	if (inlined->word_size == 1 && byte != '!' && byte != '?') {
		end_file(flow, true);
		inlined->mode = MODE_NAME;
		inlined->word_size = 0;
		take_name(flow, byte);
	} else if (memcmp(inlined->word, cdata, inlined->word_size) != 0) {
		inlined->mode = byte == '>' ? MODE_ELEMENT : MODE_PASSED;
	} else if (inlined->word_size == sizeof(cdata) - 1) {
		inlined->mode = MODE_ELEMENT;
	}
}

/* The word has how it began: a comment ends with two dashes before its ">". */
static void take_passed(struct inlined *inlined, uint8_t byte)
{
	const bool is_comment = inlined->word_size == 2 && memcmp(inlined->word, "!-", 2) == 0;
	const bool has_dashes = inlined->last[0] == '-' && inlined->last[1] == '-';
	if (byte == '>' && (!is_comment || has_dashes))
		inlined->mode = MODE_ELEMENT;
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
		(void)add_to_word(inlined, byte);
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

static void take_line(const struct flow *flow, uint8_t byte)
{
	struct inlined *inlined = flow->inlined;
	if (inlined->is_line_start && (byte == '\r' || take_line_start(flow, byte)))
		return;
	if (byte == '\n') {
		inlined->is_line_start = true;
	} else if (byte == '\r') {
		return;
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
	case MODE_INNER:
		take_inner(flow, byte);
		break;
	case MODE_PASSED:
		take_passed(inlined, byte);
		break;
	default:
		take_line(flow, byte);
	}
	inlined->last[1] = inlined->last[0];
	inlined->last[0] = byte;
}

/* What most of a text is: how many of the bytes need no look each. */
static size_t pass_run(const struct flow *flow, const uint8_t *bytes, size_t size)
{
	struct inlined *inlined = flow->inlined;
	const bool is_xml = inlined->mode == MODE_MARKUP || inlined->mode == MODE_ELEMENT;
	const bool is_value =
		inlined->mode == MODE_VALUE && inlined->has_data && !inlined->is_loose;
	if (inlined->mode == MODE_OTHER)
		return size;
	if (!is_xml && ((inlined->mode != MODE_REST && !is_value) || inlined->is_line_start))
		return 0;
	const uint8_t *mark = memchr(bytes, is_xml ? '<' : '\n', size);
	const size_t run = mark != NULL ? (size_t)(mark - bytes) : size;
	if (is_open(inlined))
		put_data(flow, bytes, run);
	if (is_xml && mark != NULL) {
		inlined->mode = is_open(inlined) ? MODE_INNER : MODE_NAME;
		inlined->word_size = 0;
		return run + 1;
	}
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

void inlined_push(struct inlined *inlined, const uint8_t *bytes, size_t size,
		  const struct mstream_files *files, void *context)
{
	const struct flow flow = { inlined, files, context };
	size_t at = 0;
	while (at < size && inlined->mode != MODE_OTHER) {
		const uint8_t *run;
		size_t run_size;
		at += references_undo(&inlined->references, bytes + at, size - at, &run, &run_size);
		push_run(&flow, run, run_size);
	}
}

void inlined_end(struct inlined *inlined, bool is_whole, const struct mstream_files *files,
		 void *context)
{
	const struct flow flow = { inlined, files, context };
	const uint8_t *run;
	size_t run_size;
	references_end(&inlined->references, &run, &run_size);
	push_run(&flow, run, run_size);
	if (is_open(inlined))
		end_file(&flow, is_whole);
	inlined_begin(inlined);
}
