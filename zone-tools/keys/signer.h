/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * signer.h - the signatures of a zone: collected, then made on all cores at once.
 *
 * Flow: chain.c adds what has to be signed -> signer_start() -> signer_finish() ->
 *       chain.c takes the signatures. key.h makes one; this file makes many.
 *
 *     size_t job;
 *     ret = signer_add(signer, key, &rrsig, owner, rdatas, count, &job);
 *     ...
 *     ret = signer_start(signer);    the next ones may be added now
 *     ...
 *     ret = signer_finish(signer);
 *     signer_take(signer, job, &rrsig.signature);
 *
 * signer_start() forks children that sign their share into shared memory and
 * end, while the program writes what was signed before: there are no threads, and a key
 * never leaves the program's memory. A signer owns its memory; the keys and the zone are borrowed.
 */

#include "zone-tools/keys/key.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIGNER_LIFETIME_S (14 * 86400) /* by default */
/* The last are renewed at five fourteenths, which must be before servers warn, at three days. */
#define SIGNER_LIFETIME_MIN_S (10 * 86400)
#define SIGNER_LIFETIME_MAX_S (366 * 86400)
#define SIGNER_KEYS_MAX	      4 /* in one DNSKEY RRset; a rollover needs two */

struct signer;

struct signer_options {
	const struct dnsblv6_labels *zone;
	const struct key *const *keys; /* [0] signs everything, all sign the DNSKEY RRset */
	size_t key_count;
	const struct key *other; /* of another algorithm, signs all but that as well; or NULL */
	uint64_t now_s;
	uint32_t lifetime_s; /* signatures end up to a fourteenth of it earlier, each at its time */
	unsigned process_count; /* 0: one for each core */
};

/* DNSBLV6_OK or -ENOMEM. */
int signer_new(const struct signer_options *options, struct signer **ret_signer);
/* Takes NULL. */
void signer_free(struct signer *signer);

const struct signer_options *signer_options(const struct signer *signer);

/* The keys that sign RRsets of that type at the apex. Returns how many. */
#define SIGNER_SIGNATURES_MAX (SIGNER_KEYS_MAX + 1) /* of one RRset */
size_t signer_keys_for(const struct signer *signer, uint16_t type,
		       const struct key *ret_keys[SIGNER_SIGNATURES_MAX]);
/* Those that sign everything, the lesser algorithm first: one or two. */
#define SIGNER_ZONE_KEYS_MAX 2
size_t signer_zone_keys(const struct signer *signer,
			const struct key *ret_keys[SIGNER_SIGNATURES_MAX]);

/*
 * Adds an RRset to sign. rrsig comes with type_covered, labels and ttl and is
 * completed; its signature bytes are void before signer_take(). rdatas are
 * sorted in place.
 */
int signer_add(struct signer *signer, const struct key *key, struct dnsblv6_rrsig *rrsig,
	       const struct dnsblv6_labels *owner, struct dnsblv6_rdata *rdatas, size_t rdata_count,
	       size_t *ret_job);
/* Begins to make all signatures that were added. What is added from now on has numbers from 0 again. */
int signer_start(struct signer *signer);
/*
 * Waits for the signatures that were begun last, which can be taken until the next start. -errno or
 * KEY_ECRYPTO when one cannot be made.
 */
int signer_finish(struct signer *signer);
void signer_take(const struct signer *signer, size_t job, struct dnsblv6_signature *signature);

/*
 * Need the signature not be made again? It is the key's, its time has begun, more than five fourteenths
 * of the lifetime are left, and its owner has had no day since it was made.
 *
 * Each name has a day in every half of the lifetime, so that each day renews an equal share
 * of the zone, however many were signed at once. Days are whole and of UTC: the first run of a
 * day renews its share, and others of that day nothing.
 */
bool signer_is_fresh(const struct signer *signer, const struct key *key,
		     const struct dnsblv6_labels *owner, const struct dnsblv6_signature *signature);

/* Signatures made so far; none by NULL. */
uint64_t signer_count(const struct signer *signer);

#ifdef __cplusplus
}
#endif
