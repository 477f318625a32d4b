/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/head/coding.h"

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

#include <string.h>

/* ---- base64 ---- */

/* What a character is, beside a number below 64. */
#define IS_FOREIGN 64U
#define IS_BLANK   65U
#define IS_PAD	   66U
#define IS_URL	   67U /* "-": 62 and "_": 63, of the other alphabet */

/* Constant, so that the tables are made by the compiler. */
#define BETWEEN(c, first, last) ((c) >= (first) && (c) <= (last))
#define VALUE(c)                                                                                   \
	(BETWEEN(c, 'A', 'Z')	      ? (unsigned)(c) - 'A'                                        \
	 : BETWEEN(c, 'a', 'z')	      ? (unsigned)(c) - 'a' + 26                                   \
	 : BETWEEN(c, '0', '9')	      ? (unsigned)(c) - '0' + 52                                   \
	 : (c) == '+'		      ? 62U                                                        \
	 : (c) == '/'		      ? 63U                                                        \
	 : (c) == '='		      ? IS_PAD                                                     \
	 : (c) == '-' || (c) == '_'   ? IS_URL                                                     \
	 : (c) == ' ' || (c) == '\t'  ? IS_BLANK                                                   \
	 : (c) == '\r' || (c) == '\n' ? IS_BLANK                                                   \
				      : IS_FOREIGN)
#define BYTE(c)	       (uint8_t)(VALUE(c))
#define FOUR(macro, c) macro(c), macro((c) + 1), macro((c) + 2), macro((c) + 3)
#define SIXTEEN(macro, c)                                                                          \
	FOUR(macro, c), FOUR(macro, (c) + 4), FOUR(macro, (c) + 8), FOUR(macro, (c) + 12)
#define SIXTY_FOUR(macro, c)                                                                       \
	SIXTEEN(macro, c), SIXTEEN(macro, (c) + 16), SIXTEEN(macro, (c) + 32),                     \
		SIXTEEN(macro, (c) + 48)
#define TABLE(macro)                                                                               \
	{                                                                                          \
		SIXTY_FOUR(macro, 0), SIXTY_FOUR(macro, 64), SIXTY_FOUR(macro, 128),               \
			SIXTY_FOUR(macro, 192)                                                     \
	}

static const uint8_t values[256] = TABLE(BYTE);

/*
 * The three bytes of a quantum as they lie in memory, the first lowest, or BAD: one table for each
 * of the four characters, so that a quantum is four loads and no shift.
 */
#define BAD	  (1U << 31)
#define FIRST(c)  (VALUE(c) < 64 ? VALUE(c) << 2 : BAD)
#define SECOND(c) (VALUE(c) < 64 ? VALUE(c) >> 4 | (VALUE(c) & 15) << 12 : BAD)
#define THIRD(c)  (VALUE(c) < 64 ? (VALUE(c) >> 2) << 8 | (VALUE(c) & 3) << 22 : BAD)
#define FOURTH(c) (VALUE(c) < 64 ? VALUE(c) << 16 : BAD)

static const uint32_t firsts[256] = TABLE(FIRST);
static const uint32_t seconds[256] = TABLE(SECOND);
static const uint32_t thirds[256] = TABLE(THIRD);
static const uint32_t fourths[256] = TABLE(FOURTH);

static uint32_t quantum(const uint8_t *bytes)
{
	return firsts[bytes[0]] | seconds[bytes[1]] | thirds[bytes[2]] | fourths[bytes[3]];
}

static void put_three(uint8_t *out, uint32_t bytes)
{
	out[0] = (uint8_t)bytes;
	out[1] = (uint8_t)(bytes >> 8);
	out[2] = (uint8_t)(bytes >> 16);
}

/* Whole quanta without anything between them. Returns the characters used. */
static size_t undo_quanta(const uint8_t *bytes, size_t size, uint8_t *out)
{
	size_t at = 0;
	for (; at + 8 <= size; at += 8, out += 6) {
		const uint32_t one = quantum(bytes + at);
		const uint32_t two = quantum(bytes + at + 4);
		if (((one | two) & BAD) != 0)
			break;
		put_three(out, one);
		put_three(out + 3, two);
	}
	for (; at + 4 <= size; at += 4, out += 3) {
		const uint32_t one = quantum(bytes + at);
		if ((one & BAD) != 0)
			break;
		put_three(out, one);
	}
	return at;
}

/* What the bits that are there make; those that are left over stay. */
static size_t put_bytes(struct base64 *decoder, uint8_t *out)
{
	size_t count = 0;
	while (decoder->bit_count >= 8) {
		decoder->bit_count = (uint8_t)(decoder->bit_count - 8);
		out[count++] = (uint8_t)(decoder->bits >> decoder->bit_count);
	}
	return count;
}

/* The bytes of a quantum when it is full: there are readers that drop one that is not. */
static size_t put_bits(struct base64 *decoder, uint32_t value, uint8_t *out)
{
	decoder->bits = decoder->bits << 6 | value;
	decoder->bit_count = (uint8_t)(decoder->bit_count + 6);
	decoder->is_padded = false;
	return decoder->bit_count >= 24 || decoder->mode == BASE64_NO_PAD ? put_bytes(decoder, out)
									  : 0;
}

static size_t take_pad(struct base64 *decoder, uint8_t *out)
{
	if (decoder->mode == BASE64_NO_PAD)
		return 0;
	const size_t count = put_bytes(decoder, out);
	if (!decoder->is_padded)
		decoder->lost_count = decoder->bit_count;
	decoder->is_padded = true;
	decoder->bit_count = 0;
	return count;
}

/* Whether this byte is to be told of before it is used; then it is marked as told. */
static enum coding_event event_of(struct base64 *decoder, unsigned value)
{
	if (value < 64 && decoder->is_padded && !decoder->has_resumed) {
		decoder->has_resumed = true;
		return CODING_RESUMED;
	}
	if (value == IS_URL && !decoder->has_url) {
		decoder->has_url = true;
		return CODING_URL;
	}
	if (value == IS_FOREIGN && !decoder->has_foreign) {
		decoder->has_foreign = true;
		return CODING_FOREIGN;
	}
	return CODING_NONE;
}

enum coding_event base64_undo(struct base64 *decoder, const uint8_t *bytes, size_t size,
			      size_t *ret_used, uint8_t *ret_out, size_t *ret_out_size)
{
	enum coding_event event = CODING_NONE;
	uint8_t *out = ret_out;
	size_t at = 0;
	while (at < size) {
		if (decoder->bit_count == 0 && !decoder->is_padded) {
			const size_t some = undo_quanta(bytes + at, size - at, out);
			at += some;
			out += some / 4 * 3;
			if (at == size)
				break;
		}
		unsigned value = values[bytes[at]];
		event = event_of(decoder, value);
		if (event != CODING_NONE)
			break;
		if (value == IS_URL && decoder->mode == BASE64_WITH_URL)
			value = bytes[at] == '-' ? 62 : 63;
		if (value < 64)
			out += put_bits(decoder, value, out);
		else if (value == IS_PAD)
			out += take_pad(decoder, out);
		at++;
	}
	*ret_used = at;
	*ret_out_size = (size_t)(out - ret_out);
	return event;
}

void base64_unpad(struct base64 *decoder)
{
	decoder->bit_count = decoder->lost_count;
	decoder->is_padded = false;
}

bool base64_is_cut(const struct base64 *decoder)
{
	return decoder->bit_count != 0;
}

size_t base64_end(struct base64 *decoder, uint8_t *ret_out)
{
	return put_bytes(decoder, ret_out);
}

enum coding_event base64_text(const uint8_t *bytes, size_t size, uint8_t *ret_out,
			      size_t *ret_out_size)
{
	struct base64 decoder = { 0 };
	enum coding_event first = CODING_NONE;
	uint8_t *out = ret_out;
	for (size_t at = 0; at < size;) {
		size_t used;
		size_t made;
		const enum coding_event event =
			base64_undo(&decoder, bytes + at, size - at, &used, out, &made);
		first = first == CODING_NONE ? event : first;
		at += used;
		out += made;
	}
	out += base64_end(&decoder, out);
	*ret_out_size = (size_t)(out - ret_out);
	return first;
}

/* ---- quoted-printable ---- */

static bool is_line_end(uint8_t byte)
{
	return byte == '\r' || byte == '\n';
}

/* How many blanks are at the end of so many bytes. */
static size_t blanks_before(const uint8_t *bytes, size_t at)
{
	size_t count = 0;
	while (count < at && ascii_is_blank(bytes[at - count - 1]))
		count++;
	return count;
}

/* How many bytes stand for themselves whatever follows: up to an escape, or blanks of unknown use. */
static size_t plain_size(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	while (at < size && bytes[at] != '=') {
		if (is_line_end(bytes[at]) && at > 0 && ascii_is_blank(bytes[at - 1]))
			return at - blanks_before(bytes, at);
		at++;
	}
	return at == size ? at - blanks_before(bytes, at) : at;
}

/* "=41" that is there whole: 0 to 255, or -1. */
static int escape_value(const uint8_t *bytes, size_t size)
{
	return size >= 3 && bytes[0] == '=' ? hex_pair(bytes + 1) : -1;
}

static size_t put_held(struct qp *decoder, uint8_t *out)
{
	const size_t size = decoder->held_size;
	memcpy(out, decoder->held, size);
	decoder->held_size = 0;
	return size;
}

static void hold(struct qp *decoder, uint8_t byte)
{
	decoder->held[decoder->held_size++] = byte;
}

/* Behind a "=" that is held: whether the byte is used. */
static bool take_escape(struct qp *decoder, uint8_t byte, uint8_t **out, enum coding_event *event)
{
	const bool is_digit = decoder->held_size > 1 && !ascii_is_blank(decoder->held[1]);
	const int value = hex_value((char)byte);
	if (!is_digit && is_line_end(byte)) {
		decoder->held_size = 0;
		decoder->is_behind_cr = byte == '\r';
		return true;
	}
	if (is_digit && value >= 0) {
		*(*out)++ = (uint8_t)(hex_value((char)decoder->held[1]) << 4 | value);
		decoder->held_size = 0;
		return true;
	}
	const bool goes_on = decoder->held_size == 1 ? value >= 0 || ascii_is_blank(byte)
						     : !is_digit && ascii_is_blank(byte);
	if (goes_on && decoder->held_size < QP_HELD_MAX) {
		hold(decoder, byte);
		return true;
	}
	if (!decoder->has_escape) {
		decoder->has_escape = true;
		*event = CODING_ESCAPE;
		return false;
	}
	*out += put_held(decoder, *out);
	return false;
}

/* Behind blanks that are held, or that were too many to be: whether the byte is used. */
static bool take_blank(struct qp *decoder, uint8_t byte, uint8_t **out, enum coding_event *event)
{
	if (ascii_is_blank(byte)) {
		if (decoder->is_long || decoder->held_size == QP_HELD_MAX) {
			decoder->is_long = true;
			*out += put_held(decoder, *out);
			*(*out)++ = byte;
		} else {
			hold(decoder, byte);
		}
		return true;
	}
	if (is_line_end(byte) && decoder->held_size > 0) {
		if (!decoder->has_trailing) {
			decoder->has_trailing = true;
			*event = CODING_TRAILING;
			return false;
		}
		if (decoder->mode == QP_DROP)
			decoder->held_size = 0;
	}
	decoder->is_long = false;
	*out += put_held(decoder, *out);
	return false;
}

static bool take_qp(struct qp *decoder, uint8_t byte, uint8_t **out, enum coding_event *event)
{
	const bool is_behind_cr = decoder->is_behind_cr;
	decoder->is_behind_cr = false;
	if (is_behind_cr && byte == '\n')
		return true;
	/* A gateway has made CR CR LF of a soft line break's CR LF. */
	if (is_behind_cr && byte == '\r') {
		hold(decoder, byte);
		return true;
	}
	if (decoder->held_size > 0 && decoder->held[0] == '\r') {
		if (byte != '\n')
			*(*out)++ = '\r';
		decoder->held_size = 0;
		if (byte == '\n')
			return true;
	}
	if (decoder->held_size > 0 && decoder->held[0] == '=')
		return take_escape(decoder, byte, out, event);
	if (decoder->held_size > 0 || decoder->is_long || ascii_is_blank(byte)) {
		if (take_blank(decoder, byte, out, event) || *event != CODING_NONE)
			return *event == CODING_NONE;
	}
	if (byte == '=')
		hold(decoder, byte);
	else
		*(*out)++ = byte;
	return true;
}

enum coding_event qp_undo(struct qp *decoder, const uint8_t *bytes, size_t size, size_t *ret_used,
			  uint8_t *ret_out, size_t *ret_out_size)
{
	enum coding_event event = CODING_NONE;
	uint8_t *out = ret_out;
	size_t at = 0;
	while (at < size && event == CODING_NONE) {
		if (decoder->held_size == 0 && !decoder->is_long && !decoder->is_behind_cr) {
			const size_t some = plain_size(bytes + at, size - at);
			memcpy(out, bytes + at, some);
			out += some;
			at += some;
			const int value = escape_value(bytes + at, size - at);
			if (value >= 0) {
				*out++ = (uint8_t)value;
				at += 3;
				continue;
			}
			if (at == size)
				break;
		}
		if (take_qp(decoder, bytes[at], &out, &event))
			at++;
	}
	*ret_used = at;
	*ret_out_size = (size_t)(out - ret_out);
	return event;
}

void qp_end(struct qp *decoder, uint8_t *ret_out, size_t *ret_out_size)
{
	/* A "=" at the end is a soft line break, whose line end went with the delimiter. */
	if (decoder->held_size > 0 && decoder->held[0] == '=' &&
	    (decoder->held_size == 1 || ascii_is_blank(decoder->held[1])))
		decoder->held_size = 0;
	*ret_out_size = put_held(decoder, ret_out);
}
