/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cookie.h - DNS cookies, as server/askers/cookie.h has them.
 *
 * Flow: question.h found a COOKIE -> xdp_judge_cookie() -> a good one frees from the rate limit (core.h),
 *       and whatever it was, reply.h puts a fresh one into the OPT.
 */

#include "server/xdp-kernel/scratch.h"

enum {
	XDP_COOKIE_CLIENT_SIZE = 8,
	XDP_COOKIE_VERSION_AT = 8,
	XDP_COOKIE_TIME_AT = 12,
	XDP_COOKIE_HASH_AT = 16,
	XDP_COOKIE_AGE_MAX_S = 3600, /* RFC 9018 section 4.3 */
	XDP_COOKIE_AHEAD_MAX_S = 300,
};

/* ---- SipHash-2-4 ---- */

struct xdp_sip {
	uint64_t a;
	uint64_t b;
	uint64_t c;
	uint64_t d;
};

/* A word of it in the order that SipHash has: the first byte is the least. */
XDP_INLINE uint64_t xdp_sip_word(const uint8_t *bytes)
{
	return __builtin_bswap64(xdp_get64(bytes));
}

XDP_INLINE uint64_t xdp_rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

XDP_INLINE void xdp_sip_round(struct xdp_sip *sip)
{
	sip->a += sip->b;
	sip->c += sip->d;
	sip->b = xdp_rotate(sip->b, 13) ^ sip->a;
	sip->d = xdp_rotate(sip->d, 16) ^ sip->c;
	sip->a = xdp_rotate(sip->a, 32) + sip->d;
	sip->c += sip->b;
	sip->d = xdp_rotate(sip->d, 21) ^ sip->a;
	sip->b = xdp_rotate(sip->b, 17) ^ sip->c;
	sip->c = xdp_rotate(sip->c, 32);
}

XDP_INLINE void xdp_sip_add(struct xdp_sip *sip, uint64_t word)
{
	sip->d ^= word;
	xdp_sip_round(sip);
	xdp_sip_round(sip);
	sip->a ^= word;
}

/* Of the first 16 bytes of the cookie and the client's address; IPv4 has four bytes alone. */
XDP_FUNCTION uint64_t xdp_hash_cookie(const struct xdp_scratch *scratch,
				      const struct xdp_config *config, uint32_t secret)
{
	if (scratch == NULL || config == NULL)
		return 0;
	const uint8_t *key = config->secrets[secret & (XDP_SECRETS_MAX - 1)];
	const uint8_t *client = scratch->client;
	uint64_t first = xdp_sip_word(key);
	uint64_t second = xdp_sip_word(key + 8);
	struct xdp_sip sip = { first ^ 0x736f6d6570736575, second ^ 0x646f72616e646f6d,
			       first ^ 0x6c7967656e657261, second ^ 0x7465646279746573 };
	xdp_sip_add(&sip, xdp_sip_word(scratch->cookie));
	xdp_sip_add(&sip, xdp_sip_word(scratch->cookie + 8));
	if (xdp_is_ipv4(scratch)) {
		xdp_sip_add(&sip, (uint64_t)20 << 56 | xdp_sip_word(client + 8) >> 32);
	} else {
		xdp_sip_add(&sip, xdp_sip_word(client));
		xdp_sip_add(&sip, xdp_sip_word(client + 8));
		xdp_sip_add(&sip, (uint64_t)32 << 56);
	}
	sip.c ^= 0xff;
	for (int i = 0; i < 4; i++)
		xdp_sip_round(&sip);
	return sip.a ^ sip.b ^ sip.c ^ sip.d;
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
