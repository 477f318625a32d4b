/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unfold.h - a stored name as all the RRs that it publishes.
 *
 * Flow: transfer.c reads names of the store or of its journal -> unfold_name()
 *       -> stream.c.
 *
 * A bitmap is an AAAA, its RRSIG, an NSEC and its RRSIG; a record of RRsets is
 * its RRs and an NSEC (FORMAT.md part 4.8). Answers have one RRset of these,
 * transfers all.
 */

#include "server/zone.h"

#include "lib/format/bitmap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct unfold {
	const struct zone *zone; /* begun; its facts make what is not stored */
	struct dnsblv6_rr *rrs;	 /* of the name unfolded last; borrowed until the next one */
	size_t count;
	size_t allocated;
	struct dnsblv6_bitmap bitmap;
	uint8_t rrsig[DNSBLV6_RRSIG_MAX];
	uint8_t nsec[DNSBLV6_NSEC_MAX];
	uint8_t nsec_rrsig[DNSBLV6_RRSIG_MAX];
};

void unfold_init(struct unfold *unfold, const struct zone *zone);
void unfold_deinit(struct unfold *unfold);

/*
 * The RRs of name, relative to the apex. next is the key of the name behind it,
 * which only a signed zone needs. DNSBLV6_OK, DNSBLV6_ERECORD or -ENOMEM. With
 * record.size 0 there are none.
 */
int unfold_name(struct unfold *unfold, const struct dnsblv6_labels *name, struct store_bytes record,
		struct store_bytes next);

#ifdef __cplusplus
}
#endif
