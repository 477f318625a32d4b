/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mix.h - which set of a table a number belongs to, so that no client can know.
 *
 * Flow: ratelimit.c, talkers.c and frequent.c put a network or a range in -> the bits say which set.
 *
 * Pure. No cipher: it keeps a client that sees no table from filling one of its sets.
 */

#include <stdint.h>

/* The finaliser of SplitMix64; seed is random. Every bit of both decides each bit of the result. */
static inline uint64_t mix(uint64_t value, uint64_t seed)
{
	value ^= seed;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
	value = (value ^ value >> 27) * 0x94d049bb133111ebU;
	return value ^ value >> 31;
}
