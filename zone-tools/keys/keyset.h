/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keyset.h - the DNSKEY records of a zone: which stay, which come, which go.
 *
 * Flow: keyfiles.c fills in what was given -> before.c notes what the store
 *       publishes -> keyset_choose() decides -> apex.c and bare.c write it.
 *
 * No DNSKEY goes away because its file was not given: what a store publishes
 * stays, until it is named to be withdrawn. The DNSKEY RRset has a signature of
 * each key (FORMAT.md 4.8), as the zone above may have the DS of any; link.c
 * keeps the signatures of keys that were not given, for which the RRset must
 * stay what it is.
 *
 * With a key directory a rollover decides instead (rollover.h): what is published follows from the
 * state of each key, and that state is remembered with it, in one transaction.
 *
 * A keyset borrows its keys, and owns nothing.
 */

#include "zone-tools/keys/rollover_text.h"
#include "zone-tools/keys/signer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KEYSET_EUNSIGNED (-2206) /* the store is not signed */
#define KEYSET_ESIGNED	 (-2204) /* the store is signed and no key was given */
#define KEYSET_EKEY	 (-2205) /* the key that is to sign is not published */
#define KEYSET_EKEYS	 (-2207) /* the records change, and not all that sign them were given */
#define KEYSET_EADDED	 (-2214) /* a key is not published, and must not be added here */
#define KEYSET_EABSENT	 (-2215) /* a key to be withdrawn is not published */
#define KEYSET_EGIVEN	 (-2216) /* a key to be withdrawn was given as well */
#define KEYSET_EACTIVE	 (-2217) /* a key to be withdrawn has signed the zone until now */
#define KEYSET_ECLASH	 (-2218) /* a key has the tag of a published one, or another algorithm */
#define KEYSET_EMANY	 (-2219) /* more than SIGNER_KEYS_MAX keys */
#define KEYSET_EROLLED	 (-2221) /* the keys of the store are in a directory, which was not given */
#define KEYSET_EMOVED	 (-2222) /* another process has made a step of the rollover meanwhile */

/* Text for these; NULL for any other status. */
const char *keyset_strerror(int status);

struct keyset_dnskey {
	uint8_t rdata[KEY_DNSKEY_MAX];
	uint16_t size;
	uint16_t tag;
	bool is_given;	      /* its private half is at hand */
	uint64_t signature_s; /* when its signature over the RRset ends; 0: there was none */
};

struct keyset {
	/* What was given. */
	const struct key *keys[SIGNER_KEYS_MAX]; /* [0] signs the zone; all sign the DNSKEY RRset */
	size_t key_count;			 /* 0: the zone is not to be signed */
	uint16_t withdrawn[SIGNER_KEYS_MAX];	 /* key tags */
	size_t withdrawn_count;
	bool may_replace; /* sign an unsigned zone, or change all keys at once, or unsign it */
	bool may_not_add; /* all keys given must be published already */

	/* With a key directory; keyset_roll() fills it in. */
	bool is_rolled;
	struct rollover rollover;      /* as it is to be remembered */
	char memo[ROLLOVER_TEXT_SIZE]; /* as the store remembers it; empty: not at all */
	const struct key *other;       /* signs all as well, with another algorithm; or NULL */
	const struct rollover_key *submitted; /* has a CDS and a CDNSKEY; NULL: none */
	uint8_t cds[KEY_DS_SIZE];

	/* What the store publishes: before_load(). */
	struct keyset_dnskey published[SIGNER_KEYS_MAX];
	size_t published_count;
	uint16_t active_tag; /* of the key that signed the SOA */

	/* What the new version publishes: keyset_choose(). */
	struct keyset_dnskey dnskeys[SIGNER_KEYS_MAX];
	size_t dnskey_count;
};

/* Forgets what the store publishes. */
void keyset_begin(struct keyset *set);
/* Notes an RR of the apex of a store. STORE_ECORRUPT for what no store has. */
int keyset_note(struct keyset *set, const struct dnsblv6_rr *rr, uint64_t now_s);

bool keyset_is_signed(const struct keyset *set); /* before */
/* Was the key that is to sign published before? */
bool keyset_has_active(const struct keyset *set);

/*
 * The keys of a rollover in their roles; zone in lower case. keys are in the order of the
 * rollover's, NULL for one that is not at hand. False: OpenSSL failed.
 */
bool keyset_roll(struct keyset *set, const struct dnsblv6_labels *zone,
		 const struct rollover *rollover, const struct key *const keys[ROLLOVER_KEYS_MAX]);

/*
 * What signs the new version, in place of *signer, which may be of a run that did not fit: NULL for
 * a set without keys. set and zone are borrowed. As signer_new().
 */
int keyset_new_signer(const struct keyset *set, const struct dnsblv6_labels *zone, uint64_t now_s,
		      uint32_t lifetime_s, struct signer **signer);

/* How the new version is signed; of a set with keys. */
struct dnsblv6_signing keyset_signing(const struct keyset *set, uint64_t expires_s);

/* The DNSKEY, CDS and CDNSKEY records of the new version; they borrow from the set. Returns how many. */
#define KEYSET_RRS_MAX (SIGNER_KEYS_MAX + 2)
size_t keyset_rrs(const struct keyset *set, uint32_t ttl,
		  struct dnsblv6_rr ret_rrs[KEYSET_RRS_MAX]);

/*
 * Decides what the new version publishes, and in which order: what was there
 * stays in its place. is_same_ttl says whether the TTL of the RRset stays.
 * A status above; what the set was is then left for keyset_describe().
 */
int keyset_choose(struct keyset *set, bool is_same_ttl);

/*
 * For a status above: "published=111,222 given=333 " with its last blank; empty for any other, and where the
 * store is not signed.
 */
#define KEYSET_TEXT_SIZE 128
void keyset_describe(const struct keyset *set, int status, char *ret_text);

#ifdef __cplusplus
}
#endif
