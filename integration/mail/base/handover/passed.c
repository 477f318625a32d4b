/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/passed.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "lib/format/address.h"
#include "lib/process/sharedmem.h"

/* A word: 35 bits of the hash, confirmed or not, and seconds since the table was made. */
#define TAG_SHIFT 29
#define CONFIRMED (UINT64_C(1) << 28)
#define UNTIL	  (CONFIRMED - 1) /* eight years */

struct passed {
	uint64_t seeds[2];
	uint64_t began_ms;
	uint64_t words[PASSED_SETS][PASSED_WAYS];
};

/* Where an address may be. */
struct seat {
	uint64_t *set;
	uint64_t tag;
	uint64_t now_s;
};

int passed_open(uint64_t now_ms, struct passed **ret_passed)
{
	struct passed *passed = sharedmem_new(sizeof(*passed));
	if (passed == NULL)
		return -ENOMEM;
	if (getentropy(passed->seeds, sizeof(passed->seeds)) != 0) {
		sharedmem_free(passed, sizeof(*passed));
		return -EIO;
	}
	passed->began_ms = now_ms;
	*ret_passed = passed;
	return 0;
}

void passed_close(struct passed *passed)
{
	sharedmem_free(passed, sizeof(*passed));
}

/* The finalizer of MurmurHash3. */
static uint64_t mix(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ (hash >> 33);
}

static uint64_t seconds(const struct passed *passed, uint64_t now_ms)
{
	return now_ms > passed->began_ms ? (now_ms - passed->began_ms) / 1000 : 0;
}

/* Without the seeds two addresses with one tag cannot be made. */
static struct seat seat_of(struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms)
{
	const struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);
	const uint64_t hash =
		mix(mix(mix(addr.hi ^ passed->seeds[0]) ^ addr.lo) ^ passed->seeds[1]);
	return (struct seat){ passed->words[hash & (PASSED_SETS - 1)], hash >> TAG_SHIFT,
			      seconds(passed, now_ms) };
}

static bool is_over(uint64_t word, uint64_t now_s)
{
	return (word & UNTIL) <= now_s;
}

/* The word of that address with *ret_word as it was, or NULL. */
static uint64_t *find(const struct seat *seat, uint64_t *ret_word)
{
	for (unsigned i = 0; i < PASSED_WAYS; i++) {
		*ret_word = __atomic_load_n(&seat->set[i], __ATOMIC_RELAXED);
		if (*ret_word >> TAG_SHIFT == seat->tag && !is_over(*ret_word, seat->now_s))
			return &seat->set[i];
	}
	return NULL;
}

/* One that is free, else the proposal that ends first. NULL: all are confirmed. */
static uint64_t *find_place(const struct seat *seat, uint64_t *ret_word)
{
	uint64_t *place = NULL;
	for (unsigned i = 0; i < PASSED_WAYS; i++) {
		const uint64_t word = __atomic_load_n(&seat->set[i], __ATOMIC_RELAXED);
		const bool is_free = is_over(word, seat->now_s);
		if (!is_free && ((word & CONFIRMED) != 0 ||
				 (place != NULL && (word & UNTIL) >= (*ret_word & UNTIL))))
			continue;
		place = &seat->set[i];
		*ret_word = word;
		if (is_free)
			break;
	}
	return place;
}

/* false: another process was faster, which is as good. */
static bool put(uint64_t *place, uint64_t before, const struct seat *seat, uint64_t confirmed,
		uint64_t keep_ms)
{
	const uint64_t until_s = seat->now_s + (keep_ms + 999) / 1000;
	const uint64_t word =
		seat->tag << TAG_SHIFT | confirmed | (until_s < UNTIL ? until_s : UNTIL);
	return __atomic_compare_exchange_n(place, &before, word, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

void passed_propose(struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms)
{
	uint64_t before = 0;
	if (passed == NULL)
		return;
	const struct seat seat = seat_of(passed, ip, now_ms);
	uint64_t *place = find(&seat, &before);
	if (place != NULL && (before & CONFIRMED) != 0)
		return;
	if (place == NULL)
		place = find_place(&seat, &before);
	if (place != NULL)
		(void)put(place, before, &seat, 0, PASSED_PROPOSAL_MS);
}

bool passed_confirm(struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms,
		    uint64_t keep_ms)
{
	uint64_t before = 0;
	if (passed == NULL || keep_ms == 0)
		return false;
	const struct seat seat = seat_of(passed, ip, now_ms);
	uint64_t *place = find(&seat, &before);
	return place != NULL && (before & CONFIRMED) == 0 &&
	       put(place, before, &seat, CONFIRMED, keep_ms);
}

bool passed_has(const struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms)
{
	uint64_t word = 0;
	if (passed == NULL)
		return false;
	/* Nothing is written. */
	const struct seat seat = seat_of((struct passed *)(uintptr_t)passed, ip, now_ms);
	return find(&seat, &word) != NULL && (word & CONFIRMED) != 0;
}

void passed_forget(struct passed *passed, const struct dnsblv6_ip *ip)
{
	uint64_t before = 0;
	if (passed == NULL)
		return;
	const struct seat seat = seat_of(passed, ip, passed->began_ms);
	uint64_t *place = find(&seat, &before);
	if (place != NULL)
		(void)__atomic_compare_exchange_n(place, &before, 0, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
}
