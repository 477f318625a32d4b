/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * names.h - lists of domain names, as names of a zone.
 *
 * Flow: listing.h -> names_make() -> builder.c puts each names_item among the
 *       names of blocks.
 *
 * rbldnsd looks for the name itself and then, from the nearest on, for entries
 * of what is above it; in a zone a wildcard stands for all that does not exist
 * (RFC 4592). The two differ where a name exists below a wildcard, so what
 * rbldnsd would go on to find is put there too:
 *
 *     .example           example A, *.example A
 *     x.y.example        x.y.example A, and because y.example now exists,
 *                        y.example A and *.y.example A with the values of .example
 *     !.no.example       no.example HINFO: it exists, so that *.example is not for it
 *                        or anything below
 *
 * What answers like the wildcard above it is left out. Sub-zones have names of
 * their own: a list never reaches into one.
 *
 * Inside a dataset the entry of the name itself decides, else the nearest
 * above; a name gets the values of all datasets of its origin.
 */

#include "zone-tools/names/names_rrs.h"

#include "zone-tools/base/findings.h"
#include "zone-tools/base/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A name of the zone that is to have records. */
struct names_item {
	const uint8_t *key; /* begins with the one of this name; the listing's */
	uint32_t sources;   /* the first of its entries */
	uint16_t key_size;  /* of the name, without the asterisk */
	uint8_t source_count;
	bool is_wildcard;
};

struct names_plan {
	struct names_item *items; /* in the order of their keys; one of size 0 is the apex */
	size_t count;
	size_t capacity;
	uint32_t *sources; /* numbers of entries */
	size_t source_count;
	size_t source_capacity;
	struct names_entry *entries; /* in the order of their keys */
	size_t entry_count;
	size_t entry_capacity;
	const struct listing *listing; /* borrowed */
	uint64_t listed_count;	       /* items that answer for lists, test points apart */
};

/*
 * The names of all lists. Names that cannot be in the zone are findings. spec
 * may be NULL, and then nothing is known of name servers inside the zone.
 * DNSBLV6_OK or -ENOMEM. ret_names is zeroed before; end it with names_deinit() either way.
 */
int names_make(struct listing *listing, const struct spec *spec, struct findings *findings,
	       struct names_plan *ret_names);
void names_deinit(struct names_plan *names);

/* The key of an item. */
struct dnsblv6_key names_key(const struct names_plan *names, size_t item);

/* Its RRs, in order. ttl is for names that exist without being listed. */
void names_get(const struct names_plan *names, size_t item, uint32_t ttl,
	       struct names_rrs *ret_rrs);

#ifdef __cplusplus
}
#endif
