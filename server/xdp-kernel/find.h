/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * find.h - what is at the name that is asked for, by RFC 4592, and which links deny it.
 *
 * Flow: a name (question.h) -> xdp_read_name() -> xdp_find() -> reply.h puts what it found.
 *
 * As zone_find_cover() in server/zone/zone.c, which has the same rules over a store. Blocks of IPv4 are
 * found by their number where no signature is asked for, all others by the hash of their key; only what has to
 * be denied with signatures is searched for in the order of the links.
 */

#include "server/xdp-kernel/hosts.h"
#include "server/xdp-kernel/question.h"

#define XDP_DEPTHS 8 /* bits of wildcard_depths */

/* ---- by hash ---- */

XDP_INLINE bool xdp_is_sought(const struct xdp_scratch *scratch, const struct xdp_name *name)
{
	for (int i = 0; i < XDP_KEY_WORDS; i++) {
		if (name->key[i] != scratch->sought[i])
			return false;
	}
	return name->key_size == scratch->sought_size;
}

/* The line of the name that is sought, behind the first one of the version; 0: it is not there. */
XDP_INLINE uint32_t xdp_look_up(const struct xdp_scratch *scratch,
				const struct xdp_version *version)
{
	uint64_t hash = xdp_hash(scratch->sought);
	for (uint32_t probe = 0; probe < XDP_PROBES_MAX; probe++) {
		uint32_t bucket = ((uint32_t)hash + probe) & (version->bucket_count - 1);
		const struct xdp_line *line = xdp_get_line(scratch, version->first_line + bucket);
		if (line == NULL)
			return 0;
		for (int i = 0; i < XDP_BUCKET_SLOTS; i++) {
			const struct xdp_slot *slot = &line->u.bucket.slots[i];
			uint32_t where = slot->where;
			if (where == 0)
				return 0;
			if (slot->tag != (uint32_t)(hash >> 32))
				continue;
			const struct xdp_line *name =
				xdp_get_line(scratch, version->first_line + where);
			if (name != NULL && xdp_is_sought(scratch, &name->u.name))
				return where;
		}
	}
	return 0;
}

/* The same where it is not worth its own copy. */
XDP_FUNCTION uint32_t xdp_find_where(const struct xdp_scratch *scratch,
				     const struct xdp_version *version)
{
	return scratch != NULL && version != NULL ? xdp_look_up(scratch, version) : 0;
}

/* ---- keys made of the one that is asked ---- */

XDP_INLINE void xdp_seek_asked(struct xdp_scratch *scratch)
{
	for (int i = 0; i < XDP_KEY_WORDS; i++)
		scratch->sought[i] = scratch->key[i];
	scratch->sought_size = scratch->key_size;
}

/* The ancestor whose key is the first size bytes, or the wildcard at it. */
XDP_INLINE void xdp_seek_ancestor(struct xdp_scratch *scratch, uint32_t size, bool is_wildcard)
{
	uint8_t *bytes = scratch->cut_bytes;
	uint8_t *end = bytes + (size & XDP_KEY_MASK);
	xdp_copy(bytes, scratch->key_bytes, XDP_KEY_WORDS);
	xdp_clear(end, XDP_KEY_WORDS);
	if (is_wildcard && size > 0) {
		end[1] = '*';
		size += 2;
	} else if (is_wildcard) {
		end[0] = '*';
		size = 1;
	}
	xdp_load_key(scratch->sought, bytes);
	scratch->sought_size = size;
}

struct xdp_climb {
	struct xdp_scratch *scratch;
	const struct xdp_version *version;
	uint32_t encloser_size;
};

static long xdp_try_parent(uint32_t number, void *data)
{
	struct xdp_climb *climb = data;
	struct xdp_scratch *scratch = climb->scratch;
	/* Above the longest of its parents are the others, and then the apex, which is always there. */
	uint32_t count = scratch->relative_count - 1;
	if (number >= count)
		return 1;
	uint32_t size = scratch->borders[(count - 1 - number) & XDP_BORDER_MASK];
	xdp_seek_ancestor(scratch, size, false);
	if (xdp_look_up(scratch, climb->version) == 0)
		return 0;
	climb->encloser_size = size;
	return 1;
}

/* The size of the key of the closest encloser of a name that is not there. */
XDP_INLINE uint32_t xdp_find_encloser(struct xdp_scratch *scratch,
				      const struct xdp_version *version)
{
	struct xdp_climb climb = { scratch, version, 0 };
	xdp_loop(XDP_BORDER_MASK, xdp_try_parent, &climb);
	return climb.encloser_size;
}

/* ---- in the order of links ---- */

/* A line of a link of a signed version. */
XDP_INLINE const struct xdp_line *xdp_get_link(const struct xdp_scratch *scratch,
					       const struct xdp_version *version, uint32_t link,
					       uint32_t line)
{
	return xdp_get_line(scratch, version->first_line + version->bucket_count +
					     link * XDP_SIGNED_STRIDE + line);
}

/* Is what is sought name, or behind it? */
XDP_INLINE bool xdp_is_reached(const struct xdp_scratch *scratch, const struct xdp_name *name)
{
	for (int i = 0; i < XDP_KEY_WORDS; i++) {
		if (name->key[i] != scratch->sought[i])
			return name->key[i] < scratch->sought[i];
	}
	return name->key_size <= scratch->sought_size;
}

/* Is what is sought that link, or behind it? orders is the first line of these. */
XDP_FUNCTION bool xdp_is_link_reached(const struct xdp_scratch *scratch,
				      const struct xdp_version *version, uint32_t orders,
				      uint32_t link)
{
	if (scratch == NULL || version == NULL)
		return false;
	const struct xdp_line *order = xdp_get_line(scratch, orders + link / XDP_ORDER_LINKS);
	if (order == NULL)
		return false;
	uint64_t first = order->u.order.first[link % XDP_ORDER_LINKS];
	if (first != scratch->sought[0])
		return first < scratch->sought[0];
	const struct xdp_line *line = xdp_get_link(scratch, version, link, XDP_LINE_NAME);
	return line != NULL && xdp_is_reached(scratch, &line->u.name);
}

/* The link of what is sought, or the last one before it. */
XDP_FUNCTION uint32_t xdp_find_link(const struct xdp_scratch *scratch,
				    const struct xdp_version *version)
{
	if (scratch == NULL || version == NULL)
		return XDP_NO_LINK;
	uint32_t orders = version->first_line + version->bucket_count +
			  version->link_count * XDP_SIGNED_STRIDE + version->empty_count;
	uint32_t low = 0;		     /* is before it, or it */
	uint32_t high = version->link_count; /* is behind it, or behind the last */
	for (int i = 0; i < 32 && high - low > 1; i++) {
		uint32_t middle = low + (high - low) / 2;
		if (xdp_is_link_reached(scratch, version, orders, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ---- what a name shares with the one that is asked ---- */

/* How many bytes at the beginning of two keys are the same. */
XDP_INLINE uint32_t xdp_count_same(const uint64_t *a, const uint64_t *b)
{
	for (uint32_t i = 0; i < XDP_KEY_WORDS; i++) {
		uint64_t other = a[i] ^ b[i];
		uint32_t count = 8 * i;
		if (other == 0)
			continue;
		if (other >> 32 == 0) {
			count += 4;
			other <<= 32;
		}
		if (other >> 48 == 0) {
			count += 2;
			other <<= 16;
		}
		return count + (other >> 56 == 0);
	}
	return XDP_KEY_MAX;
}

/*
 * The size of the key of the closest name that is above both, or one of them. What separates the
 * labels is a zero, as is what lies behind a key: so where they differ no label of both ends.
 */
XDP_FUNCTION uint32_t xdp_share(struct xdp_scratch *scratch, const struct xdp_name *name)
{
	if (scratch == NULL || name == NULL)
		return 0;
	scratch->same = xdp_count_same(scratch->key, name->key);
	XDP_FORGET();
	uint32_t same = scratch->same;
	if (same > scratch->key_size)
		return scratch->key_size;
	for (uint32_t i = 0; i < XDP_BORDER_MASK; i++) {
		uint32_t count = scratch->relative_count - 1;
		if (i >= count)
			break;
		uint32_t border = scratch->borders[(count - 1 - i) & XDP_BORDER_MASK];
		if (border < same)
			return border;
	}
	return 0;
}

/* ---- a name ---- */

/* What is at where answers. False when it is data that is no bitmap. */
XDP_INLINE bool xdp_take_found(struct xdp_scratch *scratch, const struct xdp_version *version,
			       uint32_t where)
{
	const struct xdp_line *line = xdp_get_line(scratch, version->first_line + where);
	if (line == NULL || line->u.name.kind == XDP_KIND_OTHER)
		return false;
	scratch->found.is_there = true;
	scratch->found.is_bitmap = line->u.name.kind == XDP_KIND_BITMAP;
	scratch->found.where = where;
	xdp_copy((uint8_t *)scratch->found.bitmap, line->u.name.u.bitmap, 2);
	return true;
}

/* The link whose NSEC says that the name at where is there, or that it has no data. */
XDP_INLINE uint32_t xdp_link_at(const struct xdp_scratch *scratch,
				const struct xdp_version *version, uint32_t where)
{
	if (where == 0)
		return XDP_NO_LINK;
	const struct xdp_line *line = xdp_get_line(scratch, version->first_line + where);
	if (line == NULL)
		return XDP_NO_LINK;
	return line->u.name.kind == XDP_KIND_EMPTY
		       ? line->u.name.u.before
		       : (where - version->bucket_count) / XDP_SIGNED_STRIDE;
}

/* Is the wildcard that is sought between that link and the next? */
XDP_INLINE bool xdp_is_between(const struct xdp_scratch *scratch, const struct xdp_version *version,
			       uint32_t link)
{
	const struct xdp_line *line = xdp_get_link(scratch, version, link, XDP_LINE_NAME);
	const struct xdp_line *next = xdp_get_link(scratch, version, link + 1, XDP_LINE_NAME);
	if (line == NULL || !xdp_is_reached(scratch, &line->u.name))
		return false;
	return link + 1 >= version->link_count ||
	       (next != NULL && !xdp_is_reached(scratch, &next->u.name));
}

/*
 * The link that denies the wildcard at the encloser, which is sought. Mostly it is the one that
 * denies the name, or that of the encloser itself: a "*" comes before what other labels begin with.
 */
XDP_INLINE uint32_t xdp_deny_wildcard(struct xdp_scratch *scratch,
				      const struct xdp_version *version, uint32_t encloser_size)
{
	if (xdp_is_between(scratch, version, scratch->found.cover))
		return scratch->found.cover;
	xdp_seek_ancestor(scratch, encloser_size, false);
	uint32_t link = xdp_link_at(scratch, version, xdp_find_where(scratch, version));
	xdp_seek_ancestor(scratch, encloser_size, true);
	return xdp_is_between(scratch, version, link) ? link : xdp_find_link(scratch, version);
}

/* How far a name that is not there shares its labels with those that are. */
XDP_INLINE uint32_t xdp_share_with_cover(struct xdp_scratch *scratch,
					 const struct xdp_version *version, uint32_t cover)
{
	const struct xdp_line *line = xdp_get_link(scratch, version, cover, XDP_LINE_NAME);
	const struct xdp_line *next = xdp_get_link(scratch, version, cover + 1, XDP_LINE_NAME);
	scratch->shared = line != NULL ? xdp_share(scratch, &line->u.name) : 0;
	XDP_FORGET();
	if (cover + 1 >= version->link_count || next == NULL)
		return scratch->shared;
	uint32_t behind = xdp_share(scratch, &next->u.name);
	return behind > scratch->shared ? behind : scratch->shared;
}

/* Of a name that is not there, in an answer with signatures. */
XDP_INLINE bool xdp_find_denied(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	struct xdp_found *found = &scratch->found;
	found->cover = xdp_find_link(scratch, version);
	scratch->shared = xdp_share_with_cover(scratch, version, found->cover);
	XDP_FORGET();
	xdp_seek_ancestor(scratch, scratch->shared, true);
	if ((version->flags & XDP_ZONE_WILDCARDS) != 0) {
		uint32_t where = xdp_find_where(scratch, version);
		if (where != 0 && !xdp_take_found(scratch, version, where))
			return false;
	}
	XDP_FORGET();
	found->wildcard = found->is_there ? xdp_link_at(scratch, version, found->where)
					  : xdp_deny_wildcard(scratch, version, scratch->shared);
	return found->wildcard != XDP_NO_LINK;
}

/*
 * Is there a wildcard at any name above the one that is asked? Mostly there is none, and then it does not
 * matter which is the closest. Of eight labels and more it is not known.
 */
XDP_INLINE bool xdp_has_wildcard_above(struct xdp_scratch *scratch,
				       const struct xdp_version *version)
{
	uint32_t depths = version->wildcard_depths;
	for (uint32_t i = 0; i < XDP_DEPTHS; i++) {
		if (i >= scratch->relative_count)
			return false;
		if (i == XDP_DEPTHS - 1)
			break;
		if ((depths >> i & 1) == 0)
			continue;
		xdp_seek_ancestor(scratch, i == 0 ? 0 : scratch->borders[i - 1], true);
		if (xdp_find_where(scratch, version) != 0)
			return true;
	}
	return depths >> (XDP_DEPTHS - 1) != 0;
}

/* Of one that is not there, in an answer without. */
XDP_INLINE bool xdp_find_wildcard(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	if ((version->flags & XDP_ZONE_WILDCARDS) == 0 || !xdp_has_wildcard_above(scratch, version))
		return true;
	XDP_FORGET();
	xdp_seek_ancestor(scratch, xdp_find_encloser(scratch, version), true);
	uint32_t where = xdp_find_where(scratch, version);
	return where == 0 || xdp_take_found(scratch, version, where);
}

/* By its key. False when it is not for here. */
XDP_INLINE bool xdp_find_key(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	struct xdp_found *found = &scratch->found;
	*found = (struct xdp_found){ .cover = XDP_NO_LINK, .wildcard = XDP_NO_LINK };
	xdp_seek_asked(scratch);
	uint32_t where = xdp_look_up(scratch, version);
	if (where != 0) {
		found->is_name = true;
		if (scratch->has_dnssec)
			found->cover = xdp_link_at(scratch, version, where);
		return xdp_take_found(scratch, version, where);
	}
	if (!scratch->has_dnssec)
		return xdp_find_wildcard(scratch, version);
	return (version->flags & XDP_ZONE_NEIGHBOURS) == 0 && xdp_find_denied(scratch, version);
}

/*
 * What it is found by: the number of an IPv4 block, which spares it the key where hosts are all that is asked, or
 * the key. False when it has neither.
 */
XDP_INLINE bool xdp_read_name(struct xdp_scratch *scratch)
{
	scratch->has_number = xdp_read_number(scratch);
	return scratch->has_number || xdp_make_key(scratch);
}

/* False when it is not for here. */
XDP_INLINE bool xdp_find(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	if (scratch->has_number) {
		if (!scratch->has_dnssec && xdp_find_hosts(scratch, version))
			return true;
		XDP_FORGET();
		if (!xdp_make_key(scratch))
			return false;
		XDP_FORGET();
	}
	return xdp_find_key(scratch, version);
}
