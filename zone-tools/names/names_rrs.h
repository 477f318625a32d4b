/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * names_rrs.h - what a line of a list says about a name, and the RRs it gives.
 *
 * Flow: names.c sorts the entries and decides which of them count for a name ->
 *       names_rrs_add() for each of these, names_rrs_settle() after the last.
 *
 * Entries borrow from the listing. Nothing here allocates.
 */

#include "zone-tools/base/listing.h"

#ifdef __cplusplus
extern "C" {
#endif

enum names_entry_kind {
	NAMES_LISTED,  /* a name of a dnset */
	NAMES_RECORD,  /* an RR */
	NAMES_SUBZONE, /* the name of an origin: lists of those above end here */
	NAMES_HOST,    /* a name server inside the zone, whose addresses are no list's */
};

struct names_entry {
	const uint8_t *key; /* from the apex on */
	uint32_t dataset;
	uint32_t value; /* as in struct name_entry */
	uint16_t key_size;
	uint16_t origin;
	uint8_t reach;
	uint8_t kind;
	bool is_test_point; /* with the value that it gets without a line for it */
};

#define NAMES_SOURCES_MAX 48  /* entries that give one name its RRs: they have to fit a message */
#define NAMES_RDATA_MAX	  257 /* an MX, which is larger than a character-string */
#define NAMES_RRS_MAX	  (2 * NAMES_SOURCES_MAX + 1)
struct names_rrs {
	struct dnsblv6_rr rrs[NAMES_RRS_MAX];
	size_t count;
	uint8_t rdata[NAMES_RRS_MAX][NAMES_RDATA_MAX];
};

/* Appends what a listed name or a record gives: at most 2 RRs, for which there is room. */
void names_rrs_add(const struct listing *listing, const struct names_entry *entry,
		   struct names_rrs *rrs);
/* The same of one value, whose text has name for its marks. */
void names_rrs_add_value(const struct dnsblv6_value *value, const char *name, size_t name_size,
			 struct names_rrs *rrs);
/* For a name that exists and is not listed: a record that says so. There is room for it. */
#define NAMES_UNLISTED "\007DNSBLv6\010unlisted" /* RDATA of an HINFO, and a NUL */
void names_rrs_add_unlisted(uint32_t ttl, struct names_rrs *rrs);
/* Puts them in order, each once, with the least TTL of a type for all of it. */
void names_rrs_settle(struct names_rrs *rrs);
/* Compares settled ones. */
bool names_rrs_equal(const struct names_rrs *a, const struct names_rrs *b);

#ifdef __cplusplus
}
#endif
