/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * hex.h - digits in text that an operator or a peer has written: hexadecimal ones, and those of base64.
 *
 * Flow: address.c, name.c, and the readers of xtext, of lists, of secrets, of signatures and of lines of
 *       opensmtpd; those of base64 in SASL, OpenPGP and mails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a digit in either case; -1 when c is none. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of two digits, 0 to 255; -1 when either is none. */
static inline int hex_pair(const void *text)
{
	const char *digits = (const char *)text;
	const int high = hex_value(digits[0]);
	const int low = high >= 0 ? hex_value(digits[1]) : -1;
	return low >= 0 ? high << 4 | low : -1;
}

/* The number of so many digits, sixteen at most. False when one of them is none. */
static inline bool hex_number(const void *text, size_t digits, uint64_t *ret_number)
{
	const char *at = (const char *)text;
	uint64_t number = 0;
	for (size_t i = 0; i < digits; i++) {
		const int digit = hex_value(at[i]);
		if (digit < 0)
			return false;
		number = number << 4 | (unsigned)digit;
	}
	*ret_number = number;
	return true;
}

/* The value of a digit of base64 (RFC 4648, part 4), without its padding. */
static inline int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}
