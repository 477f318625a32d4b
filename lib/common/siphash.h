/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * siphash.h - SipHash-2-4 of whole words, for a client's cookie (RFC 9018 section 4.4).
 *
 * Flow: sip_begin() -> sip_add() of each word, the last of which has the size of all in its highest
 *       byte -> sip_end().
 *
 * Words are as SipHash has them: the first byte is the least. Compiled for BPF too: no memory but
 * the struct, and no call.
 */

#include <stdint.h>

#define SIP_INLINE static inline __attribute__((always_inline))

struct sip {
	uint64_t a;
	uint64_t b;
	uint64_t c;
	uint64_t d;
};

SIP_INLINE uint64_t sip_rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

SIP_INLINE void sip_round(struct sip *sip)
{
	sip->a += sip->b;
	sip->c += sip->d;
	sip->b = sip_rotate(sip->b, 13) ^ sip->a;
	sip->d = sip_rotate(sip->d, 16) ^ sip->c;
	sip->a = sip_rotate(sip->a, 32) + sip->d;
	sip->c += sip->b;
	sip->d = sip_rotate(sip->d, 21) ^ sip->a;
	sip->b = sip_rotate(sip->b, 17) ^ sip->c;
	sip->c = sip_rotate(sip->c, 32);
}

/* Both words of a key. */
SIP_INLINE struct sip sip_begin(uint64_t first, uint64_t second)
{
	struct sip sip = { first ^ 0x736f6d6570736575, second ^ 0x646f72616e646f6d,
			   first ^ 0x6c7967656e657261, second ^ 0x7465646279746573 };
	return sip;
}

SIP_INLINE void sip_add(struct sip *sip, uint64_t word)
{
	sip->d ^= word;
	sip_round(sip);
	sip_round(sip);
	sip->a ^= word;
}

SIP_INLINE uint64_t sip_end(struct sip *sip)
{
	sip->c ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(sip);
	return sip->a ^ sip->b ^ sip->c ^ sip->d;
}
