/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * before.h - what a store holds before it is changed, and what that forbids.
 *
 * Flow: builder.c and resign.c load it first in their transaction.
 */

#include "zone-tools/keys/keyset.h"

#include "lib/lmdb/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BEFORE_EZONE   (-2200) /* the store holds another zone */
#define BEFORE_ESTYLE  (-2220) /* the names in the store are of another style */
#define BEFORE_ESERIAL (-2201) /* the serial is not newer than the store's, RFC 1982 */

struct before {
	bool is_there; /* false in a new store; then all else is zero */
	struct dnsblv6_facts facts;
	uint32_t negative_ttl;
	bool is_signed;
	struct dnsblv6_signing signing; /* when it is */
};

/*
 * With what the store publishes in keyset. STORE_ECORRUPT when what must be
 * there is not; KEYSET_EROLLED, KEYSET_EMOVED. *ret_before is written in any case, and in part when it fails.
 */
int before_load(struct writer *writer, struct keyset *keyset, uint64_t now_s,
		struct before *ret_before);

/*
 * wanted, or with 0 now_s; one more than the old one where that is not newer, or BEFORE_ESERIAL
 * if it must be taken.
 */
int before_choose_serial(const struct before *before, uint32_t wanted, bool must_be_taken,
			 uint64_t now_s, uint32_t *ret_serial);

/* Is the new version signed with the same algorithms, if both are signed? */
bool before_keeps_algorithms(const struct before *before, const struct keyset *keyset);

/*
 * Has the store remember the state of the keys, or that there is none. TTLs are those of the new
 * version: of the DNSKEYs, and the greatest of what was written.
 */
int before_remember_keys(struct writer *writer, const struct keyset *keyset, uint32_t dnskey_ttl,
			 uint32_t ttl_max);

#ifdef __cplusplus
}
#endif
