/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * word.h - words of a line: a keyword, a port.
 *
 * Flow: command.c, xclient.c and proxy.c find where a word begins and ends -> what it is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is text this keyword, in whichever case? */
bool word_is(const char *text, size_t text_size, const char *keyword);

/* Decimal, from 0 to 65535, without leading zeros. */
bool word_parse_port(const char *text, size_t text_size, uint16_t *ret_port);
