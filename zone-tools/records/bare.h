/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * bare.h - records of a store as they were before they were signed.
 *
 * Flow: resign.c and updater.c take the zone's own records out of the store
 *       and give them to chain.h again; chain.c does so with the name before a
 *       changed one, whose NSEC changes.
 */

#include "zone-tools/keys/keyset.h"

#include "lib/lmdb/store.h"

#define BARE_RRS_MAX	128   /* at one name, with their signatures */
#define BARE_RECORD_MAX 32768 /* bytes of such a name */

/* The RRs of one record, borrowed from it. */
struct bare_rrs {
	struct dnsblv6_rr items[BARE_RRS_MAX];
	size_t count;
};
/* DNSBLV6_ESPACE, or as dnsblv6_record_next_rr(). */
int bare_unpack(struct store_bytes value, struct bare_rrs *ret_rrs);

/*
 * value without signatures, of any kind. ret_data has BARE_RECORD_MAX bytes.
 * DNSBLV6_ERECORD when it is damaged, DNSBLV6_ESPACE above the limits.
 */
int bare_record(struct store_bytes value, uint8_t *ret_data, size_t *ret_size);

/* The same of the apex, with another serial and with the records of keyset, whose TTL is ttl. */
int bare_apex(struct store_bytes value, uint32_t serial, const struct keyset *keyset, uint32_t ttl,
	      uint8_t *ret_data, size_t *ret_size);
