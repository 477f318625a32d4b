/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * print.h - verdicts as lines: tabs for programs, columns for eyes, JSON (RFC 8259).
 *
 * Flow: verdicts.c, main.c, decode.c -> print.c -> standard output
 */

#include "client-lib/lookup/lookup.h"

/* key says what topic is, to JSON. reason is NULL when there is none. One line, not flushed. */
void print_verdict(const struct lookup *lookup, const char *key, const char *topic,
		   const struct dnsblv6_result *result, const char *reason);

/* One line for the entry that info is about. */
void print_zone(const struct lookup *lookup, const struct dnsblv6_zone_info *info);

/* "text" with its quotes, so that any bytes make valid JSON. */
void print_json_text(const char *text);
