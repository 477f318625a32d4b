/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/segmenter.h"

#include <stdbool.h>

static int note(const struct segment_sink *sink, const uint8_t *key, size_t key_size)
{
	return sink->recorder != NULL ? recorder_note(sink->recorder, STORE_SEGMENTS, key, key_size)
				      : DNSBLV6_OK;
}

int segmenter_put(const struct segment_sink *sink, uint16_t origin,
		  const struct dnsblv6_segment *segment)
{
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	uint8_t data[DNSBLV6_SEGMENT_MAX];
	size_t key_size = dnsblv6_segment_make_key(origin, segment->last, key);
	size_t size = dnsblv6_segment_encode(segment, data);
	int ret = note(sink, key, key_size);
	return ret == DNSBLV6_OK
		       ? writer_put(sink->writer, STORE_SEGMENTS, key, key_size, data, size)
		       : ret;
}

static int put_held(struct segmenter *segmenter)
{
	if (!segmenter->has_held)
		return DNSBLV6_OK;
	segmenter->has_held = false;
	return segmenter_put(segmenter->sink, segmenter->origin, &segmenter->held);
}

static int put_pending(struct segmenter *segmenter)
{
	if (!segmenter->has_pending)
		return DNSBLV6_OK;
	int ret = put_held(segmenter);
	segmenter->has_pending = false;
	return ret == DNSBLV6_OK
		       ? segmenter_put(segmenter->sink, segmenter->origin, &segmenter->pending)
		       : ret;
}

int segmenter_end(struct segmenter *segmenter)
{
	int ret = put_pending(segmenter);
	return ret == DNSBLV6_OK ? put_held(segmenter) : ret;
}

/* first to last has its bit set and is not listed. ::ffff:0:0/96 is cut off: it is IPv4. */
static void add_unlisted(struct segmenter *segmenter, struct dnsblv6_addr first,
			 struct dnsblv6_addr last, bool is_ipv4)
{
	if (!is_ipv4 && dnsblv6_addr_is_ipv4(first))
		first = (struct dnsblv6_addr){ 0, 0x1000000000000 };
	if (!is_ipv4 && dnsblv6_addr_is_ipv4(last))
		last = (struct dnsblv6_addr){ 0, 0xfffeffffffff };
	if (dnsblv6_addr_compare(first, last) > 0)
		return;
	/* Between two unlisted runs of the same stretch no bit is set: one segment does. */
	if (!segmenter->has_pending)
		segmenter->pending.first = first;
	segmenter->pending.last = last;
	segmenter->pending.set = DNSBLV6_SET_NONE;
	segmenter->has_pending = true;
}

/* Does the piece go on with what is held? */
static bool goes_on(const struct segmenter *segmenter, const struct dnsblv6_segment *piece)
{
	const struct dnsblv6_segment *held = &segmenter->held;
	return segmenter->has_held && held->set == piece->set &&
	       dnsblv6_addr_is_ipv4(held->last) == dnsblv6_addr_is_ipv4(piece->first) &&
	       dnsblv6_addr_compare(dnsblv6_addr_next(held->last), piece->first) == 0;
}

static int hold_piece(struct segmenter *segmenter, const struct dnsblv6_segment *piece)
{
	if (goes_on(segmenter, piece)) {
		segmenter->held.last = piece->last;
		return DNSBLV6_OK;
	}
	int ret = put_held(segmenter);
	segmenter->held = *piece;
	segmenter->has_held = ret == DNSBLV6_OK;
	return ret;
}

static int add_piece(struct segmenter *segmenter, const struct dnsblv6_segment *piece,
		     uint32_t default_set)
{
	int ret = put_pending(segmenter);
	if (ret != DNSBLV6_OK || piece->set == default_set)
		return ret;
	return hold_piece(segmenter, piece);
}

/* One run of set bits, first to last, and the pieces in it from *index on. */
static int segment_range(struct segmenter *segmenter, const struct plan_part *part,
			 struct dnsblv6_addr first, struct dnsblv6_addr last, bool is_ipv4,
			 size_t *index)
{
	struct dnsblv6_addr at = first;
	bool is_done = false;

	for (; *index < part->pieces.count; (*index)++) {
		const struct dnsblv6_segment *piece = &part->pieces.items[*index];
		if (dnsblv6_addr_is_ipv4(piece->first) != is_ipv4 ||
		    dnsblv6_addr_compare(piece->first, last) > 0)
			break;
		if (dnsblv6_addr_compare(at, piece->first) < 0)
			add_unlisted(segmenter, at, dnsblv6_addr_previous(piece->first), is_ipv4);
		int ret = add_piece(segmenter, piece, part->default_set);
		if (ret != DNSBLV6_OK)
			return ret;
		is_done = dnsblv6_addr_compare(piece->last, last) == 0;
		at = dnsblv6_addr_next(piece->last);
	}
	if (!is_done)
		add_unlisted(segmenter, at, last, is_ipv4);
	return DNSBLV6_OK;
}

static int add_pieces(struct segmenter *segmenter, const struct pieces *pieces)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces->count; i++)
		ret = hold_piece(segmenter, &pieces->items[i]);
	return ret;
}

int segmenter_add(struct segmenter *segmenter, const struct plan_part *part)
{
	const struct ranges *families[] = { &part->ipv4, &part->ipv6 };
	size_t index = 0;
	int ret = DNSBLV6_OK;

	if (segmenter->style == DNSBLV6_STYLE_CLASSIC)
		return add_pieces(segmenter, &part->pieces);
	for (unsigned family = 0; family < 2; family++) {
		const struct ranges *ranges = families[family];
		for (size_t i = 0; ret == DNSBLV6_OK && i < ranges->count; i++)
			ret = segment_range(segmenter, part,
					    ranges_first_addr(ranges, ranges->items[i].first),
					    ranges_last_addr(ranges, ranges->items[i].last),
					    ranges->is_ipv4, &index);
		if (ret == DNSBLV6_OK && ranges->is_ipv4)
			ret = put_pending(segmenter); /* nothing of IPv6 goes on with it */
	}
	return ret;
}

/* ---- taking prefixes out ---- */

static int take_segment(struct segment_cut *cut, int ret, struct store_bytes value)
{
	uint16_t origin = 0;
	cut->has_segment = false;
	cut->is_deleted = false;
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_segment_decode(cut->key.data, cut->key.size, value.data, value.size,
					     &origin, &cut->segment);
	cut->has_segment = ret == DNSBLV6_OK && origin == cut->origin;
	return ret;
}

/* What reaches behind the last region stays listed as it was. */
int segmenter_end_cut(struct segment_cut *cut)
{
	if (!cut->has_segment || !cut->is_deleted)
		return DNSBLV6_OK;
	cut->has_segment = false;
	return segmenter_put(&cut->sink, cut->origin, &cut->segment);
}

static int seek_segment(struct segment_cut *cut, struct dnsblv6_prefix prefix)
{
	uint8_t start[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes value;
	if (cut->has_segment && cut->is_deleted &&
	    dnsblv6_addr_compare(cut->segment.last, prefix.first) >= 0)
		return DNSBLV6_OK; /* it reaches from the region before into this one */
	int ret = segmenter_end_cut(cut);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size = dnsblv6_segment_make_key(cut->origin, prefix.first, start);
	ret = writer_walk_seek(cut->segments, start, size, &cut->key, &value);
	return take_segment(cut, ret, value);
}

static bool reaches_into(const struct segment_cut *cut, struct dnsblv6_prefix prefix)
{
	return cut->has_segment &&
	       dnsblv6_addr_is_ipv4(cut->segment.first) == dnsblv6_prefix_is_ipv4(prefix) &&
	       dnsblv6_addr_compare(cut->segment.first, dnsblv6_prefix_last(prefix)) <= 0;
}

static int cut_segment(struct segment_cut *cut, struct dnsblv6_prefix prefix)
{
	int ret = DNSBLV6_OK;
	if (!cut->is_deleted)
		ret = note(&cut->sink, cut->key.data, cut->key.size);
	if (ret == DNSBLV6_OK && !cut->is_deleted)
		ret = writer_delete(cut->sink.writer, STORE_SEGMENTS, cut->key.data, cut->key.size);
	cut->is_deleted = true;
	if (ret != DNSBLV6_OK || dnsblv6_addr_compare(cut->segment.first, prefix.first) >= 0)
		return ret;
	struct dnsblv6_segment left = { cut->segment.first, dnsblv6_addr_previous(prefix.first),
					cut->segment.set };
	return segmenter_put(&cut->sink, cut->origin, &left);
}

/* Takes the region out of all segments of the version before. */
int segmenter_cut(struct segment_cut *cut, struct dnsblv6_prefix prefix)
{
	struct dnsblv6_addr last = dnsblv6_prefix_last(prefix);
	int ret = seek_segment(cut, prefix);
	while (ret == DNSBLV6_OK && reaches_into(cut, prefix)) {
		struct store_bytes value;
		ret = cut_segment(cut, prefix);
		if (ret != DNSBLV6_OK)
			return ret;
		if (dnsblv6_addr_compare(cut->segment.last, last) > 0) {
			cut->segment.first = dnsblv6_addr_next(last);
			return DNSBLV6_OK;
		}
		ret = writer_walk_next(cut->segments, &cut->key, &value);
		ret = take_segment(cut, ret, value);
	}
	return ret;
}
