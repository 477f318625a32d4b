/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * fnv.h - the hash FNV-1a of 64 bits (Fowler, Noll and Vo).
 *
 * Flow: a name, or another short text -> fnv_add() -> the place in a table, a checksum, or a choice that machines
 *       make alike.
 *
 *     uint64_t hash = fnv_add(FNV_START, name, name_size);
 *     hash = fnv_add(hash, value, value_size);        as of both in a row
 *
 * Its low bits mix least, and the last bytes of a text: what takes a part of the bits mixes them once more.
 * Texts with the same hash are easily made, so that a table that strangers fill has a seed in the place of
 * FNV_START. Some of its values are in files, and in what nodes agree about: they stay as they are.
 */

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_add(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}
