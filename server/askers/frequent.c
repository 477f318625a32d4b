/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/askers/frequent.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/process/sharedmem.h"
#include "server/askers/mix.h"

#define SET_PLACES   4
#define LINE_SIZE    64
#define HALF_LIFE_MS (86400 * UINT64_C(1000))
/* A range that has come once may never come again. */
#define LEAST_COUNT 2
#define IPV6_BIT    ((uint64_t)1 << 63)

/* A range has a place when its count is not 0. */
struct place {
	uint64_t number; /* with IPV6_BIT */
	uint32_t zone;
	uint32_t count;
};

struct set {
	_Alignas(LINE_SIZE) struct place places[SET_PLACES];
};

/*
 * Where a client is: 18 bits of its hash, 22 of the second its round began in, 14 of how many ranges it
 * has been given since, 7 of the second it counted in last, and 3 of how often it did. Never 0.
 */
enum {
	ROUND_TAG_BITS = 18,
	ROUND_SECOND_BITS = 22,
	ROUND_GIVEN_BITS = 14,
	ROUND_COUNTED_BITS = 7,
	ROUND_TIMES_BITS = 3,
	SET_ROUNDS = 8,
	ROUND_SETS = 8192,
};

struct round_set {
	_Alignas(LINE_SIZE) uint64_t words[SET_ROUNDS]; /* 0: free */
};

/* What workers share. */
struct memory {
	uint64_t halved_ms; /* 0: not yet */
	struct round_set rounds[ROUND_SETS];
	struct set sets[];
};

struct row {
	uint64_t number;
	uint32_t zone;
	uint32_t count;
};

struct frequent {
	struct memory *memory;
	size_t set_count;
	uint64_t seed;
	bool is_ordered;
	uint64_t ordered_ms;
	size_t row_count;
	struct row rows[]; /* by group, and in each the most frequent first */
};

/* ---- life ---- */

int frequent_open(struct frequent_bank *bank, size_t range_count, uint64_t seed)
{
	struct frequent_bank made = { .seed = seed };
	if (range_count != 0) {
		made.set_count = 1;
		while (made.set_count * SET_PLACES < range_count)
			made.set_count *= 2;
		made.size_bytes = sizeof(struct memory) + made.set_count * sizeof(struct set);
		made.memory = sharedmem_new(made.size_bytes);
		if (made.memory == NULL)
			return -ENOMEM;
	}
	*bank = made;
	return 0;
}

void frequent_close(struct frequent_bank *bank)
{
	sharedmem_free(bank->memory, bank->size_bytes);
	*bank = (struct frequent_bank){ 0 };
}

int frequent_new(const struct frequent_bank *bank, struct frequent **ret_frequent)
{
	*ret_frequent = NULL;
	if (bank->memory == NULL)
		return 0;
	size_t place_count = bank->set_count * SET_PLACES;
	struct frequent *frequent = calloc(1, sizeof(*frequent) + place_count * sizeof(struct row));
	if (frequent == NULL)
		return -ENOMEM;
	frequent->memory = bank->memory;
	frequent->set_count = bank->set_count;
	frequent->seed = bank->seed;
	*ret_frequent = frequent;
	return 0;
}

void frequent_free(struct frequent *frequent)
{
	free(frequent);
}

/* ---- words that other workers write too ---- */

static uint32_t load32(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store32(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static uint64_t load64(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store64(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Zones are apart by the odd part of the golden ratio, for each family. */
static uint64_t hash(const struct frequent *frequent, uint64_t value, struct frequent_group group)
{
	uint64_t number = (uint64_t)group.zone * 2 + group.is_ipv6;
	return mix(value, frequent->seed + number * UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- rounds ---- */

struct round {
	uint64_t *word;
	uint32_t tag;
	uint32_t begun_s; /* as much of it as a word has, as of the next three */
	uint32_t given;
	uint32_t counted_s;
	uint32_t times; /* in that second, less one */
	bool is_new;
};

static uint32_t low_bits(uint64_t value, unsigned count)
{
	return (uint32_t)(value & ((UINT64_C(1) << count) - 1));
}

static struct round unpack(uint64_t *at, uint64_t word)
{
	struct round round = { .word = at, .times = low_bits(word, ROUND_TIMES_BITS) };
	word >>= ROUND_TIMES_BITS;
	round.counted_s = low_bits(word, ROUND_COUNTED_BITS);
	word >>= ROUND_COUNTED_BITS;
	round.given = low_bits(word, ROUND_GIVEN_BITS);
	word >>= ROUND_GIVEN_BITS;
	round.begun_s = low_bits(word, ROUND_SECOND_BITS);
	round.tag = (uint32_t)(word >> ROUND_SECOND_BITS);
	return round;
}

static void keep(const struct round *round)
{
	uint64_t word = (uint64_t)round->tag << ROUND_SECOND_BITS | round->begun_s;
	word = word << ROUND_GIVEN_BITS | round->given;
	word = word << ROUND_COUNTED_BITS | round->counted_s;
	store64(round->word, word << ROUND_TIMES_BITS | round->times);
}

/* The round with that tag and its age, or a new one in the place of the oldest. */
static struct round find_word(struct round_set *set, uint32_t tag, uint32_t now_s,
			      uint32_t *ret_age_s)
{
	uint64_t *oldest = &set->words[0];
	uint32_t oldest_s = 0;
	for (size_t i = 0; i < SET_ROUNDS; i++) {
		struct round round = unpack(&set->words[i], load64(&set->words[i]));
		uint32_t age_s = low_bits(now_s - round.begun_s, ROUND_SECOND_BITS);
		if (round.tag == 0)
			age_s = UINT32_MAX;
		if (round.tag == tag) {
			*ret_age_s = age_s;
			return round;
		}
		if (age_s > oldest_s) {
			oldest = round.word;
			oldest_s = age_s;
		}
	}
	*ret_age_s = UINT32_MAX;
	return (struct round){ .word = oldest, .tag = tag, .is_new = true };
}

/* The round that client is in. Nothing is written before keep(). */
static struct round find_round(const struct frequent_client *client, struct frequent_group group,
			       uint32_t ttl_s)
{
	struct frequent *frequent = client->frequent;
	uint64_t hashed = hash(frequent, client->address, group);
	uint32_t now_s = low_bits(client->now_ms / 1000, ROUND_SECOND_BITS);
	uint32_t tag = (uint32_t)(hashed >> (64 - ROUND_TAG_BITS)) | 1;
	uint32_t age_s;
	struct round round =
		find_word(&frequent->memory->rounds[hashed % ROUND_SETS], tag, now_s, &age_s);
	if (age_s >= (ttl_s < FREQUENT_ROUND_MAX_S ? ttl_s : FREQUENT_ROUND_MAX_S)) {
		round.begun_s = now_s;
		round.given = 0;
	}
	return round;
}

/* May client count now? */
static bool take_turn(const struct frequent_client *client, struct frequent_group group)
{
	/* With the longest TTL, so that a count ends no round. */
	struct round round = find_round(client, group, FREQUENT_ROUND_MAX_S);
	uint32_t now_s = low_bits(client->now_ms / 1000, ROUND_COUNTED_BITS);
	if (round.is_new || round.counted_s != now_s) {
		round.counted_s = now_s;
		round.times = 0;
	} else if (++round.times == FREQUENT_TIMES_MAX)
		return false;
	keep(&round);
	return true;
}

/* ---- counting ---- */

static void halve(const struct frequent *frequent)
{
	for (size_t i = 0; i < frequent->set_count * SET_PLACES; i++) {
		struct set *set = &frequent->memory->sets[i / SET_PLACES];
		struct place *place = &set->places[i % SET_PLACES];
		store32(&place->count, load32(&place->count) / 2);
	}
}

void frequent_count(const struct frequent_client *client, struct frequent_group group,
		    uint64_t number)
{
	struct frequent *frequent = client->frequent;
	if (frequent == NULL || !take_turn(client, group))
		return;
	size_t number_of_set = hash(frequent, number, group) & (frequent->set_count - 1);
	struct set *set = &frequent->memory->sets[number_of_set];
	number |= group.is_ipv6 ? IPV6_BIT : 0;
	struct place *least = &set->places[0];
	uint32_t least_count = UINT32_MAX;
	for (size_t i = 0; i < SET_PLACES; i++) {
		struct place *place = &set->places[i];
		uint32_t count = load32(&place->count);
		if (count != 0 && load64(&place->number) == number &&
		    load32(&place->zone) == group.zone) {
			store32(&place->count, count + 1);
			if (count + 1 >= FREQUENT_COUNT_MAX)
				halve(frequent);
			return;
		}
		if (count < least_count) {
			least_count = count;
			least = place;
		}
	}
	/* It loses one to each that comes, and its place with the last. */
	if (least_count > 1) {
		store32(&least->count, least_count - 1);
		return;
	}
	store64(&least->number, number);
	store32(&least->zone, group.zone);
	store32(&least->count, 1);
}

/* ---- the order ---- */

static void halve_daily(struct frequent *frequent, uint64_t now_ms)
{
	uint64_t *at = &frequent->memory->halved_ms;
	uint64_t halved_ms = load64(at);
	if (halved_ms != 0 && now_ms < halved_ms + HALF_LIFE_MS)
		return;
	/* By one worker: the others find the new time. */
	bool is_ours = __atomic_compare_exchange_n(at, &halved_ms, now_ms, false, __ATOMIC_RELAXED,
						   __ATOMIC_RELAXED);
	if (is_ours && halved_ms != 0)
		halve(frequent);
}

/* Of groups alone: rows of one are equal. */
static int compare_group(const struct row *a, const struct row *b)
{
	uint64_t family_a = a->number & IPV6_BIT;
	uint64_t family_b = b->number & IPV6_BIT;
	if (a->zone != b->zone)
		return a->zone < b->zone ? -1 : 1;
	return (family_a > family_b) - (family_a < family_b);
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left;
	const struct row *b = right;
	int group = compare_group(a, b);
	if (group != 0)
		return group;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* A copy, since what is shared changes meanwhile. */
static void order(struct frequent *frequent, uint64_t now_ms)
{
	struct memory *memory = frequent->memory;
	if (frequent->is_ordered && now_ms < frequent->ordered_ms + FREQUENT_ORDER_MS)
		return;
	frequent->is_ordered = true;
	frequent->ordered_ms = now_ms;
	frequent->row_count = 0;
	halve_daily(frequent, now_ms);
	for (size_t i = 0; i < frequent->set_count * SET_PLACES; i++) {
		const struct place *place = &memory->sets[i / SET_PLACES].places[i % SET_PLACES];
		struct row row = { load64(&place->number), load32(&place->zone),
				   load32(&place->count) };
		if (row.count >= LEAST_COUNT)
			frequent->rows[frequent->row_count++] = row;
	}
	qsort(frequent->rows, frequent->row_count, sizeof(struct row), compare_rows);
}

/* The first row that is not before group. */
static size_t find_group(const struct frequent *frequent, struct frequent_group group)
{
	const struct row wanted = { group.is_ipv6 ? IPV6_BIT : 0, group.zone, 0 };
	size_t low = 0;
	size_t high = frequent->row_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_group(&frequent->rows[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- for a client ---- */

unsigned frequent_next(const struct frequent_client *client, struct frequent_group group,
		       uint32_t ttl_s, uint64_t *ret_numbers, unsigned number_max)
{
	struct frequent *frequent = client->frequent;
	if (frequent == NULL)
		return 0;
	order(frequent, client->now_ms);
	const struct row wanted = { group.is_ipv6 ? IPV6_BIT : 0, group.zone, 0 };
	size_t i = find_group(frequent, group) + find_round(client, group, ttl_s).given;
	unsigned count = 0;
	for (; i < frequent->row_count && count < number_max; i++) {
		const struct row *row = &frequent->rows[i];
		if (compare_group(row, &wanted) != 0)
			break;
		ret_numbers[count++] = row->number & ~IPV6_BIT;
	}
	return count;
}

void frequent_advance(const struct frequent_client *client, struct frequent_group group,
		      uint32_t ttl_s, unsigned count)
{
	if (client->frequent == NULL || count == 0)
		return;
	struct round round = find_round(client, group, ttl_s);
	round.given += count;
	if (round.given >= 1U << ROUND_GIVEN_BITS)
		round.given = (1U << ROUND_GIVEN_BITS) - 1;
	keep(&round);
}
