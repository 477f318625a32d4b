/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * hex.h - hexadecimal digits in text that an operator or a peer has written.
 *
 * Flow: address.c, name.c, and the readers of xtext, of lists, of secrets, of signatures and of lines of
 *       opensmtpd.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a digit in either case; -1 when c is none. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#ifdef __cplusplus
}
#endif
