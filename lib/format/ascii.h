/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * ascii.h - letters, digits, blanks and decimal numbers of ASCII, whatever the locale: names of DNS,
 *           keywords and numbers of protocols and files.
 *
 * Flow: a byte of a name -> ascii_lower() -> a comparison, or the key of a record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint8_t ascii_lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + ('a' - 'A')) : byte;
}

/* Of a byte, or of a char whatever its sign. */
static inline bool ascii_is_digit(int byte)
{
	return byte >= '0' && byte <= '9';
}

static inline bool ascii_is_letter(int byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static inline bool ascii_is_alnum(int byte)
{
	return ascii_is_letter(byte) || ascii_is_digit(byte);
}

static inline bool ascii_is_blank(int byte)
{
	return byte == ' ' || byte == '\t';
}

/* A blank, or what is left of CR LF at the end of a line. */
static inline bool ascii_is_space(int byte)
{
	return ascii_is_blank(byte) || byte == '\r';
}

/*
 * The number of the digits at *at, which goes behind them; -1 without a digit, and above max. end is NULL where a
 * byte that is no digit follows for sure, such as the NUL of a text.
 */
static inline int64_t ascii_take_number(const char **at, const char *end, int64_t max)
{
	const char *digit = *at;
	int64_t number = 0;
	for (; digit != end && ascii_is_digit(*digit); digit++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *digit - '0', &number) || number > max)
			return -1;
	}
	if (digit == *at)
		return -1;
	*at = digit;
	return number;
}

/* The number that the whole text is; -1 when it is none, and above max. */
static inline int64_t ascii_number(const void *text, size_t size, int64_t max)
{
	const char *at = (const char *)text;
	const char *end = at + size;
	const int64_t number = ascii_take_number(&at, end, max);
	return at == end ? number : -1;
}
