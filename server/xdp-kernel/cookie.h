/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cookie.h - DNS cookies, as server/askers/cookie.h has them.
 *
 * Flow: question.h found a COOKIE -> xdp_judge_cookie() -> a good one frees from the rate limit (core.h),
 *       and whatever it was, reply.h puts a fresh one into the OPT.
 */

#include "lib/common/siphash.h"
#include "server/xdp-kernel/scratch.h"

enum {
	XDP_COOKIE_CLIENT_SIZE = 8,
	XDP_COOKIE_VERSION_AT = 8,
	XDP_COOKIE_TIME_AT = 12,
	XDP_COOKIE_HASH_AT = 16,
	XDP_COOKIE_AGE_MAX_S = 3600, /* RFC 9018 section 4.3 */
	XDP_COOKIE_AHEAD_MAX_S = 300,
};

/* ---- the hash ---- */

/* A word of it in the order that SipHash has: the first byte is the least. */
XDP_INLINE uint64_t xdp_sip_word(const uint8_t *bytes)
{
	return __builtin_bswap64(xdp_get64(bytes));
}

/* Of the first 16 bytes of the cookie and the client's address; IPv4 has four bytes alone. */
XDP_FUNCTION uint64_t xdp_hash_cookie(const struct xdp_scratch *scratch,
				      const struct xdp_config *config, uint32_t secret)
{
	if (scratch == NULL || config == NULL)
		return 0;
	const uint8_t *key = config->secrets[secret & (XDP_SECRETS_MAX - 1)];
	const uint8_t *client = scratch->client;
	struct sip sip = sip_begin(xdp_sip_word(key), xdp_sip_word(key + 8));
	sip_add(&sip, xdp_sip_word(scratch->cookie));
	sip_add(&sip, xdp_sip_word(scratch->cookie + 8));
	if (xdp_is_ipv4(scratch)) {
		sip_add(&sip, (uint64_t)20 << 56 | xdp_sip_word(client + 8) >> 32);
	} else {
		sip_add(&sip, xdp_sip_word(client));
		sip_add(&sip, xdp_sip_word(client + 8));
		sip_add(&sip, (uint64_t)32 << 56);
	}
	return sip_end(&sip);
}

/* ---- cookies ---- */

/* In serial arithmetic, so that the clock may pass 2^32. */
XDP_INLINE bool xdp_is_in_time(const struct xdp_scratch *scratch, uint32_t now_s)
{
	uint32_t made_s = XDP_BE32(xdp_load32(scratch->cookie + XDP_COOKIE_TIME_AT));
	int32_t age_s = (int32_t)(now_s - made_s);
	return age_s <= XDP_COOKIE_AGE_MAX_S && age_s >= -XDP_COOKIE_AHEAD_MAX_S;
}

XDP_INLINE bool xdp_is_good_cookie(const struct xdp_scratch *scratch,
				   const struct xdp_config *config)
{
	if (scratch->cookie_size != XDP_COOKIE_SIZE ||
	    scratch->cookie[XDP_COOKIE_VERSION_AT] != 1 || !xdp_is_in_time(scratch, config->now_s))
		return false;
	uint64_t hash = xdp_sip_word(scratch->cookie + XDP_COOKIE_HASH_AT);
	for (uint32_t i = 0; i < XDP_SECRETS_MAX; i++) {
		if (i >= config->secret_count)
			break;
		if (xdp_hash_cookie(scratch, config, i) == hash)
			return true;
	}
	return false;
}

/* What the client sent becomes what it gets. */
XDP_INLINE void xdp_make_cookie(struct xdp_scratch *scratch, const struct xdp_config *config)
{
	xdp_put64(scratch->cookie + XDP_COOKIE_VERSION_AT, (uint64_t)1 << 56 | config->now_s);
	uint64_t hash = xdp_hash_cookie(scratch, config, 0);
	xdp_put64(scratch->cookie + XDP_COOKIE_HASH_AT, __builtin_bswap64(hash));
}

/* Of a question that has one. False: it goes on, as there is no secret. */
XDP_INLINE bool xdp_judge_cookie(struct xdp_scratch *scratch, const struct xdp_config *config)
{
	if (config->secret_count == 0 || config->secret_count > XDP_SECRETS_MAX)
		return false;
	scratch->is_cookie_good = xdp_is_good_cookie(scratch, config);
	scratch->is_cookie_bad =
		!scratch->is_cookie_good && scratch->cookie_size != XDP_COOKIE_CLIENT_SIZE;
	xdp_make_cookie(scratch, config);
	return true;
}
