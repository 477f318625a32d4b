/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * neighbours.h - the names beside one that is not there, whose NSECs prove what lies around it.
 *
 * Flow: quick.c or proof.c has put the NSECs that say no -> neighbours_find() -> it puts those of
 *       the links found, as far as there is room.
 *
 * A resolver keeps every NSEC that an answer brought and validates, and answers from it by itself
 * (RFC 8198 section 5.1). The records around a name prove the ranges around it, which are asked
 * about next.
 *
 * Only flat names have neighbours: bitmaps whose name is the one asked for but for its first
 * label, and both first labels of the form that FORMAT.md 2.4 has. The names of a side end where
 * another name lies between: static names, the names of another family, dotted names. NSECs of
 * dotted names have other closest enclosers than the question, and some validators take the
 * wrong one for a proof.
 *
 * No function here allocates; links are borrowed until zone_end().
 */

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

struct neighbours_wish {
	unsigned side_max; /* links to each side */
	size_t room; /* bytes that they may have with their signatures, as quick.c writes them */
};

/*
 * The links beside cover, which covers asked, a name that is not there: the nearest first, from
 * both sides by turns, up to the first for which there is no room. Returns how many are in
 * ret_links, which has NEIGHBOURS_MAX. None for a name that is not flat, and where the store
 * cannot be read.
 */
unsigned neighbours_find(struct zone *zone, const struct dnsblv6_key *asked,
			 const struct zone_link *cover, const struct neighbours_wish *wish,
			 struct zone_link *ret_links);

#ifdef __cplusplus
}
#endif
