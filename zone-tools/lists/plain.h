/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * plain.h - one line of a plain list.
 *
 * Flow: sources.c has a line -> plain_parse() says what it means.
 *
 *     192.0.2.1                 one address
 *     192.0.2.0/24              a prefix
 *     192.0.2.3 - 192.0.2.9     a range, with or without the blanks
 *     2001:db8::/32             IPv6 in all three forms
 *     !192.0.2.7                an exclusion from a wider line of this file
 *     192.0.2.8  # why          comments after # or ;
 *     192.0.2.8<TAB>10          refused, or with ignore_columns the address alone
 *
 * Columns are parted by blanks, tabs or commas. With ignore_columns a range
 * must have no blanks: a lone "-" there is more likely an empty column.
 *
 * No function here allocates, logs or keeps a pointer.
 */

#include "zone-tools/lists/reading.h"

#ifdef __cplusplus
extern "C" {
#endif

enum plain_kind {
	PLAIN_BLANK, /* nothing but blanks and comment; first and last are not set */
	PLAIN_LISTED,
	PLAIN_EXCLUDED,
};

struct plain_entry {
	enum plain_kind kind;
	struct dnsblv6_addr first;
	struct dnsblv6_addr last; /* of the same family, not before first */
};

/* NULL with *ret_entry, or why the line is refused: static text. */
const char *plain_parse(const char *text, size_t text_size, const struct sources_options *options,
			struct plain_entry *ret_entry);

#ifdef __cplusplus
}
#endif
