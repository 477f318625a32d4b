/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/zip/unpack_digest.h"

#include <string.h>
#include <sys/auxv.h>

#define PRIME ((1ULL << 61) - 1)

__extension__ typedef unsigned __int128 wide;

/* The finisher of MurmurHash3: each bit of the value changes half of those of the result. */
static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdULL;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ULL;
	return value ^ value >> 33;
}

void unpack_digest_begin(struct unpack_digest *ret_digest)
{
	uint64_t seed[2] = { 0, 0 };
	memset(ret_digest, 0, sizeof(*ret_digest));
	/* 16 bytes that are the process's own, without a call of the kernel. */
	const unsigned long random = getauxval(AT_RANDOM);
	if (random != 0)
		memcpy(seed, (const void *)random, sizeof(seed)); /* NOLINT: an address */
	for (size_t i = 0; i < 4; i++)
		ret_digest->key[i] = mix(mix(seed[0] + i) ^ (seed[1] + i));
	ret_digest->key[0] %= PRIME;
}

void unpack_digest_item(struct unpack_digest_item *ret_item)
{
	ret_item->name = 1;
}

void unpack_digest_name(const struct unpack_digest *digest, struct unpack_digest_item *item,
			const uint8_t *bytes, size_t size)
{
	uint64_t name = item->name;
	for (size_t i = 0; i < size; i++) {
		const wide product = (wide)name * digest->key[0] + bytes[i];
		name = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
		name = name >= PRIME ? name - PRIME : name;
	}
	item->name = name;
}

void unpack_digest_add(struct unpack_digest *digest, const struct unpack_digest_item *item,
		       const struct unpack_digest_facts *facts)
{
	uint64_t hash = mix(item->name ^ digest->key[1]);
	hash = mix((hash ^ facts->crc ^ (uint64_t)facts->method << 32) + digest->key[2]);
	hash = mix((hash ^ facts->packed_size) + digest->key[3]);
	hash = mix((hash ^ facts->size) + digest->key[1]);
	digest->count++;
	digest->sum += hash;
	digest->placed += hash * facts->offset;
}

bool unpack_digest_equal(const struct unpack_digest *locals, const struct unpack_digest *directory,
			 uint64_t base)
{
	return locals->count == directory->count && locals->sum == directory->sum &&
	       locals->placed == directory->placed + base * directory->sum;
}
