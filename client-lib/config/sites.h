/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * sites.h - one entry of "zones", in the syntax of Postfix' postscreen_dnsbl_sites.
 *
 * Flow: lists.c cuts "zones" into words -> sites_parse() -> struct config.
 *
 *     NAME [ = FILTER [ = LABEL ] ] [ * WEIGHT ]
 *
 *     FILTER   OCTET . OCTET . OCTET . OCTET; nothing when a LABEL follows
 *     OCTET    part, or [ part ; part ... ]; number..number within brackets alone
 *     part     number, number..number, or & number: all that have one of these bits
 *     LABEL    1 to 31 letters, digits, "-", "_" and "."
 *     WEIGHT   whole number, may be negative; 1 when it is not there
 *
 * Whatever is refused gets a reason: static text that follows "zones "WORD": ".
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include "client-lib/config/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Octets of a zone's name, so that the longest name below it, 32 nibbles, has its place. */
#define SITES_NAME_MAX	 (DNSBLV6_LABELS_MAX - 64)
#define SITES_WEIGHT_MAX 1000000 /* either way; 64 of them are far from 2^31 */

struct sites_entry {
	struct dnsblv6_labels name; /* lower case, without root label */
	char text[CONFIG_TEXT_MAX]; /* the same, without final dot */
	int32_t weight;
	struct config_filter filter;
	char label[CONFIG_LABEL_SIZE]; /* "": none */
};

/* NULL, or why text (size bytes) is no entry; *ret_entry is written on success only. */
const char *sites_parse(const char *text, size_t size, struct sites_entry *ret_entry);

/* A name that is asked in a zone, without final dot and in lower case. ret_text as below. */
const char *sites_parse_labels(const char *text, size_t size, struct dnsblv6_labels *ret_name,
			       char *ret_text);

/* The same for the name of a zone. ret_text has CONFIG_TEXT_MAX bytes. */
const char *sites_parse_name(const char *text, size_t size, struct dnsblv6_labels *ret_name,
			     char *ret_text);

#ifdef __cplusplus
}
#endif
