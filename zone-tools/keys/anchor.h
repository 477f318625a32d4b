/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * anchor.h - what others are told about a zone's key, as text.
 *
 * Flow: keygen.c, ds.c -> key.h -> a DS record for the parent zone, or a
 *       DNSKEY record for a resolver's trust anchor. libknot writes RDATA.
 */

#include "zone-tools/keys/key.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The apex of a zone as digests and signatures have it, in lower case.
 * DNSBLV6_ENAME when text is no domain name, or the root.
 */
int anchor_parse_zone(const char *text, struct dnsblv6_labels *ret_zone);

/* One line each, without a TTL. -errno when the stream fails, KEY_ECRYPTO. */
int anchor_print_ds(FILE *stream, const struct dnsblv6_labels *zone, const struct key *key);
int anchor_print_dnskey(FILE *stream, const struct dnsblv6_labels *zone, const struct key *key);

#ifdef __cplusplus
}
#endif
