/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * question.h - the common question, and its key in the zone that it is about.
 *
 * Flow: a message in wire -> xdp_read_question() -> find.h, which calls xdp_make_key() where it needs it.
 *
 * Common is what lib/dns/question.h says, of the types A and AAAA, with a name of at most
 * XDP_ASKED_NAME_MAX octets. A key is that of lib/format/key.h, of at most XDP_ASKED_KEY_MAX bytes;
 * names with a byte 0 or 1 in a label, which a key has in two, are not for here.
 *
 * False means that the question goes on to the sockets.
 */

#include "server/xdp-kernel/scratch.h"

enum {
	XDP_TYPE_A = 1,
	XDP_TYPE_AAAA = 28,
	XDP_TYPE_OPT = 41,
	XDP_TYPE_RRSIG = 46,
	XDP_TYPE_NSEC = 47,
	XDP_CLASS_IN = 1,
	XDP_OPT_SIZE = 11,
	XDP_OPTION_SIZE = 4,
	XDP_OPTION_COOKIE = 10,
};

/* ---- the message ---- */

XDP_INLINE bool xdp_take_labels(struct xdp_scratch *scratch)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i <= XDP_ASKED_LABELS_MAX; i++) {
		uint32_t size = scratch->wire[XDP_HEADER_SIZE + (at & XDP_NAME_MASK)];
		scratch->offsets[i] = (uint8_t)at;
		if (size == 0) {
			scratch->label_count = i;
			scratch->name_size = at + 1;
			return true;
		}
		at += size + 1;
		if (size > 63 || at >= XDP_ASKED_NAME_MAX)
			return false;
	}
	return false;
}

XDP_INLINE void xdp_lower_name(struct xdp_scratch *scratch)
{
	uint32_t size = scratch->name_size;
	for (uint32_t i = 0; i < XDP_ASKED_NAME_MAX / 8; i++) {
		if (8 * i >= size)
			break;
		uint64_t word = xdp_load64(scratch->wire + XDP_HEADER_SIZE + (8 * i));
		xdp_store64(scratch->name + (8 * i), xdp_lower(word));
	}
	xdp_clear(scratch->name + (size & XDP_NAME_MASK), 1);
}

XDP_INLINE bool xdp_take_cookie(struct xdp_scratch *scratch, const uint8_t *option, uint32_t size)
{
	uint32_t cookie_size = size - XDP_OPTION_SIZE;
	if (size < XDP_OPTION_SIZE + 8 || size > XDP_OPTION_SIZE + 40 ||
	    (cookie_size != 8 && cookie_size < 16) || xdp_get16(option) != XDP_OPTION_COOKIE ||
	    xdp_get16(option + 2) != cookie_size)
		return false;
	scratch->cookie_size = (uint8_t)cookie_size;
	/* Of a shorter one, what is behind the client's own is never read. */
	xdp_copy(scratch->cookie, option + XDP_OPTION_SIZE, XDP_COOKIE_SIZE / 8);
	return true;
}

/* size bytes that must be an OPT, whole, and nothing else. */
XDP_INLINE bool xdp_take_opt(struct xdp_scratch *scratch, uint32_t size)
{
	const uint8_t *opt = scratch->wire + (scratch->end & XDP_WIRE_MASK);
	uint64_t head = xdp_get64(opt);
	uint16_t payload = (uint16_t)(head >> 24);
	if (size < XDP_OPT_SIZE || head >> 40 != XDP_TYPE_OPT || (head & 0xff00) != 0 ||
	    payload == XDP_CLASS_IN || xdp_get16(opt + 9) != size - XDP_OPT_SIZE)
		return false;
	scratch->has_edns = true;
	scratch->payload = payload;
	scratch->has_do = (head & 0x80) != 0;
	return size == XDP_OPT_SIZE ||
	       xdp_take_cookie(scratch, opt + XDP_OPT_SIZE, size - XDP_OPT_SIZE);
}

XDP_INLINE bool xdp_take_question(struct xdp_scratch *scratch)
{
	const uint8_t *wire = scratch->wire;
	uint64_t counts = xdp_get64(wire + 4);
	scratch->has_edns = false;
	scratch->has_do = false;
	scratch->payload = 0;
	scratch->cookie_size = 0;
	if (scratch->size < XDP_QUERY_MIN || (wire[2] & 0xf8) != 0 ||
	    (counts & ~1ULL) != 1ULL << 48 || !xdp_take_labels(scratch))
		return false;
	XDP_FORGET();
	uint32_t end = XDP_HEADER_SIZE + scratch->name_size + 4;
	const uint8_t *type = wire + ((end - 4) & XDP_WIRE_MASK);
	scratch->end = end;
	scratch->qtype = xdp_get16(type);
	if (end > scratch->size || xdp_get16(type + 2) != XDP_CLASS_IN ||
	    (scratch->qtype != XDP_TYPE_A && scratch->qtype != XDP_TYPE_AAAA))
		return false;
	xdp_lower_name(scratch);
	XDP_FORGET();
	return (counts & 1) == 0 ? end == scratch->size
				 : xdp_take_opt(scratch, scratch->size - end);
}

/* ---- the zone ---- */

/* Do both have the same size bytes? Behind them both have zeros, up to a whole word. */
XDP_INLINE bool xdp_is_apex(const uint8_t *name, const uint8_t *apex, uint32_t size)
{
	for (uint32_t i = 0; i < XDP_APEX_MAX / 8; i++) {
		if (8 * i >= size)
			break;
		if (xdp_load64(name + (8 * i)) != xdp_load64(apex + (8 * i)))
			return false;
	}
	return true;
}

/* Sets zone and labels_size. */
XDP_INLINE bool xdp_find_face(struct xdp_scratch *scratch, const struct xdp_config *config)
{
	for (uint32_t i = 0; i < XDP_FACES_MAX; i++) {
		const struct xdp_face *face = &config->faces[i];
		uint32_t size = face->apex_size;
		uint32_t labels_size = scratch->name_size - size;
		if (i >= config->face_count)
			break;
		if (size > scratch->name_size ||
		    !xdp_is_apex(scratch->name + (labels_size & XDP_NAME_MASK), face->apex, size))
			continue;
		scratch->labels_size = labels_size;
		scratch->zone = face->zone;
		return face->zone < XDP_ZONES_MAX;
	}
	return false;
}

/* ---- the key ---- */

/* False when one of the size bytes, at most XDP_ASKED_KEY_MAX, is 0 or 1. */
XDP_INLINE bool xdp_copy_label(uint8_t *to, const uint8_t *from, uint32_t size)
{
	for (uint32_t i = 0; i < XDP_KEY_WORDS; i++) {
		uint64_t word = xdp_load64(from + (8 * i));
		xdp_store64(to + (8 * i), word);
		word = XDP_BE64(word);
		if (size < 8)
			word |= ~0ULL >> (8 * size & 63);
		if (xdp_has_tiny(word))
			return false;
		if (size <= 8)
			break;
		size -= 8;
	}
	return true;
}

/* One label more, from the apex on. False when the key is too long, or not for here. */
XDP_INLINE bool xdp_gather_label(struct xdp_scratch *scratch, uint32_t number)
{
	uint32_t from = scratch->offsets[(scratch->relative_count - 1 - number) & XDP_LABEL_MASK];
	uint32_t size = scratch->name[from & XDP_NAME_MASK];
	uint32_t at = scratch->key_size;
	if (number > 0) {
		scratch->borders[(number - 1) & XDP_BORDER_MASK] = (uint8_t)at;
		scratch->key_bytes[at & XDP_KEY_MASK] = 0;
		at++;
	}
	scratch->key_size = at + size;
	return at + size <= XDP_ASKED_KEY_MAX &&
	       xdp_copy_label(scratch->key_bytes + (at & XDP_KEY_MASK),
			      scratch->name + ((from + 1) & XDP_NAME_MASK), size);
}

/* Each label has a byte at least, and there is one between two of them. */
XDP_INLINE bool xdp_gather_labels(struct xdp_scratch *scratch)
{
	scratch->key_size = 0;
	for (uint32_t i = 0; i <= XDP_ASKED_KEY_MAX / 2; i++) {
		if (i >= scratch->relative_count)
			return true;
		if (!xdp_gather_label(scratch, i))
			return false;
		XDP_FORGET();
	}
	return scratch->relative_count == XDP_ASKED_KEY_MAX / 2 + 1;
}

/* How many labels are before the apex. False when none are, or when it does not begin where a label does. */
XDP_INLINE bool xdp_count_labels(struct xdp_scratch *scratch)
{
	uint32_t count = scratch->label_count;
	for (uint32_t i = 0; i <= XDP_APEX_MAX / 2; i++) {
		uint32_t offset = scratch->offsets[(count - i) & XDP_LABEL_MASK];
		if (offset <= scratch->labels_size) {
			scratch->relative_count = count - i;
			return offset == scratch->labels_size && offset != 0;
		}
	}
	return false;
}

XDP_INLINE void xdp_load_key(uint64_t *key, const uint8_t *bytes)
{
	for (int i = 0; i < XDP_KEY_WORDS; i++)
		key[i] = xdp_get64(bytes + (size_t)(8 * i));
}

XDP_INLINE bool xdp_make_key(struct xdp_scratch *scratch)
{
	if (!xdp_count_labels(scratch))
		return false;
	XDP_FORGET();
	if (!xdp_gather_labels(scratch))
		return false;
	XDP_FORGET();
	xdp_clear(scratch->key_bytes + (scratch->key_size & XDP_KEY_MASK), XDP_KEY_WORDS);
	xdp_load_key(scratch->key, scratch->key_bytes);
	return true;
}

/* All of that but the key. */
XDP_INLINE bool xdp_read_question(struct xdp_scratch *scratch, const struct xdp_config *config)
{
	if (!xdp_take_question(scratch))
		return false;
	XDP_FORGET();
	scratch->has_cookie = scratch->cookie_size != 0 && config->has_cookies;
	return xdp_find_face(scratch, config);
}
