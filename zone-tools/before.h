/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * before.h - what a store holds before it is changed, and what that forbids.
 *
 * Flow: builder.c and resign.c load it first in their transaction.
 */

#include "zone-tools/signer.h"

#include "lib/store/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BEFORE_EZONE	 (-2200) /* the store holds another zone */
#define BEFORE_ESERIAL	 (-2201) /* the serial is not newer than the store's, RFC 1982 */
#define BEFORE_ESIGNED	 (-2204) /* the store is signed and no key was given */
#define BEFORE_EKEY	 (-2205) /* the store is signed by keys that are not among those given */
#define BEFORE_EUNSIGNED (-2206) /* the store is not signed */
#define BEFORE_EKEYS	 (-2207) /* the keys given are not those that the store publishes */

struct before {
	bool is_there; /* false in a new store; then all else is zero */
	struct dnsblv6_facts facts;
	uint32_t negative_ttl;
	bool is_signed;
	uint8_t algorithm;   /* when it is signed */
	bool has_active_key; /* its DNSKEY RRset has the key that is to sign now */
	size_t dnskey_count; /* in that RRset */
	size_t common_count; /* of these, keys that were given */
};

/*
 * keys as in struct signer_options, of which [0] is looked for; key_count may
 * be 0. STORE_ECORRUPT when what must be there is not.
 */
int before_load(struct writer *writer, const struct key *const *keys, size_t key_count,
		struct before *ret_before);

/*
 * A validator that has the old keys must find one of them in the new version:
 * BEFORE_ESIGNED or BEFORE_EKEY when it would not.
 */
int before_check_keys(const struct before *before, size_t key_count);

/* BEFORE_EKEYS unless the keys given are just those that the store publishes. */
int before_check_same_keys(const struct before *before, size_t key_count);

/* wanted, or with 0 the greater of now_s and the old one plus one; BEFORE_ESERIAL. */
int before_choose_serial(const struct before *before, uint32_t wanted, uint64_t now_s,
			 uint32_t *ret_serial);

#ifdef __cplusplus
}
#endif
