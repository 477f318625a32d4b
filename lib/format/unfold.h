/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * unfold.h - a stored name as all the RRs that it publishes.
 *
 * Flow: a record of the store or of its journal -> dnsblv6_unfold_name() -> a
 *       zone transfer (server/), a master file or a digest (zone-tools/).
 *
 * A bitmap is an AAAA, its RRSIG, an NSEC and its RRSIG, or two RRSIGs of each; a record of RRsets is
 * its RRs and an NSEC (FORMAT.md part 4.8). Answers need one RRset of these.
 *
 * No function here allocates, locks or logs.
 */

#include "lib/format/dnssec.h"

#define DNSBLV6_UNFOLD_MAX	  132 /* RRs at one name: 128 that are stored, and what is not */
#define DNSBLV6_UNFOLD_RRSIGS_MAX 4

struct dnsblv6_unfold {
	const struct dnsblv6_labels *zone; /* borrowed */
	uint32_t ttl;			   /* of bitmaps */
	uint32_t negative_ttl;		   /* of NSEC */
	bool is_signed;			   /* with this algorithm */
	uint8_t algorithm;
	uint8_t other_algorithm; /* 0: none */
	/* The RRs of the name that was unfolded last; they borrow from its record, and from below.
	 */
	struct dnsblv6_rr rrs[DNSBLV6_UNFOLD_MAX];
	size_t count;
	struct dnsblv6_bitmap bitmap;
	uint8_t rrsigs[DNSBLV6_UNFOLD_RRSIGS_MAX][DNSBLV6_RRSIG_MAX];
	size_t rrsig_count;
	uint8_t nsec[DNSBLV6_NSEC_MAX];
};

/*
 * For an unsigned zone, from its facts (borrowed) and the record of its apex. A caller
 * that knows it to be signed says so in *ret_unfold. DNSBLV6_ERECORD without an SOA.
 */
int dnsblv6_unfold_begin(struct dnsblv6_unfold *ret_unfold, const struct dnsblv6_facts *facts,
			 const uint8_t *apex, size_t apex_size);

/*
 * The RRs of name, relative to the apex, whose record is data. next is the
 * name behind it, which only a signed zone needs. Without a record (size 0) there are none.
 * DNSBLV6_OK or DNSBLV6_ERECORD.
 */
int dnsblv6_unfold_name(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
			const uint8_t *data, size_t size, const struct dnsblv6_labels *next);
