/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * ranges.h - ranges of blocks that NSEC records prove empty (RFC 4034, 8198).
 *
 * Flow: fetch.c, after a secure negative answer -> ranges_learn() -> slots of
 *       cache.h <- ranges_has(), ranges_left_s() <- look.c
 *
 * Blocks have numbers in the canonical order of their names (RFC 4034 section 6.1): 25 bits
 * for IPv4, 57 for IPv6. In flat names and in IPv6 that order is numeric; dotted IPv4
 * labels sort as text ("10" before "2"), so each octet is replaced by its rank. An NSEC
 * is then an interval of numbers, and an interval is kept as a tree with 128
 * children to a node, each node one slot whose payload has a bit for each child that is empty
 * throughout. So an interval takes at most two slots a level, and a look-up as many
 * probes as there are levels: 4 for IPv4, 8 for IPv6, which do not depend on each other.
 *
 * What of an NSEC is believed: one of its names is below the origin, and it is not the parent's
 * at a delegation; the owner stands before the next name, or the
 * next name is the apex; and where the owner is a wildcard, nothing below the name
 * it stands for, since it would have answered there (what it lists, other denials do not reach
 * over: the marks of FORMAT.md 2.3).
 * The caller has seen to it that the answer was secure, and that the zone is of this format.
 *
 * A node has one expiry. What is proven later is added to it, and all of it ends when the first
 * would; but where one end is more than twice as far away as the other, the one that
 * lasts is kept and the other is not. Of equal TTLs each so lasts at least half, or less
 * when other slots need its place, and may not be kept at all.
 */

#include "client-lib/cache/cache.h"
#include "client-lib/base/message.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * origin: the zone that is asked (apex or sub-zone); owner and next are whole
 * names, and may lie outside it. Returns how many slots were written.
 */
unsigned ranges_learn(struct cache *cache, unsigned zone, enum dnsblv6_style style,
		      const struct dnsblv6_labels *origin, const struct message_nsec *nsec,
		      uint32_t ttl_s);

/* Is the block of addr proven empty? Then *ret_expires_s says until when. */
bool ranges_has(const struct cache *cache, unsigned zone, enum dnsblv6_style style,
		struct dnsblv6_addr addr, uint32_t now_s, uint32_t *ret_expires_s);
/*
 * The same for what cache_block_word() takes out of an address: for how many seconds, 0 when it is
 * not proven.
 */
uint32_t ranges_left_s(const struct cache *cache, unsigned zone, enum dnsblv6_style style,
		       bool is_ipv4, uint64_t word, uint32_t now_s);

#ifdef __cplusplus
}
#endif
