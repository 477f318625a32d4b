/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * cache_table.h - the memory of a cache, for cache.c and cache_file.c alone.
 *
 *     OFFSET  SIZE  DESCRIPTION of a table
 *        0    128   header: 16 words, enum cache_word
 *      128    512   the zones' words, CACHE_ZONES_MAX
 *      640     n    in a file: names of the zones, each with a NUL
 *        s   128*m  m sets of four slots; s is 640 + n up to a multiple of 128
 *              m    marks: for each set a bit for each slot in use, and a hand
 *
 * m is as large as fits: 129 bytes a set. A table has a whole number of pages.
 * All words are in the machine's order and are read and written with relaxed
 * atomics. What a reader needs of the header he has copied into struct cache, and checked:
 * a header that is written to later does not lead him astray.
 */

#include "client-lib/cache.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CACHE_MAGIC   0x4453424c76366331ull /* "DSBLv6c1" */
#define CACHE_VERSION 1u

enum cache_word {
	CACHE_WORD_MAGIC,
	CACHE_WORD_VERSION,
	CACHE_WORD_SIZE,       /* bytes of the whole table */
	CACHE_WORD_SETS,       /* m */
	CACHE_WORD_EPOCH,      /* CLOCK_MONOTONIC in seconds when the table's clock was 0 */
	CACHE_WORD_BOOT,       /* a hash of the kernel's boot_id; 0: unknown */
	CACHE_WORD_SEED,       /* two words */
	CACHE_WORD_ZONES = 8,  /* how many names */
	CACHE_WORD_NAMES_SIZE, /* n */
	CACHE_WORD_RETIRED,    /* 1: its writer has ended */
	CACHE_WORD_ZONE = 16,  /* the first of the zones' words */
};

#define CACHE_SLOT_WORDS   (CACHE_SLOT_SIZE / sizeof(uint64_t))
#define CACHE_SET_SLOTS	   4u
#define CACHE_SET_WORDS	   (CACHE_SET_SLOTS * CACHE_SLOT_WORDS)
#define CACHE_SET_SIZE	   (CACHE_SET_SLOTS * (uint64_t)CACHE_SLOT_SIZE)
#define CACHE_NAMES_OFFSET ((CACHE_WORD_ZONE + CACHE_ZONES_MAX) * sizeof(uint64_t))
#define CACHE_SETS_MAX	   UINT32_MAX
/* Text of 254 octets, each as four characters, and the NUL: DNSBLV6_NAME_TEXT_SIZE. */
#define CACHE_NAMES_MAX (CACHE_ZONES_MAX * 1024u)

struct cache {
	uint64_t *slots;
	uint64_t set_count;
	uint64_t seed[2];
	uint64_t epoch_s;
	uint8_t *marks; /* NULL: mapped read-only */
	uint64_t *header;
	uint64_t size_bytes;
	uint64_t puts, evicted; /* atomic */
	/* of a file */
	char *names; /* a copy */
	unsigned zone_count;
	int lock_fd; /* -1: not its writer */
	dev_t device;
	ino_t inode;
};

static inline uint64_t cache_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void cache_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* size_bytes as a whole number of pages, or 0 when a table of that size cannot be. */
uint64_t cache_table_size(uint64_t size_bytes);
/* Where the sets begin, and how many there are; 0: not one. */
uint64_t cache_table_offset(uint64_t names_size);
uint64_t cache_table_sets(uint64_t size_bytes, uint64_t names_size);

/* A table of zero bytes becomes an empty one: everything in the header but names and boot. */
void cache_table_fill(uint64_t *header, uint64_t size_bytes, uint64_t names_size);
/* memory is the table, mapped; header is the first CACHE_WORD_ZONE words of it, or a copy that
 * was checked. */
void cache_table_use(struct cache *cache, void *memory, const uint64_t *header, bool is_writable);

/* CLOCK_MONOTONIC_COARSE, seconds. */
uint64_t cache_clock_s(void);

#ifdef __cplusplus
}
#endif
