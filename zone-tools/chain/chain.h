/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * chain.h - names of a zone one after the other: linked, signed, and written
 *           only where they differ from the version before.
 *
 * Flow: builder.c puts every name in the order of the keys -> chain finds what
 *       it was in the store's old version -> link.h signs -> lib/lmdb/writer.h.
 *
 * A name's NSEC depends on the name behind it, so each name is finished when
 * the next one comes. What is the same as before, signatures included, is not
 * touched: not signed, not written, not recorded.
 *
 * What is put is the whole zone, or regions of it: runs of keys. Inside a
 * region, names that are not put again are deleted; outside, nothing changes but
 * the NSEC at the name before a region.
 *
 *     chain_begin(chain, &start);
 *     chain_put(chain, ...);      ascending, all at or behind start
 *     chain_close(chain, &end);   the next region starts at end or later
 *     ...
 *     chain_end(chain, &result);
 *
 * A chain owns its memory; everything it is given is borrowed until
 * chain_end() or chain_free().
 */

#include "zone-tools/chain/link.h"
#include "zone-tools/records/recorder.h"

#include "lib/lmdb/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a change of a store ends: builder.h, updater.h and resign.h return these. */
#define CHAIN_EVALUES	 (-2202) /* more than DNSBLV6_SET_VALUES_MAX values for one address */
#define CHAIN_ERECORDS	 (-2203) /* more records than allowed */
#define CHAIN_EUNCHANGED (-2210) /* the store has all of it; nothing was written */
#define CHAIN_EREFUSED	 (-2211) /* findings say why */
#define CHAIN_EORIGIN	 (-2212) /* the store has no such sub-zone */
#define CHAIN_EDRYRUN	 (-2262) /* all of it could have been written; nothing was */
#define CHAIN_EMOVED	 (-2263) /* another process has changed the store meanwhile */

/* Text for these, before.h's, keyset.h's, key.h's, versions.h's, lib/store's and -errno values. Never NULL. */
const char *chain_strerror(int status);

struct chain;

struct chain_options {
	struct link_options link;
	struct recorder *recorder; /* or NULL */
};

/* Of a version whose TTLs are those of the one before. */
struct chain_options chain_continue(const struct before *before, struct signer *signer,
				    struct recorder *recorder);

/* What became of the names. */
struct chain_result {
	uint64_t added_count;
	uint64_t changed_count; /* names whose record is written again */
	uint64_t removed_count;
	uint64_t expires_s; /* when the first signature ends; 0 when there is none */
	uint32_t ttl_max;   /* of the names put, when they are signed */
};

/* Names that are different now. */
uint64_t chain_touched(const struct chain_result *result);
/* Writes the digest of the zone (RFC 8976), and the facts of the version. 0 or a negative status. */
int chain_put_facts(struct writer *writer, const struct dnsblv6_facts *facts, struct signer *signer,
		    struct recorder *recorder);
/* Writes how the zone is signed. */
int chain_put_signing(struct writer *writer, const struct dnsblv6_signing *signing);

/* The counts of result and the time, for recorder_end(). */
struct dnsblv6_change chain_change(const struct chain_result *result, uint64_t made_s);

/* DNSBLV6_OK, -ENOMEM or a status of lib/store. */
int chain_new(struct writer *writer, const struct chain_options *options, struct chain **ret_chain);
/* Takes NULL. */
void chain_free(struct chain *chain);

/* A region begins at start; the first one, or the whole zone, at the key of the apex. */
int chain_begin(struct chain *chain, const struct dnsblv6_key *start);
/* It ends before end; NULL: it reaches to the end of the zone. */
int chain_close(struct chain *chain, const struct dnsblv6_key *end);

/*
 * The next name: its key and its record without signatures (record.h). Both
 * are copied. DNSBLV6_EKEY when the key is not greater than the one before.
 */
int chain_put(struct chain *chain, const struct dnsblv6_key *key, const uint8_t *data, size_t size);
/* Behind the last region. *ret_result on success only. */
int chain_end(struct chain *chain, struct chain_result *ret_result);

/*
 * Then, in a store that says when the first signature ends: whether one of these ends earlier, the keys,
 * lifetime_s if it is not 0, the facts and the change.
 */
int chain_put_version(struct chain *chain, const struct dnsblv6_facts *facts,
		      const struct keyset *keyset, uint32_t lifetime_s);

#ifdef __cplusplus
}
#endif
