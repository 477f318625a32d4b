/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/imap/imaptoken.h"

#include <string.h>
#include <strings.h>

enum state {
	LINE, /* before a line's first byte */
	BETWEEN,
	ATOM,
	SECTION, /* in an atom's brackets */
	QUOTED,
	ESCAPE, /* behind a backslash */
	TILDE,	/* of ~{ or of a word */
	COUNT,	/* of a literal */
	COUNT_END,
	BYTES,
	TEXT_START, /* the blank before it */
	TEXT_FIRST,
	TEXT,
	CODE,
	CODE_ATOM,
	CR,
	BROKEN,
};

/* What stands before: what may follow depends on it. */
enum last {
	LAST_WORD,
	LAST_BLANK,
	LAST_OPEN,
	LAST_CLOSE,
};

static enum imaptoken_kind fail(struct imaptoken *token, enum imaptoken_error error)
{
	token->state = BROKEN;
	token->error = (uint8_t)error;
	return IMAPTOKEN_BROKEN;
}

static void begin_word(struct imaptoken *token, enum state state)
{
	token->text_size = 0;
	token->word_size = 0;
	token->state = (uint8_t)state;
}

static enum imaptoken_kind append(struct imaptoken *token, char byte)
{
	if (byte == '\0')
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (++token->word_size > IMAPTOKEN_WORD_MAX)
		return fail(token, IMAPTOKEN_ELONG);
	if (token->text_size < IMAPTOKEN_TEXT_SIZE - 1)
		token->text[token->text_size++] = byte;
	return IMAPTOKEN_MORE;
}

static enum imaptoken_kind end_word(struct imaptoken *token, enum imaptoken_kind kind)
{
	token->text[token->text_size] = '\0';
	token->state = token->is_code ? CODE : BETWEEN;
	token->last = LAST_WORD;
	return kind;
}

static bool is_atom_byte(char byte)
{
	return (unsigned char)byte > ' ' && byte != '\x7f' && strchr("(){\"", byte) == NULL;
}

/* ---- what a byte is in each state; *ret_used is set when it is taken ---- */

static enum imaptoken_kind in_line(struct imaptoken *token, char byte, bool *ret_used)
{
	(void)ret_used;
	if (!is_atom_byte(byte))
		return fail(token, IMAPTOKEN_ESYNTAX);
	begin_word(token, ATOM);
	return IMAPTOKEN_MORE;
}

static enum imaptoken_kind open_list(struct imaptoken *token)
{
	if (token->last == LAST_WORD)
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (++token->depth > IMAPTOKEN_DEPTH_MAX)
		return fail(token, IMAPTOKEN_ELONG);
	token->last = LAST_OPEN;
	return IMAPTOKEN_OPEN;
}

static enum imaptoken_kind close_list(struct imaptoken *token)
{
	if (token->depth == 0)
		return fail(token, IMAPTOKEN_ESYNTAX);
	token->depth--;
	token->last = LAST_CLOSE;
	return IMAPTOKEN_CLOSE;
}

static enum imaptoken_kind begin_any(struct imaptoken *token, char byte, bool *ret_used)
{
	if (token->last != LAST_BLANK && token->last != LAST_OPEN)
		return fail(token, IMAPTOKEN_ESYNTAX);
	begin_word(token, ATOM);
	*ret_used = true;
	if (byte == '"')
		token->state = QUOTED;
	else if (byte == '~')
		token->state = TILDE;
	else if (byte == '{')
		token->state = COUNT;
	else if (is_atom_byte(byte))
		*ret_used = false;
	else
		return fail(token, IMAPTOKEN_ESYNTAX);
	token->literal_left = 0;
	return IMAPTOKEN_MORE;
}

static enum imaptoken_kind between(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	switch (byte) {
	case ' ':
		token->last = LAST_BLANK;
		return IMAPTOKEN_MORE;
	case '(':
		return open_list(token);
	case ')':
		return close_list(token);
	case '\r':
		if (token->depth > 0)
			return fail(token, IMAPTOKEN_ESYNTAX);
		begin_word(token, CR);
		return IMAPTOKEN_MORE;
	default:
		return begin_any(token, byte, ret_used);
	}
}

/* Whether brackets behind the word have blanks and parentheses in them, as those of a section of a mail. */
static bool takes_section(struct imaptoken *token)
{
	token->text[token->text_size] = '\0';
	return strcasecmp(token->text, "BODY") == 0 || strcasecmp(token->text, "BINARY") == 0 ||
	       strcasecmp(token->text, "BINARY.SIZE") == 0;
}

static enum imaptoken_kind in_atom(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte == ' ' || byte == ')' || byte == '\r')
		return end_word(token, IMAPTOKEN_ATOM);
	if (!is_atom_byte(byte))
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (byte == '[' && takes_section(token))
		token->state = SECTION;
	*ret_used = true;
	return append(token, byte);
}

static enum imaptoken_kind in_section(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte == '\r' || byte == '\n')
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (byte == ']')
		token->state = ATOM;
	*ret_used = true;
	return append(token, byte);
}

static enum imaptoken_kind in_quoted(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	if (byte == '\r' || byte == '\n')
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (byte == '"')
		return end_word(token, IMAPTOKEN_STRING);
	if (byte == '\\') {
		token->state = ESCAPE;
		return IMAPTOKEN_MORE;
	}
	return append(token, byte);
}

static enum imaptoken_kind in_escape(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	if (byte != '"' && byte != '\\')
		return fail(token, IMAPTOKEN_ESYNTAX);
	token->state = QUOTED;
	return append(token, byte);
}

static enum imaptoken_kind in_tilde(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte != '{') {
		token->state = ATOM;
		return append(token, '~');
	}
	*ret_used = true;
	token->state = COUNT;
	return IMAPTOKEN_MORE;
}

static enum imaptoken_kind in_count(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	if (byte == '}' && token->word_size > 0) {
		token->state = COUNT_END;
		token->word_size = 0;
		return IMAPTOKEN_MORE;
	}
	if (byte < '0' || byte > '9')
		return fail(token, IMAPTOKEN_ESYNTAX);
	const unsigned digit = (unsigned)(byte - '0');
	token->literal_left = 10 * token->literal_left + digit;
	if (token->literal_left > token->literal_max)
		return fail(token, IMAPTOKEN_ELONG);
	return append(token, byte);
}

/* CR and LF. */
static enum imaptoken_kind in_count_end(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	if (byte != "\r\n"[token->word_size])
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (token->word_size++ == 0)
		return IMAPTOKEN_MORE;
	token->state = BYTES;
	return IMAPTOKEN_LITERAL;
}

static enum imaptoken_kind in_text_start(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte == '\r') {
		token->state = TEXT;
		return IMAPTOKEN_MORE;
	}
	*ret_used = true;
	if (byte != ' ')
		return fail(token, IMAPTOKEN_ESYNTAX);
	token->state = TEXT_FIRST;
	return IMAPTOKEN_MORE;
}

static enum imaptoken_kind in_text_first(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte != '[' || !token->is_code) {
		token->is_code = false;
		token->state = TEXT;
		return IMAPTOKEN_MORE;
	}
	*ret_used = true;
	token->state = CODE;
	return IMAPTOKEN_CODE;
}

static enum imaptoken_kind in_text(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	if (byte == '\n')
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (byte == '\r') {
		token->state = CR;
		return IMAPTOKEN_MORE;
	}
	return append(token, byte);
}

static enum imaptoken_kind in_code(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte == '\r') { /* no bracket closes it: a text it is */
		begin_word(token, TEXT);
		return IMAPTOKEN_MORE;
	}
	if (byte != ' ' && byte != '(' && byte != ')' && byte != ']') {
		begin_word(token, CODE_ATOM);
		return IMAPTOKEN_MORE;
	}
	*ret_used = true;
	if (byte != ']')
		return IMAPTOKEN_MORE;
	token->is_code = false;
	begin_word(token, TEXT);
	return IMAPTOKEN_CODE_END;
}

static enum imaptoken_kind in_code_atom(struct imaptoken *token, char byte, bool *ret_used)
{
	if (byte == '\n')
		return fail(token, IMAPTOKEN_ESYNTAX);
	if (byte != '\0' && strchr(" ()]\r", byte) != NULL)
		return end_word(token, IMAPTOKEN_ATOM);
	*ret_used = true;
	return append(token, byte);
}

static enum imaptoken_kind in_cr(struct imaptoken *token, char byte, bool *ret_used)
{
	*ret_used = true;
	if (byte != '\n')
		return fail(token, IMAPTOKEN_ESYNTAX);
	token->text[token->text_size] = '\0';
	token->state = LINE;
	token->line_size = 0;
	token->is_code = false;
	return IMAPTOKEN_END;
}

static enum imaptoken_kind (*const steps[])(struct imaptoken *, char, bool *) = {
	[LINE] = in_line,
	[BETWEEN] = between,
	[ATOM] = in_atom,
	[SECTION] = in_section,
	[QUOTED] = in_quoted,
	[ESCAPE] = in_escape,
	[TILDE] = in_tilde,
	[COUNT] = in_count,
	[COUNT_END] = in_count_end,
	[TEXT_START] = in_text_start,
	[TEXT_FIRST] = in_text_first,
	[TEXT] = in_text,
	[CODE] = in_code,
	[CODE_ATOM] = in_code_atom,
	[CR] = in_cr,
};

/* ---- all of them ---- */

void imaptoken_init(struct imaptoken *ret_token, uint64_t literal_max)
{
	memset(ret_token, 0, sizeof(*ret_token));
	ret_token->literal_max = literal_max;
}

void imaptoken_expect_text(struct imaptoken *token, bool has_code)
{
	begin_word(token, TEXT_START);
	token->is_code = has_code;
}

static enum imaptoken_kind take_bytes(struct imaptoken *token, const char *bytes, size_t size,
				      size_t *ret_taken)
{
	*ret_taken = 0;
	if (token->literal_left == 0) {
		token->state = BETWEEN;
		token->last = LAST_WORD;
		return IMAPTOKEN_LITERAL_END;
	}
	token->bytes = bytes;
	token->bytes_size = size < token->literal_left ? size : (size_t)token->literal_left;
	token->literal_left -= token->bytes_size;
	*ret_taken = token->bytes_size;
	return IMAPTOKEN_BYTES;
}

enum imaptoken_kind imaptoken_feed(struct imaptoken *token, const char *bytes, size_t size,
				   size_t *ret_taken)
{
	enum imaptoken_kind kind = IMAPTOKEN_MORE;
	size_t at = 0;
	if (token->state == BYTES && size > 0)
		return take_bytes(token, bytes, size, ret_taken);
	while (at < size && kind == IMAPTOKEN_MORE && token->state != BROKEN) {
		bool is_used = false;
		kind = steps[token->state](token, bytes[at], &is_used);
		at += is_used;
		token->line_size += is_used && kind != IMAPTOKEN_END;
		if (token->line_size > IMAPTOKEN_LINE_MAX)
			fail(token, IMAPTOKEN_ELONG);
	}
	*ret_taken = at;
	return token->state == BROKEN ? IMAPTOKEN_BROKEN : kind;
}
