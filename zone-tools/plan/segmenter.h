/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * segmenter.h - what the classic zone answers where a set bit does not say it all.
 *
 * Flow: plan.h -> builder.c and updater.c -> segmenter_write() -> STORE_SEGMENTS.
 */

#include "zone-tools/plan/plan.h"
#include "zone-tools/records/recorder.h"

#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where they go; a recorder notes what was there, for a change that does not compare tables. */
struct segment_sink {
	struct writer *writer;
	struct recorder *recorder; /* or NULL */
};

/*
 * The segments of origin, whose number it is: pieces with other values than
 * its default, and units that are not listed although their bit is set. A zone of classic names
 * has no bits: its segments are all of its pieces.
 * DNSBLV6_OK or a status of lib/store.
 */
int segmenter_write(const struct segment_sink *sink, uint16_t number, enum dnsblv6_style style,
		    const struct plan_origin *origin);
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

#ifdef __cplusplus
}
#endif
