/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/index.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/format/record.h"
#include "lib/store/tables.h"

enum {
	ELSEWHERE = 255, /* of one whose data is no bitmap behind its key */
	SLOTS_MIN = 1 << 10,
	SIEVE_SHARE = 4, /* slots for a word of the sieve: 16 bits for each */
	LINE_WORDS = 8,	 /* of a cache line */
};

/* ---- memory ---- */

static size_t sieve_size(size_t slot_count)
{
	return slot_count / SIEVE_SHARE * sizeof(uint64_t);
}

static void unmap(struct index *index)
{
	if (index->slots != NULL)
		munmap(index->slots,
		       index->slot_count * sizeof(*index->slots) + sieve_size(index->slot_count));
	index->slots = NULL;
	index->slot_count = 0;
}

static bool map(struct index *index, size_t slot_count)
{
	if (index->slot_count == slot_count && index->generation != UINT16_MAX)
		return true; /* what is there is of generations before */
	unmap(index);
	void *memory = mmap(NULL, slot_count * sizeof(*index->slots) + sieve_size(slot_count),
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	/* Children verify or transfer: none looks names up, and fork() need not copy this. */
	madvise(memory, slot_count * sizeof(*index->slots) + sieve_size(slot_count), MADV_DONTFORK);
	index->slots = memory;
	index->sieve = (uint64_t *)(void *)(index->slots + slot_count);
	index->slot_count = slot_count;
	index->generation = 0;
	return true;
}

/* Names are found in a few steps while a third of the slots is free. */
static size_t full_count(size_t slot_count)
{
	return slot_count / 3 * 2;
}

void index_begin(struct index *index, uint64_t record_count)
{
	size_t slot_count = SLOTS_MIN;
	while (slot_count < INDEX_SLOTS_MAX && full_count(slot_count) <= record_count)
		slot_count *= 2;
	index->is_complete = false;
	index->entry_count = 0;
	index->wildcard_labels_min = UINT_MAX;
	index->done.size = 0;
	index->is_off = full_count(slot_count) <= record_count || !map(index, slot_count);
	if (index->is_off) {
		/* Or a later version could take what is there for its own, 65536 generations on. */
		unmap(index);
		return;
	}
	index->generation++;
	memset(index->sieve, 0, sieve_size(index->slot_count));
}

void index_deinit(struct index *index)
{
	unmap(index);
	memset(index, 0, sizeof(*index));
}

/* ---- slots ---- */

static uint64_t mix(uint64_t value)
{
	value *= 0x9e3779b97f4a7c15; /* 2^64 by the golden ratio: Knuth's multiplicative hash */
	return value ^ value >> 32;
}

static uint64_t hash(const uint8_t *bytes, size_t size)
{
	uint64_t sum = size;
	uint64_t part = 0;
	for (; size >= sizeof(part); bytes += sizeof(part), size -= sizeof(part)) {
		memcpy(&part, bytes, sizeof(part));
		sum = mix(sum ^ part);
	}
	part = 0;
	for (size_t i = 0; i < size; i++)
		part = part << 8 | bytes[i];
	return mix(mix(sum ^ part));
}

/*
 * Two bits of one line of the sieve for each name: a Bloom filter that costs
 * one cache line. About one in a hundred names that are not there gets through.
 */
static uint64_t *find_line(const struct index *index, uint64_t sum)
{
	size_t line_count = index->slot_count / SIEVE_SHARE / LINE_WORDS;
	return index->sieve + (size_t)(sum >> 20) % line_count * LINE_WORDS;
}

static void add_to_sieve(struct index *index, uint64_t sum)
{
	uint64_t *line = find_line(index, sum);
	line[sum >> 6 & 7] |= UINT64_C(1) << (sum & 63);
	line[sum >> 15 & 7] |= UINT64_C(1) << (sum >> 9 & 63);
}

static bool is_in_sieve(const struct index *index, uint64_t sum)
{
	const uint64_t *line = find_line(index, sum);
	return (line[sum >> 6 & 7] >> (sum & 63) & line[sum >> 15 & 7] >> (sum >> 9 & 63) & 1) != 0;
}

/* The slot of that key, or the free one where it belongs: a part of them is always free. */
static struct index_slot *find_slot(const struct index *index, const uint8_t *key, size_t size,
				    uint64_t sum)
{
	uint32_t tag = (uint32_t)(sum >> 32);
	size_t at = (size_t)sum & (index->slot_count - 1);
	for (;; at = (at + 1) & (index->slot_count - 1)) {
		struct index_slot *slot = &index->slots[at];
		if (slot->generation != index->generation)
			return slot;
		if (slot->tag == tag && slot->key_size == size && memcmp(slot->key, key, size) == 0)
			return slot;
	}
}

static void put(struct index *index, const uint8_t *key, size_t size, uint8_t record_size)
{
	if (size > UINT8_MAX || index->entry_count >= full_count(index->slot_count)) {
		index->is_off = true;
		return;
	}
	uint64_t sum = hash(key, size);
	add_to_sieve(index, sum);
	index->entry_count++;
	*find_slot(index, key, size, sum) = (struct index_slot){ .key = key,
								 .tag = (uint32_t)(sum >> 32),
								 .generation = index->generation,
								 .key_size = (uint8_t)size,
								 .record_size = record_size };
}

/* ---- building ---- */

static void put_entry(struct index *index, const struct store_bytes *key,
		      const struct store_bytes *record)
{
	bool is_near = record->data == key->data + key->size && record->size < ELSEWHERE &&
		       dnsblv6_record_kind(record->data, record->size) == DNSBLV6_RECORD_BITMAP;
	put(index, key->data, key->size, is_near ? (uint8_t)record->size : ELSEWHERE);
}

static bool is_wildcard(const struct dnsblv6_key *key)
{
	struct dnsblv6_key wildcard;
	wildcard.size = key->size;
	memcpy(wildcard.bytes, key->bytes, key->size);
	return dnsblv6_key_to_parent(&wildcard) &&
	       dnsblv6_key_add_label(&wildcard, (const uint8_t *)"*", 1) == DNSBLV6_OK &&
	       wildcard.size == key->size && memcmp(wildcard.bytes, key->bytes, key->size) == 0;
}

/* The names above name that its predecessor has not. */
static void put_ancestors(struct index *index, const struct dnsblv6_key *name)
{
	unsigned labels = dnsblv6_key_label_count(name->bytes, name->size);
	unsigned shared = dnsblv6_key_common_labels(name->bytes, name->size, index->done.bytes,
						    index->done.size);
	struct dnsblv6_key above;
	above.size = name->size;
	memcpy(above.bytes, name->bytes, name->size);
	for (; labels > shared + 1; labels--) {
		dnsblv6_key_to_parent(&above);
		add_to_sieve(index, hash(above.bytes, above.size));
		/* A wildcard without data counts too, but has no slot: no builder makes one. */
		index->is_off |= is_wildcard(&above);
	}
}

static void note_wildcard(struct index *index, const struct dnsblv6_key *name)
{
	unsigned labels = dnsblv6_key_label_count(name->bytes, name->size);
	if (labels < index->wildcard_labels_min && is_wildcard(name))
		index->wildcard_labels_min = labels;
}

static void take(struct index *index, const struct store_bytes *key,
		 const struct store_bytes *record)
{
	if (key->size > sizeof(index->done.bytes)) {
		index->is_off = true;
		return;
	}
	struct dnsblv6_key name;
	name.size = (uint16_t)key->size;
	memcpy(name.bytes, key->data, key->size);
	put_ancestors(index, &name);
	put_entry(index, key, record);
	note_wildcard(index, &name);
	index->done.size = name.size;
	memcpy(index->done.bytes, name.bytes, name.size);
}

void index_build(struct index *index, struct reader *reader, size_t count)
{
	struct store_bytes key;
	struct store_bytes record;
	if (index->is_complete || index->is_off || index->slots == NULL)
		return;
	int ret = reader_seek(reader, STORE_RECORDS, index->done.bytes, index->done.size, &key,
			      &record);
	if (ret == DNSBLV6_OK && index->done.size != 0)
		ret = reader_next(reader, STORE_RECORDS, &key, &record);
	for (; ret == DNSBLV6_OK && !index->is_off && count > 0; count--) {
		take(index, &key, &record);
		ret = reader_next(reader, STORE_RECORDS, &key, &record);
	}
	index->is_complete = ret == DNSBLV6_ENOTFOUND && !index->is_off;
	index->is_off |= ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND;
}

/* ---- finding ---- */

enum index_state index_find(const struct index *index, const struct dnsblv6_key *key,
			    struct store_bytes *ret_key, struct store_bytes *ret_record)
{
	if (key->size > UINT8_MAX)
		return INDEX_NONE; /* none of those is longer */
	uint64_t sum = hash(key->bytes, key->size);
	if (!is_in_sieve(index, sum))
		return INDEX_NONE;
	const struct index_slot *slot = find_slot(index, key->bytes, key->size, sum);
	if (slot->generation != index->generation || slot->record_size == ELSEWHERE)
		return INDEX_ELSEWHERE;
	*ret_key = (struct store_bytes){ slot->key, slot->key_size };
	*ret_record = (struct store_bytes){ slot->key + slot->key_size, slot->record_size };
	return INDEX_ENTRY;
}

void index_fetch(const struct index *index, const struct dnsblv6_key *key)
{
	if (!index->is_complete)
		return;
	uint64_t sum = hash(key->bytes, key->size);
	__builtin_prefetch(find_line(index, sum));
	__builtin_prefetch(&index->slots[(size_t)sum & (index->slot_count - 1)]);
}

/* The slot that comes first may be of another name: then its record is fetched in vain. */
void index_fetch_record(const struct index *index, const struct dnsblv6_key *key)
{
	if (!index->is_complete)
		return;
	uint64_t sum = hash(key->bytes, key->size);
	const struct index_slot *slot = &index->slots[(size_t)sum & (index->slot_count - 1)];
	if (!is_in_sieve(index, sum) || slot->generation != index->generation)
		return;
	__builtin_prefetch(slot->key);
	__builtin_prefetch(slot->key + slot->key_size + sizeof(struct dnsblv6_bitmap));
}

bool index_has_wildcard(const struct index *index, const struct dnsblv6_key *key)
{
	if (key->size > UINT8_MAX)
		return false;
	uint64_t sum = hash(key->bytes, key->size);
	return is_in_sieve(index, sum) &&
	       find_slot(index, key->bytes, key->size, sum)->generation == index->generation;
}

bool index_has_wildcards(const struct index *index, unsigned label_count)
{
	return label_count >= index->wildcard_labels_min;
}
