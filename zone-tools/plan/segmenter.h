/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * segmenter.h - what the classic zone answers where a set bit does not say it all.
 *
 * Flow: plan.h -> builder.c and updater.c -> segmenter_add() -> STORE_SEGMENTS.
 */

#include "zone-tools/plan/plan.h"
#include "zone-tools/records/recorder.h"

#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

/* Where they go; a recorder notes what was there, for a change that does not compare tables. */
struct segment_sink {
	struct writer *writer;
	struct recorder *recorder; /* or NULL */
};

/*
 * The segments of an origin: pieces with other values than its default, and units that are not
 * listed although their bit is set. A zone of classic names has no bits: its segments are all of
 * its pieces. Parts come ascending, all with one default; what goes on in the next part is one
 * segment. DNSBLV6_OK or a status of lib/store.
 */
struct segmenter {
	const struct segment_sink *sink;
	uint16_t origin;
	enum dnsblv6_style style;
	/* What has been met and not been put yet; all zero at first. */
	bool has_held;
	struct dnsblv6_segment held; /* a piece, which may go on */
	bool has_pending;
	struct dnsblv6_segment pending; /* what is not listed so far, behind it */
};
int segmenter_add(struct segmenter *segmenter, const struct plan_part *part);
/* Behind the last part. */
int segmenter_end(struct segmenter *segmenter);
/*
 * Takes prefixes, ascending, out of the segments that an origin has in the version before;
 * what reaches over their borders stays. segmenter_end_cut() behind the last.
 */
struct segment_cut {
	struct segment_sink sink;
	struct writer_walk *segments; /* over STORE_SEGMENTS */
	uint16_t origin;
	/* The one met last, and what of it is left; all zero at first. */
	bool has_segment;
	bool is_deleted;
	struct store_bytes key;
	struct dnsblv6_segment segment;
};
int segmenter_cut(struct segment_cut *cut, struct dnsblv6_prefix prefix);
int segmenter_end_cut(struct segment_cut *cut);

/* One alone. */
int segmenter_put(const struct segment_sink *sink, uint16_t origin,
		  const struct dnsblv6_segment *segment);
