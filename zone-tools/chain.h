/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * chain.h - the names of a zone one after the other: linked, signed, and written
 *           only where they differ from the version before.
 *
 * Flow: builder.c puts every name in the order of the keys -> chain compares
 *       with the store's old version, asks signer.h for the signatures that
 *       are missing or near their end -> lib/store/writer.h.
 *
 * A name's NSEC depends on the name behind it, so each name is finished when
 * the next one comes. What is the same as before, signatures included, is not
 * touched: not signed, not written. Names that are not put again are deleted.
 *
 * A chain owns its memory; everything it is given is borrowed until
 * chain_end() or chain_free().
 */

#include "zone-tools/signer.h"

#include "lib/store/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct chain;

struct chain_options {
	const struct dnsblv6_labels *zone;
	struct signer *signer; /* NULL: the zone is not signed */
	uint32_t ttl;	       /* of bitmaps */
	uint32_t negative_ttl; /* of NSEC records, RFC 9077 */
	uint32_t old_ttl;      /* the same in the version before */
	uint32_t old_negative_ttl;
	bool is_key_new; /* keys[0] of the signer was not in the version before: keep nothing */
};

/* What became of the names. */
struct chain_result {
	uint64_t added_count;
	uint64_t changed_count; /* names whose record is written again */
	uint64_t removed_count;
	uint64_t expires_s; /* when the first signature ends; 0 when there is none */
};

/* DNSBLV6_OK, -ENOMEM or a status of lib/store. */
int chain_new(struct writer *writer, const struct chain_options *options, struct chain **ret_chain);
/* Takes NULL. */
void chain_free(struct chain *chain);

/*
 * The next name: its key and its record without signatures (record.h). Both
 * are copied. DNSBLV6_EKEY when the key is not greater than the one before.
 */
int chain_put(struct chain *chain, const struct dnsblv6_key *key, const uint8_t *data, size_t size);
/* Behind the last name. *ret_result on success only. */
int chain_end(struct chain *chain, struct chain_result *ret_result);

#ifdef __cplusplus
}
#endif
