/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hosts.h - which hosts of an IPv4 block are listed, by the number in its name.
 *
 * Flow: a name without capitals (question.h) -> xdp_read_number() -> xdp_find_hosts().
 *
 * The lines of hosts (layout.h) are so few that a core keeps them in its cache, which costs a question half of
 * what it costs to look for its name. They say nothing of signatures, and of some names that the other
 * lines know it: then it is find.h that answers.
 */

#include "server/xdp-kernel/scratch.h"

enum { XDP_FLAT_SIZE = 8 }; /* of the label of a flat name */

/* ---- the number ---- */

/* The bytes that come first are the low ones. */
XDP_INLINE uint64_t xdp_get_low64(const void *from)
{
	return __builtin_bswap64(xdp_get64(from));
}

/*
 * A label that is an octet in its one way of writing, first in low; what follows is in high. Moves both behind
 * it and adds its size. Without a branch for each size, which nothing foresees.
 */
XDP_INLINE bool xdp_take_octet(uint64_t *low, uint64_t *high, uint32_t *size, uint32_t *ret_octet)
{
	uint32_t digit_count = *low & 0xff;
	if (digit_count - 1 > 2)
		return false;
	/* Three digits, those that are missing 0. */
	uint32_t shift = 8 * (3 - digit_count);
	uint32_t digits =
		((uint32_t)(*low >> 8) << shift & 0xffffff) ^ (0x303030U << shift & 0xffffff);
	uint32_t octet = (digits & 0xff) * 100 + (digits >> 8 & 0xff) * 10 + (digits >> 16);
	uint32_t least = 0x640a00U >> (8 * (digit_count - 1)) & 0xff;
	uint32_t bits = 8 * (digit_count + 1);
	*low = *low >> bits | *high << (64 - bits);
	*high >>= bits;
	*size += digit_count + 1;
	*ret_octet = octet;
	return (((digits + 0x767676) | digits) & 0x808080) == 0 && octet >= least && octet <= 255;
}

/* "1.2.0.192" */
XDP_INLINE bool xdp_read_dotted(struct xdp_scratch *scratch, uint64_t low, uint64_t high)
{
	uint32_t octets[3];
	uint32_t size = 2;
	uint32_t half = low >> 8 & 1;
	if ((low & 0xfeff) != 0x3001)
		return false;
	low = low >> 16 | high << 48;
	high >>= 16;
	for (int i = 0; i < 3; i++) {
		if (!xdp_take_octet(&low, &high, &size, &octets[i]))
			return false;
	}
	scratch->number =
		xdp_hosts_number(octets[2] << 16 | octets[1] << 8 | octets[0], half, false);
	return scratch->labels_size == size;
}

/* "c000021": six hexadecimal digits and the half; with its size in front that is one word. */
XDP_INLINE bool xdp_read_flat(struct xdp_scratch *scratch, uint64_t low)
{
	const uint64_t mask = 0xffffffffffff;
	uint64_t text = low >> 8 & mask;
	uint64_t digits = (text & XDP_EACH(0x0fU)) + (text >> 6 & XDP_EACH(1U)) * 9;
	uint64_t is_letter = (digits + XDP_EACH(6U)) >> 4 & XDP_EACH(1U) & mask;
	uint64_t again = digits + (XDP_EACH('0') & mask) + is_letter * ('a' - '0' - 10);
	uint64_t pairs = digits << 4 | digits >> 8;
	if ((low & 0xff) != 7 || (low >> 56 & 0xfe) != '0' || again != text ||
	    (digits & XDP_EACH(0xf0U)) != 0)
		return false;
	scratch->number = xdp_hosts_number(
		(uint32_t)((pairs & 0xff) << 16 | (pairs >> 8 & 0xff00) | (pairs >> 32 & 0xff)),
		low >> 56 & 1, true);
	return scratch->labels_size == XDP_FLAT_SIZE;
}

/* False when the name is none of an IPv4 block. */
XDP_INLINE bool xdp_read_number(struct xdp_scratch *scratch)
{
	uint64_t low = xdp_get_low64(scratch->name);
	return (low & 0xff) == 1 ? xdp_read_dotted(scratch, low, xdp_get_low64(scratch->name + 8))
				 : xdp_read_flat(scratch, low);
}

/* ---- the hosts ---- */

/* What a line says of a number. */
struct xdp_hosts_found {
	uint32_t count; /* of its slots */
	uint32_t host;	/* of the one slot, when there is one */
};

/* Two slots at once, and no branch, since nothing foresees which slot it is. */
XDP_INLINE struct xdp_hosts_found xdp_look_for_host(const struct xdp_line *line, uint32_t tag)
{
	uint64_t both = (uint64_t)tag << 32 | tag;
	uint64_t hosts = 0;
	uint64_t count = 0;
	for (int i = 0; i < XDP_HOSTS_SLOTS / 2; i++) {
		uint64_t words = line->u.words[i] ^ both;
		uint64_t tags = words & 0xffffff00ffffff00;
		uint64_t is_same = ((tags - 0x100000001) & ~tags & 0x8000000080000000) >> 31;
		count += is_same;
		hosts |= words & is_same * 0xff;
	}
	return (struct xdp_hosts_found){ (uint32_t)count + (uint32_t)(count >> 32),
					 (uint32_t)(hosts | hosts >> 32) & 0xff };
}

XDP_INLINE void xdp_add_host(struct xdp_found *found, uint32_t host)
{
	uint64_t bit = 1ULL << 63 >> (host & 63);
	uint64_t is_behind = 0 - (uint64_t)(host >> 6 & 1);
	found->bitmap[0] |= XDP_BE64(bit & ~is_behind);
	found->bitmap[1] |= XDP_BE64(bit & is_behind);
}

/* Of a name with more slots than one. False: find.h knows it. */
XDP_INLINE bool xdp_collect_hosts(const struct xdp_scratch *scratch, struct xdp_found *found,
				  const struct xdp_version *version, const struct xdp_hosts *hosts,
				  uint32_t tag)
{
	for (uint32_t i = 0; i < XDP_HOSTS_SLOTS; i++) {
		uint32_t host = hosts->slots[i] ^ tag;
		if (host > XDP_HOSTS_MANY)
			continue;
		if (host == XDP_HOSTS_ELSEWHERE)
			return false;
		if (host == XDP_HOSTS_MANY) {
			found->where = hosts->slots[(i + 1) % XDP_HOSTS_SLOTS] & ~XDP_HOSTS_WHERE;
			break;
		}
		xdp_add_host(found, host);
	}
	if (found->where == 0)
		return true;
	const struct xdp_line *line = xdp_get_line(scratch, version->first_line + found->where);
	if (line == NULL)
		return false;
	xdp_copy((uint8_t *)found->bitmap, line->u.name.u.bitmap, 2);
	return true;
}

/* What is at the number, in an answer without signatures. False: find.h knows it. */
XDP_INLINE bool xdp_find_hosts(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	struct xdp_found *found = &scratch->found;
	uint32_t mixed = xdp_hosts_mix(scratch->number);
	uint32_t tag = xdp_hosts_tag(mixed);
	uint32_t where = version->first_hosts + xdp_hosts_line(mixed, version->hosts_count);
	const struct xdp_line *line = xdp_get_line(scratch, version->first_line + where);
	if (line == NULL || version->hosts_count == 0 ||
	    line->u.hosts.slots[XDP_HOSTS_SLOTS - 1] == XDP_HOSTS_FULL)
		return false;
	*found = (struct xdp_found){ .cover = XDP_NO_LINK, .wildcard = XDP_NO_LINK };
	const struct xdp_hosts_found seen = xdp_look_for_host(line, tag);
	if (seen.count == 0)
		return (version->flags & XDP_ZONE_WIDE) == 0;
	if (seen.count == 1 && seen.host < XDP_HOSTS_ELSEWHERE)
		xdp_add_host(found, seen.host);
	else if (!xdp_collect_hosts(scratch, found, version, &line->u.hosts, tag))
		return false;
	found->is_name = true;
	found->is_there = true;
	found->is_bitmap = true;
	return true;
}
