/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/base/listing.h"

#include <errno.h>
#include <string.h>

#include "lib/format/array.h"
#include "lib/format/fnv.h"

/* ---- values ---- */

#define CHUNK_SIZE  16384 /* bytes; many texts each, for lists with a text on every line */
#define SLOTS_FIRST 64	  /* a power of two, as all later sizes */

struct text_chunk {
	struct text_chunk *next;
	size_t used;
	uint8_t bytes[CHUNK_SIZE];
};

/* size is at most CHUNK_SIZE. */
static int keep_bytes(struct text_chunk **chunks, const void *bytes, size_t size,
		      const uint8_t **ret_bytes)
{
	struct text_chunk *chunk = *chunks;
	if (chunk == NULL || CHUNK_SIZE - chunk->used < size) {
		chunk = malloc(sizeof(*chunk));
		if (chunk == NULL)
			return -ENOMEM;
		chunk->next = *chunks;
		chunk->used = 0;
		*chunks = chunk;
	}
	uint8_t *kept = chunk->bytes + chunk->used;
	if (size > 0)
		memcpy(kept, bytes, size);
	chunk->used += size;
	*ret_bytes = kept;
	return DNSBLV6_OK;
}

static void free_chunks(struct text_chunk *chunk)
{
	while (chunk != NULL) {
		struct text_chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
}

static uint64_t hash_value(const struct dnsblv6_value *value)
{
	const uint64_t hash = fnv_add(FNV_START ^ value->a ^ (uint64_t)value->ttl << 32,
				      value->text, value->text_size);
	return hash * 0x9e3779b97f4a7c15u >> 20; /* the low bits of FNV mix least */
}

static bool is_same(const struct dnsblv6_value *a, const struct dnsblv6_value *b)
{
	return a->a == b->a && a->ttl == b->ttl && a->text_size == b->text_size &&
	       (a->text_size == 0 || memcmp(a->text, b->text, a->text_size) == 0);
}

/* The slot that holds value's number, or the empty one where it belongs. */
static uint32_t *find_slot(const struct value_pool *pool, const struct dnsblv6_value *value)
{
	size_t mask = pool->slot_count - 1;
	size_t i = (size_t)hash_value(value) & mask;
	while (pool->slots[i] != 0 && !is_same(&pool->values[pool->slots[i] - 1], value))
		i = (i + 1) & mask;
	return &pool->slots[i];
}

static int grow_slots(struct value_pool *pool)
{
	size_t wanted = pool->slot_count == 0 ? SLOTS_FIRST : pool->slot_count * 2;
	uint32_t *slots = calloc(wanted, sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	free(pool->slots);
	pool->slots = slots;
	pool->slot_count = wanted;
	for (size_t i = 0; i < pool->count; i++)
		*find_slot(pool, &pool->values[i]) = (uint32_t)i + 1;
	return DNSBLV6_OK;
}

int value_pool_add(struct value_pool *pool, const struct dnsblv6_value *value, uint32_t *ret_number)
{
	int ret = DNSBLV6_OK;
	if (pool->count >= pool->slot_count / 2)
		ret = grow_slots(pool);
	if (ret != DNSBLV6_OK)
		return ret;

	uint32_t *slot = find_slot(pool, value);
	if (*slot != 0) {
		*ret_number = *slot - 1;
		return DNSBLV6_OK;
	}
	if (pool->count >= ENTRY_EXCLUDED - 1)
		return -ENOMEM;
	if (!array_reserve(pool->values, pool->count + 1, &pool->capacity))
		return -ENOMEM;
	struct dnsblv6_value kept = *value;
	ret = keep_bytes(&pool->chunks, value->text, value->text_size, &kept.text);
	if (ret != DNSBLV6_OK)
		return ret;
	*ret_number = (uint32_t)pool->count;
	pool->values[pool->count++] = kept;
	*slot = *ret_number + 1;
	return DNSBLV6_OK;
}

void value_pool_deinit(struct value_pool *pool)
{
	free_chunks(pool->chunks);
	free(pool->values);
	free(pool->slots);
	memset(pool, 0, sizeof(*pool));
}

/* ---- datasets ---- */

int dataset_add_entry(struct dataset *dataset, struct dnsblv6_prefix prefix, uint32_t value)
{
	if (!dnsblv6_prefix_is_ipv4(prefix))
		return dataset_add_loose(dataset, prefix, value);
	dataset->has_exclusions |= value == ENTRY_EXCLUDED;
	return prefixes_add(&dataset->ipv4, dnsblv6_addr_ipv4(prefix.first),
			    prefix.prefix_len - (unsigned)DNSBLV6_IPV4_BASE_LEN, value);
}

int dataset_add_loose(struct dataset *dataset, struct dnsblv6_prefix prefix, uint32_t value)
{
	dataset->has_exclusions |= value == ENTRY_EXCLUDED;
	dataset->is_sorted = false;
	if (!array_reserve(dataset->entries, dataset->entry_count + 1, &dataset->entry_capacity))
		return -ENOMEM;
	dataset->entries[dataset->entry_count++] = (struct entry){
		.first = prefix.first,
		.value = value,
		.prefix_len = prefix.prefix_len,
	};
	return DNSBLV6_OK;
}

static struct dnsblv6_prefix prefix_of(const struct entry *entry)
{
	return (struct dnsblv6_prefix){ entry->first, entry->prefix_len };
}

int dataset_settle(struct dataset *dataset)
{
	size_t count = 0;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < dataset->entry_count; i++) {
		const struct entry entry = dataset->entries[i];
		if (dnsblv6_prefix_is_ipv4(prefix_of(&entry)))
			ret = dataset_add_entry(dataset, prefix_of(&entry), entry.value);
		else
			dataset->entries[count++] = entry;
	}
	dataset->entry_count = count;
	return ret;
}

void dataset_revalue(struct dataset *dataset, const uint32_t *values)
{
	prefixes_renumber(&dataset->ipv4, values, ENTRY_EXCLUDED);
	for (size_t i = 0; i < dataset->entry_count; i++) {
		struct entry *entry = &dataset->entries[i];
		if (entry->value != ENTRY_EXCLUDED)
			entry->value = values[entry->value];
	}
}

/* ---- sorted ---- */

static int compare_entries(const void *a, const void *b, void *context)
{
	const struct entry *entries = context;
	uint32_t i = *(const uint32_t *)a;
	uint32_t j = *(const uint32_t *)b;
	const struct entry *left = &entries[i];
	const struct entry *right = &entries[j];
	int by_first = dnsblv6_addr_compare(left->first, right->first);

	if (by_first != 0)
		return by_first;
	if (left->prefix_len != right->prefix_len)
		return left->prefix_len < right->prefix_len ? -1 : 1;
	return (i > j) - (i < j);
}

static bool are_in_order(const struct dataset *dataset)
{
	for (uint32_t i = 1; i < dataset->entry_count; i++) {
		uint32_t before = i - 1;
		if (compare_entries(&before, &i, dataset->entries) > 0)
			return false;
	}
	return true;
}

/* By numbers, so that equal ones keep their order. */
static int sort_entries(struct dataset *dataset)
{
	size_t count = dataset->entry_count;
	if (count > UINT32_MAX)
		return -E2BIG;
	if (are_in_order(dataset))
		return DNSBLV6_OK;
	uint32_t *numbers = calloc(count, sizeof(*numbers));
	struct entry *sorted = calloc(count, sizeof(*sorted));
	int ret = numbers != NULL && sorted != NULL ? DNSBLV6_OK : -ENOMEM;
	if (ret == DNSBLV6_OK) {
		for (uint32_t i = 0; i < count; i++)
			numbers[i] = i;
		qsort_r(numbers, count, sizeof(*numbers), compare_entries, dataset->entries);
		for (size_t i = 0; i < count; i++)
			sorted[i] = dataset->entries[numbers[i]];
		memcpy(dataset->entries, sorted, count * sizeof(*sorted));
	}
	free(numbers);
	free(sorted);
	return ret;
}

int dataset_sort(struct dataset *dataset, unsigned part)
{
	if (part < DATASET_PART_IPV6)
		return prefixes_sort(&dataset->ipv4, part);
	int ret = dataset->is_sorted ? DNSBLV6_OK : sort_entries(dataset);
	dataset->is_sorted = ret == DNSBLV6_OK;
	return ret;
}

/* ---- one after the other ---- */

struct dataset_walk dataset_walk_part(const struct dataset *dataset, unsigned part)
{
	return (struct dataset_walk){ .dataset = dataset,
				      .ipv4 = { .prefixes = &dataset->ipv4, .part = part },
				      .part_end = part + 1 };
}

struct dataset_walk dataset_walk_all(const struct dataset *dataset)
{
	return (struct dataset_walk){ .dataset = dataset,
				      .ipv4 = { .prefixes = &dataset->ipv4 },
				      .part_end = DATASET_PARTS };
}

/* In a walk over all, a prefix that is in several parts counts in the first of them. */
static bool is_repeated(const struct dataset_walk *walk, uint64_t packed)
{
	unsigned length = prefixes_length(packed);
	unsigned bits = length < 8 ? 8 - length : 0;
	return walk->part_end == DATASET_PARTS && (walk->ipv4.part & ((1u << bits) - 1)) != 0;
}

bool dataset_next(struct dataset_walk *walk, struct entry *ret_entry)
{
	uint64_t packed;
	while (walk->ipv4.part < DATASET_PART_IPV6 && walk->ipv4.part < walk->part_end) {
		if (!prefixes_next(&walk->ipv4, &packed)) {
			walk->ipv4 = (struct prefixes_walk){ .prefixes = &walk->dataset->ipv4,
							     .part = walk->ipv4.part + 1 };
			continue;
		}
		if (is_repeated(walk, packed))
			continue;
		uint32_t first = prefixes_first(walk->ipv4.part, packed);
		unsigned length = DNSBLV6_IPV4_BASE_LEN + prefixes_length(packed);
		*ret_entry = (struct entry){ .first = dnsblv6_addr_from_ipv4(first),
					     .value = prefixes_number(packed),
					     .prefix_len = (uint8_t)length };
		return true;
	}
	if (walk->part_end != DATASET_PARTS || walk->index == walk->dataset->entry_count)
		return false;
	*ret_entry = walk->dataset->entries[walk->index++];
	return true;
}

int dataset_add_range(struct dataset *dataset, struct dnsblv6_addr first, struct dnsblv6_addr last,
		      uint32_t value)
{
	bool is_ipv4 = dnsblv6_addr_is_ipv4(first);
	struct dnsblv6_prefix piece = dnsblv6_prefix_of_range(first, last);
	int ret = DNSBLV6_OK;
	do {
		/* An IPv6 range may run over the mapped addresses without meaning them. */
		if (is_ipv4 || !dnsblv6_prefix_is_ipv4(piece))
			ret = dataset_add_entry(dataset, piece, value);
	} while (ret == DNSBLV6_OK && dnsblv6_prefix_follow(&piece, last));
	return ret;
}

int listing_keep(struct listing *listing, const void *bytes, size_t size, const uint8_t **ret_bytes)
{
	return keep_bytes(&listing->chunks, bytes, size, ret_bytes);
}

static int add_name(struct listing *listing, size_t dataset, const struct dnsblv6_labels *name,
		    struct name_entry entry)
{
	struct dataset *set = &listing->datasets[dataset];
	struct dnsblv6_key key;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	if (!array_reserve(set->names, set->name_count + 1, &set->name_capacity))
		return -ENOMEM;
	entry.key_size = key.size;
	ret = keep_bytes(&listing->chunks, key.bytes, key.size, &entry.key);
	if (ret == DNSBLV6_OK)
		set->names[set->name_count++] = entry;
	return ret;
}

int dataset_add_name(struct listing *listing, size_t dataset, const struct dnsblv6_labels *name,
		     uint8_t reach, uint32_t value)
{
	return add_name(listing, dataset, name,
			(struct name_entry){ .value = value, .reach = reach });
}

int dataset_add_record(struct listing *listing, size_t dataset, const struct dnsblv6_labels *name,
		       const struct dnsblv6_rr *rr)
{
	struct name_entry entry = { .value = (uint32_t)listing->record_count,
				    .reach = NAME_ITSELF,
				    .is_record = true };
	struct dnsblv6_rr kept = *rr;
	if (listing->record_count >= UINT32_MAX ||
	    !array_reserve(listing->records, listing->record_count + 1, &listing->record_capacity))
		return -ENOMEM;
	int ret = keep_bytes(&listing->chunks, rr->rdata, rr->rdata_size, &kept.rdata);
	if (ret == DNSBLV6_OK)
		ret = add_name(listing, dataset, name, entry);
	if (ret == DNSBLV6_OK)
		listing->records[listing->record_count++] = kept;
	return ret;
}

/* ---- the whole ---- */

int listing_init(struct listing *listing)
{
	memset(listing, 0, sizeof(*listing));
	const struct dnsblv6_labels apex = { .size = 0 };
	uint16_t origin;
	return listing_add_origin(listing, &apex, &origin);
}

static void deinit_dataset(struct dataset *dataset)
{
	prefixes_deinit(&dataset->ipv4);
	free(dataset->entries);
	free(dataset->names);
	free(dataset->origins);
}

void listing_deinit(struct listing *listing)
{
	value_pool_deinit(&listing->pool);
	for (size_t i = 0; i < listing->dataset_count; i++)
		deinit_dataset(&listing->datasets[i]);
	free(listing->datasets);
	deinit_dataset(&listing->excepted);
	free(listing->records);
	free_chunks(listing->chunks);
	for (size_t i = 0; i < listing->origin_count; i++)
		free(listing->connected[i].datasets);
	free(listing->connected);
	free(listing->clients.datasets);
	free(listing->origins);
	free(listing->zone.soa_primary);
	free(listing->zone.soa_mailbox);
	for (size_t i = 0; i < listing->zone.ns_count; i++)
		free(listing->zone.ns[i]);
	memset(listing, 0, sizeof(*listing));
}

int listing_add_dataset(struct listing *listing, enum duplicate_policy policy,
			struct dataset **ret_dataset)
{
	struct dataset *grown =
		reallocarray(listing->datasets, listing->dataset_count + 1, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	listing->datasets = grown;
	struct dataset *dataset = &listing->datasets[listing->dataset_count++];
	memset(dataset, 0, sizeof(*dataset));
	dataset->policy = policy;
	*ret_dataset = dataset;
	return DNSBLV6_OK;
}

int listing_add_origin(struct listing *listing, const struct dnsblv6_labels *name,
		       uint16_t *ret_origin)
{
	for (size_t i = 0; i < listing->origin_count; i++) {
		const struct dnsblv6_labels *known = &listing->origins[i];
		if (known->size == name->size && memcmp(known->wire, name->wire, name->size) == 0) {
			*ret_origin = (uint16_t)i;
			return DNSBLV6_OK;
		}
	}
	if (listing->origin_count >= LISTING_ORIGINS_MAX)
		return -E2BIG;
	struct dnsblv6_labels *grown =
		reallocarray(listing->origins, listing->origin_count + 1, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	listing->origins = grown;
	struct connected *connected =
		reallocarray(listing->connected, listing->origin_count + 1, sizeof(*connected));
	if (connected == NULL)
		return -ENOMEM;
	listing->connected = connected;
	connected[listing->origin_count] = (struct connected){ 0 };
	*ret_origin = (uint16_t)listing->origin_count;
	listing->origins[listing->origin_count++] = *name;
	return DNSBLV6_OK;
}

const struct connected *listing_connected(const struct listing *listing, uint16_t origin)
{
	return origin == DNSBLV6_ORIGIN_ACL ? &listing->clients : &listing->connected[origin];
}

int listing_connect(struct listing *listing, uint16_t origin)
{
	const uint32_t number = (uint32_t)(listing->dataset_count - 1);
	struct dataset *dataset = &listing->datasets[number];
	struct connected *connected =
		origin == DNSBLV6_ORIGIN_ACL ? &listing->clients : &listing->connected[origin];
	if (connected->count > 0 && connected->datasets[connected->count - 1] == number)
		return DNSBLV6_OK;
	uint16_t *grown = reallocarray(dataset->origins, dataset->origin_count + 1, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	dataset->origins = grown;
	if (!array_reserve(connected->datasets, connected->count + 1, &connected->capacity))
		return -ENOMEM;
	dataset->origins[dataset->origin_count++] = origin;
	connected->datasets[connected->count++] = number;
	return DNSBLV6_OK;
}
