/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zone.h - one store as a DNS zone: which names exist, and what is at them.
 *
 * Flow: watch.c opens and switches; answer.c begins when the zone is asked
 *       first in a batch, records.c and classic.c look names up,
 *       serving.c ends what was begun when the batch is done.
 *
 *     closed --zone_open()--> open --zone_begin()--> begun --zone_end()--> open
 *
 * Between begin and end everything comes from one version of the store. Never
 * keep a zone begun across a return to the event loop: pages that writers free
 * meanwhile cannot be used again and the file grows.
 *
 * What is asked for all the time and rarely changes (facts, sub-zones, SOA) is
 * kept here decoded, and read again when the version differs. So is the index of
 * names (index.h), some of which is made at each end, until it is complete.
 *
 * Keys are in canonical order and all of them are names with data, so the
 * records of a signed zone are its NSEC chain: each entry is linked to the next.
 */

#include "lib/format/dnssec.h"
#include "lib/lmdb/reader.h"
#include "server/zone/index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZONE_SOA_MAX 530 /* two names of 255 octets and five numbers */
/* The signer has missed several of its runs when signatures have so little left. */
#define ZONE_SIGNATURES_SOON_S ((uint64_t)3 * 86400)
/* Signatures begin that long before a zone is made (signer.c). */
#define ZONE_SIGNATURES_SKEW_S ((uint64_t)3600)

/* A name in the RDATA of the SOA, as it can be written where the apex can be pointed to. */
#define ZONE_SOA_NAMES 2
struct zone_soa_name {
	const uint8_t *labels;
	uint8_t size;  /* of the labels alone when is_below, else of the whole name */
	bool is_below; /* the apex follows */
};

struct zone {
	const uint8_t *apex;   /* lower-case wire form with the root label, borrowed */
	size_t apex_size;      /* with the root label */
	unsigned apex_labels;  /* without it */
	const char *path;      /* borrowed */
	struct reader *reader; /* NULL while closed */
	int status;	       /* why nothing can be answered; 0 when it can */
	int damage;	       /* what scrub.h has found of what is open; 0: nothing */
	uint64_t checked_s;    /* when all of it was compared with its checksum last; 0: not here */
	uint64_t failed_count; /* questions that what is open could not answer; watch.h tells */
	bool is_begun;
	bool is_read_once; /* set before zone_open(): no index, because nothing will be looked up */

	/* Kept for version; all of it void while has_version is false. */
	bool has_version;
	uint64_t version;
	struct dnsblv6_facts facts;
	uint64_t lists_s;  /* when its lists were written; 0: unknown */
	bool is_age_lost;  /* the store says it, and cannot be understood */
	size_t files_size; /* of a row of struct dnsblv6_list_file; 0: none is known */
	uint8_t files[DNSBLV6_LIST_FILES_MAX];
	struct dnsblv6_origin *origins; /* index is the number of the origin; ours */
	size_t origin_count;
	uint32_t soa_ttl;
	uint32_t negative_ttl; /* RFC 2308: the lesser of the SOA's TTL and its MINIMUM */
	uint16_t soa_size;
	uint8_t soa[ZONE_SOA_MAX];
	struct zone_soa_name soa_names[ZONE_SOA_NAMES];
	struct index index;
	bool has_clients; /* there is a list of clients (clients.h) */
	bool is_signed;
	struct dnsblv6_signing signing; /* when it is signed */
	uint16_t soa_rrsig_size;	/* RDATA of the RRSIG of the SOA; 0: none */
	uint8_t soa_rrsig[DNSBLV6_RRSIG_MAX];
	uint16_t other_soa_rrsig_size; /* that of another algorithm; 0: none */
	uint8_t other_soa_rrsig[DNSBLV6_RRSIG_MAX];
};

/* A closed zone. The pointers are borrowed until zone_close(). */
void zone_init(struct zone *zone, const uint8_t *apex, size_t apex_size, const char *path);

/*
 * Opens the store at path and reads what is kept. Returns 0, -errno, or a
 * STORE_ or DNSBLV6_ status; ZONE_EAPEX when the store is of another zone. A
 * zone that was open is closed first, because LMDB must not have two stores
 * with one lock file open in a process. zone->status becomes what is returned.
 */
int zone_open(struct zone *zone);
/* Takes a closed zone. */
void zone_close(struct zone *zone);

#define ZONE_EAPEX (-2150)
/* Texts for all that zone_open() may return. Never NULL. */
const char *zone_strerror(int status);
/* The same for a file that this process was to open: what root could read, but for its capabilities. */
const char *zone_explain(int status);

/*
 * Is that status damage, or a file that is no store of ours: will the same bytes be refused again?
 */
bool zone_is_damage(int status);

/* Is apex, as a store has it, the zone's own? Case does not matter. */
bool zone_has_apex(const struct zone *zone, const struct dnsblv6_labels *apex);

/* Returns 0, also when begun already; or why nothing can be answered. */
int zone_begin(struct zone *zone);
/* Takes a zone that is not begun. */
void zone_end(struct zone *zone);
/*
 * Indexes the whole version at once, up to a second of work for the largest: for a worker that
 * does not answer yet. A zone that cannot be begun stays as it is.
 */
void zone_prepare(struct zone *zone);

/* A name with data and what is there. Borrowed until zone_end(). */
struct zone_entry {
	struct store_bytes key;
	struct store_bytes record;
};

/* What zone_find() learned on its way. */
struct zone_match {
	bool is_name;		     /* the name itself exists, with data or without */
	struct dnsblv6_key wildcard; /* otherwise: the one at the closest encloser, or its place */
	struct zone_entry entry;     /* what answers: of the name or of the wildcard */
};

/*
 * What is at the name of key, by RFC 4592: DNSBLV6_OK with an entry, that of the
 * name itself or of the wildcard that stands for it; ZONE_EMPTY when either
 * exists without data (there is something below it); DNSBLV6_ENOTFOUND when
 * there is neither; or a failure, and then *ret_match is void.
 */
#define ZONE_EMPTY 1
int zone_find(struct zone *zone, const struct dnsblv6_key *key, struct zone_match *ret_match);

/* zone_find() for a caller that needs only the entry that answers. */
int zone_find_entry(struct zone *zone, const struct dnsblv6_key *key, struct zone_entry *ret_entry);

/* An entry and the key of the next one, or of the apex after the last. */
struct zone_link {
	struct zone_entry entry;
	struct store_bytes next;
};

/*
 * The links whose NSECs cover what is not there, as far as zone_find() passes
 * them: zone_find_link() finds the others.
 */
struct zone_cover {
	bool has_name;
	bool has_wildcard;
	struct zone_link name;
	struct zone_link wildcard;
};
/* zone_find(), and what it passes of the links. -ENODATA in a store without an apex. */
int zone_find_cover(struct zone *zone, const struct dnsblv6_key *key, struct zone_match *ret_match,
		    struct zone_cover *ret_cover);

/*
 * The link whose NSEC speaks of key, size bytes: of the entry at key, or else
 * of the last one before it, which covers it. DNSBLV6_OK or a failure.
 */
int zone_find_link(struct zone *zone, const uint8_t *key, size_t size, struct zone_link *ret_link);

/* How the signatures of a signed zone are at now_s; of another one they are good. */
enum zone_signatures {
	ZONE_SIGNATURES_GOOD,
	ZONE_SIGNATURES_END_SOON,
	ZONE_SIGNATURES_ENDED,
	ZONE_SIGNATURES_NOT_YET, /* those that were made last, by a clock that is ahead of this one */
};
/* The same of a signed zone that was made at built_s, and whose first signature ends at expires_s. */
enum zone_signatures zone_judge_signatures(uint64_t built_s, uint64_t expires_s, uint64_t now_s);
enum zone_signatures zone_check_signatures(const struct zone *zone, uint64_t now_s);

/* Is rr an RRSIG, of an RRset of that type? */
bool zone_rr_is_rrsig_of(const struct dnsblv6_rr *rr, uint16_t type);

/*
 * The origin that labels, size bytes relative to the apex, lie in: the longest
 * sub-zone, or the apex. *ret_rest_size is how many bytes are left of it.
 * True in *ret_is_above when labels lie above a sub-zone.
 */
uint16_t zone_find_origin(const struct zone *zone, const uint8_t *labels, size_t size,
			  size_t *ret_rest_size, bool *ret_is_above);

#ifdef __cplusplus
}
#endif
