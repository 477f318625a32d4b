/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zone.h - one store as a DNS zone: which names exist, and what is at them.
 *
 * Flow: watch.c opens and switches; answer.c begins when the zone is asked
 *       first in a batch, records.c and classic.c look names up, udp.c and
 *       tcp.c end what was begun when the batch is done.
 *
 *     closed --zone_open()--> open --zone_begin()--> begun --zone_end()--> open
 *
 * Between begin and end everything comes from one version of the store. Never
 * keep a zone begun across a return to the event loop: pages that writers free
 * meanwhile cannot be used again and the file grows.
 *
 * What is asked for all the time and rarely changes (facts, sub-zones, SOA) is
 * kept here decoded, and read again when the version differs.
 */

#include "lib/format/record.h"
#include "lib/store/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZONE_SOA_MAX 530 /* two names of 255 octets and five numbers */

struct zone {
	const uint8_t *apex;   /* lower-case wire form with the root label, borrowed */
	size_t apex_size;      /* with the root label */
	const char *path;      /* borrowed */
	struct reader *reader; /* NULL while closed */
	int status;	       /* why nothing can be answered; 0 when it can */
	bool is_begun;

	/* Kept for version; all of it void while has_version is false. */
	bool has_version;
	uint64_t version;
	struct dnsblv6_facts facts;
	struct dnsblv6_origin *origins; /* index is the number of the origin; ours */
	size_t origin_count;
	uint32_t soa_ttl;
	uint32_t negative_ttl; /* RFC 2308: the lesser of the SOA's TTL and its MINIMUM */
	uint16_t soa_size;
	uint8_t soa[ZONE_SOA_MAX];
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

#define ZONE_EAPEX (-2200)
/* Texts for all that zone_open() may return. Never NULL. */
const char *zone_strerror(int status);

/* Is apex, as a store has it, the zone's own? Case does not matter. */
bool zone_has_apex(const struct zone *zone, const struct dnsblv6_labels *apex);

/* Returns 0, also when begun already; or why nothing can be answered. */
int zone_begin(struct zone *zone);
/* Takes a zone that is not begun. */
void zone_end(struct zone *zone);

/*
 * What is at the name of key, by RFC 4592: DNSBLV6_OK with *ret_value, from the
 * name itself or the wildcard that stands for it; ZONE_EMPTY when the name
 * exists without data (there is something below it); DNSBLV6_ENOTFOUND when it
 * does not exist; or a failure. *ret_value is borrowed until zone_end().
 */
#define ZONE_EMPTY 1
int zone_find(struct zone *zone, const struct dnsblv6_key *key, struct store_bytes *ret_value);

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
