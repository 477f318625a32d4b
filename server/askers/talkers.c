/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/askers/talkers.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/process/sharedmem.h"
#include "server/askers/mix.h"

#define FAMILY_SHIFT 56
#define FAMILY_IPV4  ((uint64_t)4 << FAMILY_SHIFT)
#define FAMILY_IPV6  ((uint64_t)6 << FAMILY_SHIFT)

/* ---- life ---- */

static size_t count_sets(const struct talkers_shape *shape)
{
	if (shape->place_count == 0)
		return 0;
	size_t count = 1;
	while (count * TALKERS_SET_PLACES < shape->place_count)
		count *= 2;
	return count;
}

int talkers_open(struct talkers_bank *bank, size_t worker_count, const struct talkers_shape *shape)
{
	struct talkers_bank made = { .shape = *shape };
	made.size_bytes = worker_count * count_sets(shape) * sizeof(struct talkers_set);
	if (made.size_bytes != 0) {
		made.memory = sharedmem_new(made.size_bytes);
		if (made.memory == NULL)
			return -ENOMEM;
	}
	*bank = made;
	return 0;
}

void talkers_close(struct talkers_bank *bank)
{
	sharedmem_free(bank->memory, bank->size_bytes);
	*bank = (struct talkers_bank){ 0 };
}

struct talkers talkers_of_worker(const struct talkers_bank *bank, size_t worker)
{
	size_t count = count_sets(&bank->shape);
	if (bank->memory == NULL)
		return (struct talkers){ .shape = bank->shape };
	return (struct talkers){ .sets = (struct talkers_set *)bank->memory + worker * count,
				 .set_mask = count - 1,
				 .shape = bank->shape };
}

bool talkers_is_alike(const struct talkers_shape *a, const struct talkers_shape *b)
{
	return count_sets(a) == count_sets(b) && a->ipv4_length == b->ipv4_length &&
	       a->ipv6_length == b->ipv6_length && a->seed == b->seed;
}

/* ---- counting ---- */

/* The prefix of client with its family; 0 for none. */
static uint64_t make_key(const struct talkers_shape *shape, const struct sockaddr *client)
{
	if (client->sa_family == AF_INET) {
		const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)client;
		uint64_t address = ntohl(four->sin_addr.s_addr);
		return FAMILY_IPV4 | address >> (32 - shape->ipv4_length);
	}
	if (client->sa_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)client;
		uint64_t address = 0;
		memcpy(&address, &six->sin6_addr, sizeof(address));
		return FAMILY_IPV6 | be64toh(address) >> (64 - shape->ipv6_length);
	}
	return 0;
}

static struct talkers_set *find_set(const struct talkers *talkers, uint64_t key)
{
	return &talkers->sets[mix(key, talkers->shape.seed) & talkers->set_mask];
}

/* The parent must never see half of a number. */
static void put(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/*
 * The two that follow look at every place: a loop that ends where it finds
 * something ends where no processor expects it, which costs more.
 */

/* Where key is, or TALKERS_SET_PLACES. */
static size_t find_place(const struct talkers_set *set, uint64_t key)
{
	size_t found = TALKERS_SET_PLACES;
	for (size_t i = 0; i < TALKERS_SET_PLACES; i++)
		found = set->keys[i] == key ? i : found;
	return found;
}

static size_t find_least(const struct talkers_set *set)
{
	size_t least = 0;
	uint64_t count = set->counts[0];
	for (size_t i = 1; i < TALKERS_SET_PLACES; i++) {
		bool is_less = set->counts[i] < count;
		least = is_less ? i : least;
		count = is_less ? set->counts[i] : count;
	}
	return least;
}

/* For a prefix without a place: an empty one, or that of the prefix that was counted least. */
static void take_over(struct talkers_set *set, uint64_t key)
{
	size_t least = find_least(set);
	put(&set->errors[least], set->counts[least]);
	put(&set->keys[least], key); /* first, so that a place with a count always has a name */
	put(&set->counts[least], set->counts[least] + 1);
}

void talkers_count(const struct talkers *talkers, const struct sockaddr *client)
{
	uint64_t key =
		talkers->sets != NULL && client != NULL ? make_key(&talkers->shape, client) : 0;
	if (key == 0)
		return;
	struct talkers_set *set = find_set(talkers, key);
	size_t place = find_place(set, key);
	if (place < TALKERS_SET_PLACES)
		put(&set->counts[place], set->counts[place] + 1);
	else
		take_over(set, key);
}

/* ---- several tables together ---- */

/* What a prefix may have asked that is in none of the places: as much as the least. */
static uint64_t find_floor(const struct talkers_set *set)
{
	uint64_t floor = UINT64_MAX;
	for (size_t i = 0; i < TALKERS_SET_PLACES; i++) {
		uint64_t count = get(&set->counts[i]);
		floor = count < floor ? count : floor;
	}
	return floor;
}

static int compare_keys(const void *left, const void *right)
{
	const struct talkers_row *a = left;
	const struct talkers_row *b = right;
	return (a->key > b->key) - (a->key < b->key);
}

static int compare_counts(const void *left, const void *right)
{
	const struct talkers_row *a = left;
	const struct talkers_row *b = right;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return compare_keys(left, right);
}

/*
 * The set of that number of all tables, each prefix once. A table that has no
 * place for a prefix may have seen it all the same: its floor is added to what
 * the others say. Sums wrap around where a term is negative, and come back.
 */
static size_t combine(const struct talkers *tables, size_t table_count, size_t number,
		      struct talkers_row *ret_rows)
{
	uint64_t floors = 0;
	size_t count = 0;
	for (size_t t = 0; t < table_count; t++) {
		const struct talkers_set *set = &tables[t].sets[number];
		uint64_t floor = find_floor(set);
		floors += floor;
		for (size_t i = 0; i < TALKERS_SET_PLACES && get(&set->keys[i]) != 0; i++)
			ret_rows[count++] = (struct talkers_row){ get(&set->keys[i]),
								  get(&set->counts[i]) - floor,
								  get(&set->errors[i]) - floor };
	}
	qsort(ret_rows, count, sizeof(*ret_rows), compare_keys);
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		if (used > 0 && ret_rows[used - 1].key == ret_rows[i].key) {
			ret_rows[used - 1].count += ret_rows[i].count;
			ret_rows[used - 1].error += ret_rows[i].error;
		} else {
			ret_rows[used++] = ret_rows[i];
		}
	}
	for (size_t i = 0; i < used; i++) {
		ret_rows[i].count += floors;
		ret_rows[i].error += floors;
	}
	return used;
}

static struct talkers_row *make_rows(size_t table_count)
{
	return calloc(table_count * TALKERS_SET_PLACES + 1, sizeof(struct talkers_row));
}

/* rows are sorted, row_max at most, and stay so. */
static size_t insert(struct talkers_row *rows, size_t count, size_t row_max,
		     const struct talkers_row *row)
{
	size_t at = count;
	while (at > 0 && compare_counts(row, &rows[at - 1]) < 0)
		at--;
	if (at == row_max)
		return count;
	size_t kept = count < row_max ? count : row_max - 1;
	memmove(&rows[at + 1], &rows[at], (kept - at) * sizeof(*rows));
	rows[at] = *row;
	return kept + 1;
}

int talkers_find_top(const struct talkers *tables, size_t table_count, struct talkers_row *ret_rows,
		     size_t row_max, size_t *ret_count)
{
	struct talkers_row *rows = make_rows(table_count);
	if (rows == NULL)
		return -ENOMEM;
	size_t found = 0;
	size_t set_count = table_count > 0 && tables[0].sets != NULL ? tables[0].set_mask + 1 : 0;
	for (size_t number = 0; number < set_count; number++) {
		size_t count = combine(tables, table_count, number, rows);
		for (size_t i = 0; i < count; i++)
			found = insert(ret_rows, found, row_max, &rows[i]);
	}
	*ret_count = found;
	free(rows);
	return 0;
}

int talkers_merge(const struct talkers *sum, const struct talkers *tables, size_t table_count)
{
	struct talkers_row *rows = make_rows(table_count);
	if (rows == NULL)
		return -ENOMEM;
	size_t set_count = sum->sets != NULL ? sum->set_mask + 1 : 0;
	for (size_t number = 0; number < set_count; number++) {
		struct talkers_set *set = &sum->sets[number];
		size_t count = combine(tables, table_count, number, rows);
		qsort(rows, count, sizeof(*rows), compare_counts);
		memset(set, 0, sizeof(*set));
		for (size_t i = 0; i < count && i < TALKERS_SET_PLACES; i++) {
			set->keys[i] = rows[i].key;
			set->counts[i] = rows[i].count;
			set->errors[i] = rows[i].error;
		}
	}
	free(rows);
	return 0;
}

/* ---- printing ---- */

void talkers_format(const struct talkers_shape *shape, uint64_t key, char *ret_text)
{
	char address[INET6_ADDRSTRLEN];
	uint64_t bits = key & (((uint64_t)1 << FAMILY_SHIFT) - 1);
	if (key >> FAMILY_SHIFT == FAMILY_IPV4 >> FAMILY_SHIFT) {
		struct in_addr four = { htonl((uint32_t)(bits << (32 - shape->ipv4_length))) };
		inet_ntop(AF_INET, &four, address, sizeof(address));
		snprintf(ret_text, TALKERS_TEXT_MAX, "%s/%u", address, shape->ipv4_length);
		return;
	}
	struct in6_addr six = { 0 };
	uint64_t upper = htobe64(bits << (64 - shape->ipv6_length));
	memcpy(&six, &upper, sizeof(upper));
	inet_ntop(AF_INET6, &six, address, sizeof(address));
	snprintf(ret_text, TALKERS_TEXT_MAX, "%s/%u", address, shape->ipv6_length);
}
