/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * limit.h - how many answers a network may get, as server/askers/ratelimit.h has it.
 *
 * Flow: core.h has a question for here -> xdp_limit().
 *
 * A network has paid until some time for what it got. One answer more moves that by the interval of the
 * rate; it may be at most the burst ahead. That is a bucket of tokens, in one word that processors
 * change together.
 */

#include "server/xdp-kernel/scratch.h"

enum xdp_limited {
	XDP_LIMITED_NOT,
	XDP_LIMITED_TRUNCATE,
	XDP_LIMITED_DROP,
	XDP_LIMITED_PASS, /* what becomes of it the sockets say */
};

#define XDP_LIMIT_TRIES 4

/* As peer_network() in lib/dns/peer.h. */
XDP_INLINE uint64_t xdp_network(const struct xdp_scratch *scratch)
{
	uint64_t high = xdp_get64(scratch->client);
	uint64_t low = xdp_get64(scratch->client + 8);
	uint64_t mask = ~(uint64_t)0xff;
	if (xdp_is_ipv4(scratch))
		return (uint64_t)0xff00 << 48 | (low & 0xffffffff & mask);
	high &= mask;
	return high != 0 ? high : (uint64_t)0xff01 << 48;
}

/* As settings_prefixes_have() of server/settings/settings.h: a mask of IPv6 that has the numbers of IPv4
 * leaves out some of their first 96 bits. */
XDP_INLINE bool xdp_is_unlimited(const struct xdp_scratch *scratch, const struct xdp_config *config)
{
	uint64_t high = xdp_get64(scratch->client);
	uint64_t low = xdp_get64(scratch->client + 8);
	bool is_ipv4 = xdp_is_ipv4(scratch);
	for (uint32_t i = 0; i < XDP_PREFIXES_MAX; i++) {
		const struct xdp_prefix *prefix = &config->prefixes[i];
		if (i >= config->prefix_count)
			break;
		if (is_ipv4 && prefix->mask[1] >> 32 != UINT32_MAX)
			continue;
		if ((high & prefix->mask[0]) == prefix->bits[0] &&
		    (low & prefix->mask[1]) == prefix->bits[1])
			return true;
	}
	return false;
}

/* Pays for one answer. False when there is nothing left. */
XDP_INLINE bool xdp_pay(struct xdp_bucket_value *bucket, const struct xdp_config *config,
			uint64_t now_ns)
{
	uint64_t until_ns = *(volatile uint64_t *)&bucket->until_ns;
	for (int i = 0; i < XDP_LIMIT_TRIES; i++) {
		uint64_t from_ns = until_ns > now_ns ? until_ns : now_ns;
		uint64_t next_ns = from_ns + config->interval_ns;
		if (next_ns > now_ns + config->burst_ns)
			return false;
		uint64_t seen_ns =
			__sync_val_compare_and_swap(&bucket->until_ns, until_ns, next_ns);
		if (seen_ns == until_ns)
			return true;
		until_ns = seen_ns;
	}
	/* Others were quicker every time: it is paid for without another look. */
	__sync_fetch_and_add(&bucket->until_ns, config->interval_ns);
	return true;
}

XDP_FUNCTION enum xdp_limited xdp_limit(const struct xdp_scratch *scratch,
					const struct xdp_config *config)
{
	if (scratch == NULL || config == NULL)
		return XDP_LIMITED_NOT;
	struct xdp_bucket_value *bucket = xdp_get_bucket(scratch, xdp_network(scratch));
	if (bucket == NULL || xdp_pay(bucket, config, scratch->now_ns) ||
	    xdp_is_unlimited(scratch, config))
		return XDP_LIMITED_NOT;
	if (config->prefix_count > XDP_PREFIXES_MAX)
		return XDP_LIMITED_PASS;
	uint64_t limited = __sync_fetch_and_add(&bucket->limited, 1) + 1;
	return config->slip != 0 && limited % config->slip == 0 ? XDP_LIMITED_TRUNCATE
								: XDP_LIMITED_DROP;
}
