/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * words.h - bytes of a packet, eight at a time, in a way that the verifier of BPF and C both permit.
 *
 * Flow: question.h reads and reply.h writes with these.
 *
 * Clang moves what may lie at any address byte by byte to please processors that BPF does not run
 * on. So in BPF a word is read by an ordinary load. Copies are of a constant size: where less is meant,
 * what comes next is written over the rest.
 */

#include <stdbool.h>
#include <stdint.h>

#ifndef __bpf__
#include <string.h>
#endif

#define XDP_INLINE static inline __attribute__((always_inline))
/*
 * A function that the verifier looks at once, for whatever it may be called with: so it begins by asking
 * whether its pointers are NULL. To return from one takes long where processors are kept from
 * guessing where to: an answer is worth few of them.
 */
#ifdef __bpf__
#define XDP_FUNCTION __attribute__((noinline))
#else
#define XDP_FUNCTION static __attribute__((noinline))
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define XDP_BE16(word) __builtin_bswap16(word)
#define XDP_BE32(word) __builtin_bswap32(word)
#define XDP_BE64(word) __builtin_bswap64(word)
#else
#define XDP_BE16(word) (word)
#define XDP_BE32(word) (word)
#define XDP_BE64(word) (word)
#endif

/* ---- in the order of the machine ---- */

XDP_INLINE uint64_t xdp_load64(const void *from)
{
#ifdef __bpf__
	return *(const uint64_t *)from;
#else
	uint64_t word;
	memcpy(&word, from, sizeof(word));
	return word;
#endif
}

XDP_INLINE uint32_t xdp_load32(const void *from)
{
#ifdef __bpf__
	return *(const uint32_t *)from;
#else
	uint32_t word;
	memcpy(&word, from, sizeof(word));
	return word;
#endif
}

XDP_INLINE uint16_t xdp_load16(const void *from)
{
#ifdef __bpf__
	return *(const uint16_t *)from;
#else
	uint16_t word;
	memcpy(&word, from, sizeof(word));
	return word;
#endif
}

XDP_INLINE void xdp_store64(void *to, uint64_t word)
{
#ifdef __bpf__
	*(uint64_t *)to = word;
#else
	memcpy(to, &word, sizeof(word));
#endif
}

XDP_INLINE void xdp_store32(void *to, uint32_t word)
{
#ifdef __bpf__
	*(uint32_t *)to = word;
#else
	memcpy(to, &word, sizeof(word));
#endif
}

XDP_INLINE void xdp_store16(void *to, uint16_t word)
{
#ifdef __bpf__
	*(uint16_t *)to = word;
#else
	memcpy(to, &word, sizeof(word));
#endif
}

/* word_count is a constant. */
XDP_INLINE void xdp_copy(uint8_t *to, const uint8_t *from, unsigned word_count)
{
	for (unsigned i = 0; i < word_count; i++)
		xdp_store64(to + (8 * i), xdp_load64(from + (8 * i)));
}

XDP_INLINE void xdp_clear(uint8_t *to, unsigned word_count)
{
	for (unsigned i = 0; i < word_count; i++)
		xdp_store64(to + (8 * i), 0);
}

/* Ten bytes: of the times of a signature, or of types. */
XDP_INLINE void xdp_copy10(uint8_t *to, const uint8_t *from)
{
	xdp_store64(to, xdp_load64(from));
	xdp_store16(to + 8, xdp_load16(from + 8));
}

/* ---- in that of the network ---- */

XDP_INLINE uint16_t xdp_get16(const void *from)
{
	return XDP_BE16(xdp_load16(from));
}

XDP_INLINE uint64_t xdp_get64(const void *from)
{
	return XDP_BE64(xdp_load64(from));
}

XDP_INLINE void xdp_put16(void *to, uint16_t word)
{
	xdp_store16(to, XDP_BE16(word));
}

XDP_INLINE void xdp_put32(void *to, uint32_t word)
{
	xdp_store32(to, XDP_BE32(word));
}

XDP_INLINE void xdp_put64(void *to, uint64_t word)
{
	xdp_store64(to, XDP_BE64(word));
}

/* ---- eight bytes at once ---- */

#define XDP_EACH(byte) (0x0101010101010101U * (byte))

/* A to Z become a to z. */
XDP_INLINE uint64_t xdp_lower(uint64_t word)
{
	uint64_t low = word & XDP_EACH(0x7fU);
	uint64_t from_a = low + XDP_EACH(0x80U - 'A');
	uint64_t behind_z = low + XDP_EACH(0x7fU - 'Z');
	uint64_t upper = (from_a ^ behind_z) & ~word & XDP_EACH(0x80U);
	return word | upper >> 2;
}

/* Is any byte 0 or 1? */
XDP_INLINE bool xdp_has_tiny(uint64_t word)
{
	return ((word - XDP_EACH(2U)) & ~word & XDP_EACH(0x80U)) != 0;
}
