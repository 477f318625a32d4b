/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * neighbours.h - proofs that a denial brings along: of the ranges that clients come back to, and
 * of those beside the name that is not there.
 *
 * Flow: quick.c or proof.c has put the NSECs that say no -> neighbours_find() -> it puts those of
 *       the links found, as far as there is room -> answer.c settles what the client was given.
 *
 * A resolver keeps every NSEC that an answer brought and validates, and answers from it by itself
 * (RFC 8198 section 5.1). Frequent ranges (frequent.h) are what its clients will ask for again;
 * the records around a name prove the ranges around it, which are asked about next by a resolver
 * that knows little of the zone.
 *
 * Only flat names have any: bitmaps whose name is the one asked for but for its first label, and
 * both first labels of the form that FORMAT.md 2.4 has. NSECs of other names have other closest
 * enclosers than the question, and some validators take the wrong one for a proof. The names of a
 * side end where another name lies between: static names, the names of another family, dotted
 * names.
 *
 * Links are borrowed until zone_end(). Nothing here allocates but for the order of frequent ranges.
 */

#include "server/askers/frequent.h"
#include "server/settings/settings.h"
#include "server/zone/zone.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEIGHBOURS_SIDE_MAX SETTINGS_NEIGHBOURS_MAX
#define NEIGHBOURS_MAX	    (2 * NEIGHBOURS_SIDE_MAX)
/*
 * An answer with neighbours has no more bytes, whatever its client takes, and over TCP too: what
 * goes through a resolver without a cut goes so to the resolver's own clients (RFC 9715).
 */
#define NEIGHBOURS_RESPONSE_MAX 1232
/*
 * Tokens of the rate limit that such an answer takes besides its own. With eight of them its bytes
 * are paid for, as no plain denial that is signed has less than an eighth of them.
 */
#define NEIGHBOURS_PRICE 7

/* What a client may have besides the denial. */
struct neighbours_grant {
	unsigned side_max; /* links to each side, and twice as many frequent ones; 0: none at all */
	uint32_t zone;	   /* its number, for frequent.h */
	struct frequent_client client;
};

/* What became of a grant; nothing, when all is zero. */
struct neighbours_given {
	unsigned count; /* of links */
	/* The range that was asked for, of a zone that has frequent ones. */
	bool has_range;
	struct frequent_group group;
	uint64_t number;
	/* How far the client has come among the frequent ranges, with those that are none any more. */
	unsigned advanced;
};

struct neighbours {
	struct zone_link links[NEIGHBOURS_MAX];
	struct neighbours_given given;
};

/*
 * Links to put behind cover, which covers asked, a name that is not there: those of frequent
 * ranges, the most frequent first; then those beside cover, the nearest first, from both sides by
 * turns; up to the first for which there is no room. room is the bytes that they may have with
 * their signatures, as quick.c writes them. No link is there twice, nor cover itself. None for a
 * name that is not flat, and where the store cannot be read.
 */
void neighbours_find(struct zone *zone, const struct dnsblv6_key *asked,
		     const struct zone_link *cover, const struct neighbours_grant *grant,
		     size_t room, struct neighbours *ret_neighbours);

/* Of a denial that is made: counts the range, and moves the client on. */
void neighbours_settle(const struct zone *zone, const struct neighbours_grant *grant,
		       const struct neighbours_given *given);

#ifdef __cplusplus
}
#endif
