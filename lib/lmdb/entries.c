/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/entries.h"

#include "lib/format/bytes.h"
#include "lib/format/fnv.h"
#include "lib/lmdb/environment.h"

#include <string.h>
#include <unistd.h>

MDB_val entries_val(const void *data, size_t size)
{
	return (MDB_val){ size, (void *)(uintptr_t)data };
}

static struct store_bytes bytes_of(const MDB_val *value)
{
	return (struct store_bytes){ value->mv_data, value->mv_size };
}

/* ---- found by key, found by cursor ---- */

int entries_get(MDB_txn *txn, MDB_dbi table, const void *key, size_t key_size,
		struct store_bytes *ret_value)
{
	MDB_val k = entries_val(key, key_size);
	MDB_val v;
	int code = mdb_get(txn, table, &k, &v);
	if (code == MDB_SUCCESS)
		*ret_value = bytes_of(&v);
	return environment_status(code);
}

static int move(struct entries_walk *walk, MDB_val *key, MDB_cursor_op op,
		struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val value;
	int code = mdb_cursor_get(walk->cursor, key, &value, op);
	if (code == MDB_SUCCESS) {
		*ret_key = bytes_of(key);
		*ret_value = bytes_of(&value);
	}
	return environment_status(code);
}

int entries_seek(struct entries_walk *walk, const void *key, size_t key_size,
		 struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val k = entries_val(key, key_size);
	walk->step_count = 0;
	return move(walk, &k, key_size == 0 ? MDB_FIRST : MDB_SET_RANGE, ret_key, ret_value);
}

int entries_seek_before(struct entries_walk *walk, const void *key, size_t key_size,
			struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	if (key_size == 0)
		return DNSBLV6_ENOTFOUND; /* no key is less than the empty one */
	int ret = entries_seek(walk, key, key_size, ret_key, ret_value);
	if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	return entries_step(walk, ret == STORE_OK ? MDB_PREV : MDB_LAST, ret_key, ret_value);
}

/* Have there been more steps than the table has entries? Asked now and then, as it costs a little. */
static bool is_endless(const struct entries_walk *walk)
{
	enum { UNASKED = 1024 };
	MDB_stat stat_;
	return walk->step_count % UNASKED == 0 &&
	       mdb_stat(mdb_cursor_txn(walk->cursor), mdb_cursor_dbi(walk->cursor), &stat_) ==
		       MDB_SUCCESS &&
	       walk->step_count >= stat_.ms_entries + UNASKED;
}

int entries_step(struct entries_walk *walk, MDB_cursor_op op, struct store_bytes *ret_key,
		 struct store_bytes *ret_value)
{
	MDB_val k;
	bool is_begin = op == MDB_FIRST || op == MDB_LAST;
	walk->step_count = is_begin ? 0 : walk->step_count + 1;
	if (!is_begin && is_endless(walk))
		return STORE_ECORRUPT;
	return move(walk, &k, op, ret_key, ret_value);
}

/* ---- the checksum ---- */

/* Sums of similar entries must not cancel out: spread each over all 64 bits. */
static uint64_t final_mix(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static bool keeps_sum(const struct store_kind *kind, unsigned table, struct store_bytes key)
{
	const char *sum_key = kind->sum_place.key;
	return table == kind->head_table && key.size == strlen(sum_key) &&
	       memcmp(key.data, sum_key, key.size) == 0;
}

static uint64_t hash_key(unsigned table, struct store_bytes key)
{
	uint8_t head[3] = { (uint8_t)table, (uint8_t)(key.size >> 8), (uint8_t)key.size };
	return fnv_add(fnv_add(FNV_START, head, sizeof(head)), key.data, key.size);
}

uint64_t entries_share(const struct store_kind *kind, unsigned table, struct store_bytes key,
		       struct store_bytes value)
{
	if (keeps_sum(kind, table, key))
		return 0;
	return final_mix(fnv_add(hash_key(table, key), value.data, value.size));
}

enum { LANES = 4 };

/* Entries that are hashed side by side: each byte waits for the one before it in its entry alone. */
struct batch {
	size_t count;
	uint64_t hashes[LANES]; /* up to their values */
	struct store_bytes values[LANES];
};

/* As many bytes of the value of each. */
static void hash_together(struct batch *batch, size_t size)
{
	const struct store_bytes *values = batch->values;
	uint64_t *hashes = batch->hashes;
	uint64_t a = hashes[0], b = hashes[1], c = hashes[2], d = hashes[3];
	for (size_t i = 0; i < size; i++) {
		a = fnv_add(a, values[0].data + i, 1);
		b = fnv_add(b, values[1].data + i, 1);
		c = fnv_add(c, values[2].data + i, 1);
		d = fnv_add(d, values[3].data + i, 1);
	}
	hashes[0] = a;
	hashes[1] = b;
	hashes[2] = c;
	hashes[3] = d;
}

/* The shares of all in batch, which is empty then. */
static uint64_t take_batch(struct batch *batch)
{
	size_t least = batch->count == LANES ? SIZE_MAX : 0;
	uint64_t sum = 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->values[i].size < least)
			least = batch->values[i].size;
	}
	if (least > 0)
		hash_together(batch, least);
	for (size_t i = 0; i < batch->count; i++) {
		struct store_bytes value = batch->values[i];
		sum += final_mix(fnv_add(batch->hashes[i], value.data + least, value.size - least));
	}
	batch->count = 0;
	return sum;
}

/* Adds the share of an entry to sum, as soon as batch is full. */
static void add_share(struct batch *batch, uint64_t hash, struct store_bytes value, uint64_t *sum)
{
	batch->hashes[batch->count] = hash;
	batch->values[batch->count++] = value;
	if (batch->count == LANES)
		*sum += take_batch(batch);
}

/* A page of the file, while its entries are read. */
struct leaf {
	size_t size;
	const uint8_t *start; /* NULL: none yet */
	uintptr_t map;	      /* where the file begins */
	size_t lowest;	      /* place of an entry */
	size_t count;
	struct store_bytes key; /* of the last entry */
	struct store_bytes value;
};

/* Its head has what only a writer reads, and the checksum does not know: where there is room. */
static bool is_head_right(struct leaf *leaf)
{
	enum { FLAGS_AT = 8 + 2, HEAD_SIZE = 16, KINDS = 0x6f, LEAF = 0x02 };
	uint64_t number;
	uint16_t words[3]; /* flags, end of the entries' places, begin of the entries */
	if (leaf->start == NULL)
		return true;
	memcpy(&number, leaf->start, sizeof(number));
	memcpy(words, leaf->start + FLAGS_AT, sizeof(words));
	return number <= UINTPTR_MAX / leaf->size &&
	       (uintptr_t)leaf->start - number * leaf->size == leaf->map &&
	       (words[0] & KINDS) == LEAF &&
	       words[1] == HEAD_SIZE + leaf->count * sizeof(words[1]) && words[2] == leaf->lowest;
}

/* A search goes by keys that a walk does not look at: does it lead to the last entry, too? */
static bool is_found(const struct leaf *leaf, MDB_cursor *cursor)
{
	struct store_bytes value = { 0 };
	return leaf->start == NULL ||
	       (entries_get(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), leaf->key.data,
			    leaf->key.size, &value) == STORE_OK &&
		value.data == leaf->value.data);
}

static const uint8_t *start_of_leaf(const struct leaf *leaf, struct store_bytes key)
{
	return (const uint8_t *)((uintptr_t)key.data & ~(uintptr_t)(leaf->size - 1));
}

/* Counts an entry. False when the head of the page before it was not right. */
static bool count_in_leaf(struct leaf *leaf, struct store_bytes key)
{
	enum { ENTRY_HEAD = 8 };
	const uint8_t *start = start_of_leaf(leaf, key);
	size_t place = (size_t)(key.data - start) - ENTRY_HEAD;
	if (start != leaf->start) {
		if (!is_head_right(leaf))
			return false;
		leaf->start = start;
		leaf->lowest = leaf->size;
		leaf->count = 0;
	}
	leaf->count++;
	if (place < leaf->lowest)
		leaf->lowest = place;
	return true;
}

/* The same, and false also when no search leads to the first or the last entry of a page. */
static bool count_entry(struct leaf *leaf, MDB_cursor *cursor, struct store_bytes key,
			struct store_bytes value)
{
	bool is_first = start_of_leaf(leaf, key) != leaf->start;
	if (is_first && !is_found(leaf, cursor))
		return false;
	leaf->key = key;
	leaf->value = value;
	return count_in_leaf(leaf, key) && (!is_first || is_found(leaf, cursor));
}

/* Where the file is, as a page of LMDB's own table says, of the others. 0: it has no entry. */
static int find_map(MDB_txn *txn, size_t page_size, uintptr_t *ret_map)
{
	enum { TABLES = 1 };
	struct entries_walk walk = { 0 };
	struct store_bytes key;
	struct store_bytes value;
	uint64_t number;
	int code = mdb_cursor_open(txn, TABLES, &walk.cursor);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	int ret = entries_step(&walk, MDB_FIRST, &key, &value);
	mdb_cursor_close(walk.cursor);
	*ret_map = 0;
	if (ret == STORE_OK) {
		uintptr_t page = (uintptr_t)key.data & ~(uintptr_t)(page_size - 1);
		memcpy(&number, (const void *)page, sizeof(number));
		*ret_map = page - number * page_size;
	}
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

/* A page of a store that another kind of machine has made may begin anywhere in several of ours. */
static bool has_own_pages(size_t page_size)
{
	return page_size <= (size_t)sysconf(_SC_PAGESIZE);
}

int entries_sum(const struct store_kind *kind, unsigned table, MDB_cursor *cursor, bool is_mapped,
		uint64_t *ret_sum)
{
	struct entries_walk walk = { .cursor = cursor };
	struct store_bytes key;
	struct store_bytes value;
	MDB_stat stat_;
	struct batch batch = { 0 };
	uint64_t sum = 0;
	int code = mdb_stat(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), &stat_);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	struct leaf leaf = { .size = stat_.ms_psize };
	const bool is_looking = is_mapped && has_own_pages(leaf.size);
	int ret = is_looking ? find_map(mdb_cursor_txn(cursor), leaf.size, &leaf.map) : STORE_OK;
	if (ret == STORE_OK)
		ret = entries_step(&walk, MDB_FIRST, &key, &value);
	while (ret == STORE_OK) {
		if (is_looking && !count_entry(&leaf, cursor, key, value))
			return STORE_ECORRUPT;
		if (!keeps_sum(kind, table, key))
			add_share(&batch, hash_key(table, key), value, &sum);
		ret = entries_step(&walk, MDB_NEXT, &key, &value);
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (!is_head_right(&leaf) || !is_found(&leaf, cursor))
		return STORE_ECORRUPT;
	*ret_sum = sum + take_batch(&batch);
	return STORE_OK;
}

/*
 * The pages that one transaction has freed: their number, and they themselves, the greatest first. LMDB
 * makes room for more than it has sometimes, also when it has none.
 */
static bool is_freed_list(struct store_bytes pages, size_t page_last)
{
	size_t before = page_last + 1;
	size_t count;
	size_t page;
	if (pages.size < sizeof(count))
		return false;
	memcpy(&count, pages.data, sizeof(count));
	if (count >= pages.size / sizeof(page))
		return false;
	for (size_t i = 1; i <= count; i++) {
		memcpy(&page, pages.data + i * sizeof(page), sizeof(page));
		if (page >= before || page < 2)
			return false;
		before = page;
	}
	return true;
}

/* Numbers of transactions rise: pages that lead to a leaf twice would free it twice. */
static bool is_after(struct store_bytes key, uint64_t *before)
{
	uint64_t number;
	if (key.size != sizeof(number))
		return false;
	memcpy(&number, key.data, sizeof(number));
	bool is_right = number > *before;
	*before = number;
	return is_right;
}

int entries_check_freed(MDB_txn *txn)
{
	enum { FREED = 0 }; /* LMDB's own table, which readers may read */
	struct entries_walk walk = { 0 };
	MDB_envinfo info;
	MDB_stat stat_;
	struct store_bytes key;
	struct store_bytes pages = { 0 };
	uint64_t before = 0;
	size_t count = 0;
	int code = mdb_env_info(mdb_txn_env(txn), &info);
	if (code == MDB_SUCCESS)
		code = mdb_stat(txn, FREED, &stat_);
	if (code == MDB_SUCCESS)
		code = mdb_cursor_open(txn, FREED, &walk.cursor);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	struct leaf leaf = { .size = stat_.ms_psize };
	const bool is_looking = has_own_pages(leaf.size);
	int ret = is_looking ? find_map(txn, leaf.size, &leaf.map) : STORE_OK;
	if (ret == STORE_OK)
		ret = entries_step(&walk, MDB_FIRST, &key, &pages);
	for (; ret == STORE_OK; count++) {
		bool is_whole = is_freed_list(pages, info.me_last_pgno) && is_after(key, &before) &&
				(!is_looking || count_in_leaf(&leaf, key));
		ret = is_whole ? entries_step(&walk, MDB_NEXT, &key, &pages) : STORE_ECORRUPT;
	}
	mdb_cursor_close(walk.cursor);
	if (ret == DNSBLV6_ENOTFOUND)
		ret = is_head_right(&leaf) && count == stat_.ms_entries ? STORE_OK : STORE_ECORRUPT;
	return ret;
}

bool entries_take(const struct store_place *place, struct store_bytes value, unsigned size,
		  uint64_t *ret_number)
{
	struct bytes_input input = { value.data, value.size, false };
	bytes_take_string(&input, place->offset);
	*ret_number = bytes_take(&input, size);
	return !input.has_failed && value.size == place->value_size;
}

/* ---- tables ---- */

int entries_find_tables(MDB_txn *txn, const struct store_kind *kind, MDB_dbi *ret_tables)
{
	int code = MDB_SUCCESS;
	for (unsigned i = 0; code == MDB_SUCCESS && i < kind->table_count; i++)
		code = mdb_dbi_open(txn, kind->tables[i], 0, &ret_tables[i]);
	return environment_status(code);
}

/* Another program's file of LMDB has entries, and no version at our place. */
static int explain_no_version(MDB_txn *txn)
{
	MDB_dbi unnamed;
	MDB_stat stat_;
	int code = mdb_dbi_open(txn, NULL, 0, &unnamed);
	if (code == MDB_SUCCESS)
		code = mdb_stat(txn, unnamed, &stat_);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	return stat_.ms_entries == 0 ? STORE_EUNFINISHED : STORE_ENOTSTORE;
}

int entries_check_kind(MDB_txn *txn, const struct store_kind *kind)
{
	const struct store_place *place = &kind->version_place;
	struct store_bytes value;
	uint64_t version;
	MDB_dbi table;
	int ret = environment_status(mdb_dbi_open(txn, kind->tables[kind->head_table], 0, &table));
	if (ret == STORE_OK)
		ret = entries_get(txn, table, place->key, strlen(place->key), &value);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? explain_no_version(txn) : ret;
	bool is_whole = entries_take(place, value, 4, &version);
	if (version == kind->version)
		return is_whole ? STORE_OK : STORE_ECORRUPT;
	return value.size < place->offset + 4 ? STORE_ECORRUPT : STORE_ESCHEMA;
}
