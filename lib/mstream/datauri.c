/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/datauri.h"

#include <string.h>

#include "lib/format/hex.h"

/*
 * Blanks end an address that has no quotes around it. Where its begin is not known, quotes are the safe guess
 * for base64, which ends soon behind it.
 */
void datauri_begin(struct datauri *ret_uri, bool is_base64, char before)
{
	memset(ret_uri, 0, sizeof(*ret_uri));
	ret_uri->is_base64 = is_base64;
	ret_uri->is_quoted =
		is_base64 ? before != '=' && before != '(' : before == '"' || before == '\'';
	ret_uri->before = before;
}

/* Behind a string, and what joins another to it. */
enum join {
	JOIN_NONE,
	JOIN_QUOTE,
	JOIN_PLUS,
};

static bool is_quote(uint8_t byte)
{
	return byte == '"' || byte == '\'' || byte == '`';
}

/* Of either alphabet (RFC 4648 4 and 5); -1: none. */
static int digit_of(uint8_t byte)
{
	return byte == '-' ? 62 : byte == '_' ? 63 : base64_value((char)byte);
}

/* What is dropped wherever it stands in an address. */
static bool is_dropped(uint8_t byte)
{
	return byte == '\r' || byte == '\n' || byte == '\t';
}

static bool is_plain_end(const struct datauri *uri, uint8_t byte)
{
	if (uri->is_inner)
		return false;
	if (uri->is_quoted)
		return byte == (uint8_t)uri->before;
	return byte == '\0' ||
	       strchr(uri->before == '=' ? "> \f\r\n\t" : "\"'> \f\r\n\t", byte) != NULL;
}

/* Without base64 it is the data's as it is. */
static bool take_plain(const struct datauri *uri, uint8_t byte, bool is_coded, struct outflow *out)
{
	if (!is_coded && is_plain_end(uri, byte))
		return false;
	if (is_coded || !is_dropped(byte))
		outflow_put(out, byte);
	return true;
}

/* A string of a script, which another may follow that "+" joins to it. */
static bool ends_string(const struct datauri *uri, uint8_t byte)
{
	return !uri->is_inner && is_quote(byte) &&
	       (uri->before == '\0' || byte == (uint8_t)uri->before);
}

/* false: the address ends before it. "=" is the last that it has. A blank that is coded is the data's. */
static bool take_character(struct datauri *uri, uint8_t byte, bool is_coded, struct outflow *out)
{
	if (!uri->is_base64)
		return take_plain(uri, byte, is_coded, out);
	const int digit = digit_of(byte);
	if (digit < 0 && !is_coded && ends_string(uri, byte)) {
		uri->join = JOIN_QUOTE;
		return true;
	}
	if (digit < 0)
		return (uri->is_quoted || uri->is_inner || is_coded) &&
		       (is_dropped(byte) || byte == ' ' || byte == '\f');
	uri->bits = (uint16_t)(uri->bits << 6 | digit);
	uri->bit_count += 6;
	if (uri->bit_count >= 8) {
		uri->bit_count -= 8;
		outflow_put(out, (uint8_t)(uri->bits >> uri->bit_count));
	}
	return true;
}

/* What begins as %XX and is none is what it is. */
static bool leave_percent(struct datauri *uri, uint8_t byte, struct outflow *out)
{
	outflow_put(out, '%');
	if (uri->percent == 2)
		outflow_put(out, uri->first);
	uri->percent = byte == '%';
	return byte == '%' || take_plain(uri, byte, false, out);
}

/* "AAAA" + "BBBB" of JavaScript, and "AAAA" & _ of Basic, which goes on in the next line. */
static bool take_join(struct datauri *uri, uint8_t byte)
{
	if (is_dropped(byte) || byte == ' ' || byte == '_')
		return true;
	if (uri->join == JOIN_QUOTE) {
		uri->join = JOIN_PLUS;
		return byte == '+' || byte == '&';
	}
	uri->join = JOIN_NONE;
	uri->before = (char)byte;
	return is_quote(byte);
}

static bool take_byte(struct datauri *uri, uint8_t byte, struct outflow *out)
{
	if (byte == '\0') /* of UTF-16 */
		return true;
	/* A visiting card's, behind the name of a property, ends with a line that is not folded. */
	if (uri->is_line_start && byte != ' ' && byte != '\t')
		return false;
	uri->is_line_start = byte == '\n' && uri->before == ':' && uri->is_base64;
	if (uri->join != JOIN_NONE)
		return take_join(uri, byte);
	/* In a string of a script "/" may have a backslash, as have ends of lines, which may be none. */
	const bool is_escaped = uri->is_escaped;
	uri->is_escaped = !is_escaped && byte == '\\' && uri->percent == 0 && uri->is_base64 &&
			  uri->is_quoted;
	if (uri->is_escaped)
		return true;
	if (is_escaped && (byte == 'n' || byte == 'r'))
		return true;
	if (is_escaped && byte != '/' && byte != '\r' && byte != '\n')
		return false;
	if (uri->percent == 0 && byte != '%')
		return take_character(uri, byte, false, out);
	if (is_dropped(byte))
		return uri->is_quoted || uri->is_inner;
	if (uri->percent == 0) {
		uri->percent = 1;
		return true;
	}
	const int digit = hex_value((char)byte);
	if (digit < 0)
		return !uri->is_base64 && leave_percent(uri, byte, out);
	uri->code = (uint8_t)(uri->code << 4 | digit);
	uri->first = byte;
	uri->percent++;
	if (uri->percent < 3)
		return true;
	uri->percent = 0;
	return take_character(uri, uri->code, true, out);
}

size_t datauri_push(struct datauri *uri, const uint8_t *bytes, size_t size, bool is_inner,
		    struct outflow *out)
{
	size_t at = 0;
	uri->is_inner = is_inner;
	while (at < size && take_byte(uri, bytes[at], out))
		at++;
	uri->is_done = at < size;
	return at;
}
