/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * link.h - one name of a zone and its signatures: which are kept from the
 *          version before, and which have to be made.
 *
 * Flow: chain.c knows a name, what it was before, and the name behind it ->
 *       link_seal() -> signer.h -> link_take() -> link_encode() -> the store.
 *
 * A signature is kept, byte for byte, when what it is over is the same as
 * before, the key is, and its day has not come (signer.h).
 */

#include "zone-tools/keys/signer.h"

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct link_options {
	const struct dnsblv6_labels *zone;
	struct signer *signer; /* NULL: the zone is not signed */
	uint32_t ttl;	       /* of bitmaps */
	uint32_t negative_ttl; /* of NSEC records, RFC 9077 */
	uint32_t old_ttl;      /* the same in the version before */
	uint32_t old_negative_ttl;
	bool is_key_new; /* keys[0] of the signer was not in the version before: keep nothing */
};

struct seal;

/* All zero at first; its owner is chain.c. */
struct link {
	struct dnsblv6_key key;
	struct dnsblv6_labels owner;
	uint8_t *data; /* without signatures; ours */
	size_t size;
	bool has_old;
	struct store_bytes old; /* in the version before, with signatures */
	bool is_same_next;	/* the name behind it is the one that was behind it */
	struct dnsblv6_key old_next;
	struct dnsblv6_key next; /* of a signed zone */
	struct seal *seals;	 /* ours; of a bitmap: AAAA and NSEC, for each key */
	size_t seal_count;
	bool is_changed; /* it has to be written */
};

void link_clear(struct link *link);

/* next is the name behind it. Gives the signer what has to be signed. DNSBLV6_OK, -ENOMEM, ... */
int link_seal(const struct link_options *options, struct link *link,
	      const struct dnsblv6_key *next);
/*
 * When the signer has run. *expires_s becomes the earliest end of a signature, 0: none yet;
 * *ttl_max the greatest TTL.
 */
void link_take(const struct link_options *options, struct link *link, uint64_t *expires_s,
	       uint32_t *ttl_max);
/* The record as it is stored. ret_data has BARE_RECORD_MAX bytes (bare.h). */
int link_encode(const struct link_options *options, const struct link *link, uint8_t *ret_data,
		size_t *ret_size);

#ifdef __cplusplus
}
#endif
