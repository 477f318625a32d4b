/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * index.h - where the names of one version of a store are, by their hashes.
 *
 * Flow: zone.c begins it when it loads a version and builds some of it at the
 *       end of each batch, or all of it before the first; from when it is
 *       complete zone.c asks it before the tree of the store.
 *
 * A look-up in the tree reads a dozen lines that no cache has; here it is one
 * or two, and for a name that is not there mostly none. The order of names is
 * not kept: neighbours come from the store.
 *
 * It points into the pages of that version, and is void with it. It has names
 * with bitmaps; of other names, and of the empty ones above names, it knows that
 * they may be there. Without it everything is answered as well, only slower: so
 * it stays off where a store is too large for its memory (INDEX_SLOTS_MAX).
 *
 * A handle with memory of its own; mapped when a version is begun, never while
 * a question is answered.
 */

#include "lib/format/key.h"
#include "lib/lmdb/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INDEX_SLOTS_MAX ((size_t)4 << 20) /* of 16 bytes; at most two thirds are records */

struct index_slot {
	const uint8_t *key; /* begins with the key of this name */
	uint32_t tag;
	uint16_t generation; /* of another one than the index is: free */
	uint8_t key_size;
	uint8_t record_size; /* of the record behind the key; or that it is elsewhere */
};

struct index {
	struct index_slot *slots; /* slot_count, a power of two */
	uint64_t *sieve; /* behind them, small enough for a cache: most names are not there */
	size_t slot_count;
	size_t entry_count;
	uint16_t generation;
	bool is_complete;
	bool is_off;		      /* for this version */
	unsigned wildcard_labels_min; /* of the shortest wildcard; UINT_MAX: there is none */
	struct dnsblv6_key done;      /* the walk goes on behind it; size 0 at the start */
};

/* What is known about a name. */
enum index_state {
	INDEX_NONE,	 /* neither it nor anything below it is there */
	INDEX_ENTRY,	 /* a bitmap */
	INDEX_ELSEWHERE, /* anything else: look into the store */
};

/* Begins anew, for a version of record_count records. Takes an index that is all zero. */
void index_begin(struct index *index, uint64_t record_count);
void index_deinit(struct index *index);

/* Takes the next count entries of the version that reader has begun. */
void index_build(struct index *index, struct reader *reader, size_t count);

/* Of a complete index. The outputs are written for INDEX_ENTRY only. */
enum index_state index_find(const struct index *index, const struct dnsblv6_key *key,
			    struct store_bytes *ret_key, struct store_bytes *ret_record);
/*
 * Has the processor fetch what index_find() will read for key: first where the name would be,
 * and, when that has come, its record. Of any index; nothing is waited for in the first.
 */
void index_fetch(const struct index *index, const struct dnsblv6_key *key);
void index_fetch_record(const struct index *index, const struct dnsblv6_key *key);
/* Is there data at key, a wildcard? Of a complete index, and exact. */
bool index_has_wildcard(const struct index *index, const struct dnsblv6_key *key);
/* May there be a wildcard that stands for a name of so many labels? */
bool index_has_wildcards(const struct index *index, unsigned label_count);

#ifdef __cplusplus
}
#endif
