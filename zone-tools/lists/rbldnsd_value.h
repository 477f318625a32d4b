/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rbldnsd_value.h - what a listed address is answered with, in rbldnsd's words.
 *
 * Flow: rbldnsd.c parses the value of each entry -> at the end of a dataset,
 *       when its variables and TTL are known, rbldnsd_value_compile() makes
 *       of each what lib/format keeps.
 *
 *     :127.0.0.3:text $   A value and text     :3     A value, text of the default
 *     :3:text $           short form           :3:    A value, no text
 *     text $              A of the default
 *
 * In a text "$" is the listed address, "$$" a dollar sign, "$0" to "$9"
 * variables; "$=" is the text of the entry inside the base template.
 *
 * No function here allocates, logs or keeps a pointer.
 */

#include "lib/format/record.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RBLDNSD_RAW_MAX	 255 /* bytes of a text in the file; the rest is cut off */
#define RBLDNSD_TEXT_MAX 254 /* bytes of a text in an answer */

#define RBLDNSD_VARIABLE_BASE  10 /* "$=", the base template */
#define RBLDNSD_VARIABLE_COUNT 11

/* What is said once for a whole dataset. */
struct rbldnsd_scope {
	uint32_t ttl;				 /* 0: not said */
	char *variables[RBLDNSD_VARIABLE_COUNT]; /* owned; NULL: not said */
};

/*
 * text (ends in NUL, no blanks around) as a value: its own text is borrowed
 * from text, the rest is taken from fallback. NULL, or why not: static text.
 */
const char *rbldnsd_value_parse(const char *text, const struct dnsblv6_value *fallback,
				struct dnsblv6_value *ret_value, bool *ret_is_cut);

/*
 * raw as dnsblv6_value_expand() wants it. Its text is written to ret_text,
 * which has RBLDNSD_TEXT_MAX bytes, and borrowed from there. An action of an
 * acl (DNSBLV6_ORIGIN_ACL) stays as it is.
 */
struct dnsblv6_value rbldnsd_value_compile(const struct dnsblv6_value *raw,
					   const struct rbldnsd_scope *scope, uint8_t *ret_text);

#ifdef __cplusplus
}
#endif
