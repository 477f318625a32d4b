/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * scope.h - which of the zones are asked about an address.
 *
 * Flow: engine.c, client.c -> scope_entries() -> the cache, or DNS
 *
 * No public list has anything of addresses that are used by every network anew, and asking for them
 * tells others how one's own network is numbered. 127/8 is asked about, since test points are
 * there, and so are the networks of documentation.
 *
 *     10.0.0.0/8       RFC 1918          224.0.0.0/4   RFC 1112, multicast
 *     100.64.0.0/10    RFC 6598          fc00::/7      RFC 4193
 *     169.254.0.0/16   RFC 3927          fe80::/10     RFC 4291 part 2.5.6
 *     172.16.0.0/12    RFC 1918          ff00::/8      RFC 4291 part 2.7
 *     192.168.0.0/16   RFC 1918
 */

#include "client-lib/config/config.h"
#include "client-lib/config/topic.h"

#include <stdint.h>

/* The address is in one of these; ipv4 is its number. Most are told by their first octet. */
static inline bool scope_is_private4(uint32_t ipv4)
{
	/* A bit for each value of that octet, four words of 64. */
	static const uint64_t suspects[4] = { 1ull << 10, 1ull << (100 - 64),
					      1ull << (169 - 128) | 1ull << (172 - 128),
					      1ull << (192 - 192) | 0xffffull << (224 - 192) };
	unsigned first = ipv4 >> 24;

	if ((suspects[first / 64] >> (first % 64) & 1) == 0)
		return false;
	return first == 10 || first >= 224 || ipv4 >> 22 == 0x64400000 >> 22 ||
	       ipv4 >> 16 == 0xa9fe || ipv4 >> 20 == 0xac1 || ipv4 >> 16 == 0xc0a8;
}

static inline bool scope_is_private(struct dnsblv6_addr addr)
{
	if (dnsblv6_addr_is_ipv4(addr))
		return scope_is_private4((uint32_t)addr.lo);
	return addr.hi >> 57 == 0xfc >> 1 || addr.hi >> 54 == 0xfe80 >> 6 || addr.hi >> 56 == 0xff;
}

/* As config_entries(), and 0 for an address of which nothing is asked. */
static inline uint64_t scope_entries(const struct config *config, enum config_topic kind,
				     struct dnsblv6_addr addr, uint64_t zones)
{
	if (kind == CONFIG_ADDRESS && !config->asks_private && scope_is_private(addr))
		return 0;
	return config_entries(config, kind, zones);
}
