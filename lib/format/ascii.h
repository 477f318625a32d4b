/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * ascii.h - letters, digits and blanks of ASCII, whatever the locale: names of DNS, keywords of protocols
 *           and files.
 *
 * Flow: a byte of a name -> ascii_lower() -> a comparison, or the key of a record.
 */

#include <stdbool.h>
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
