/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/proof.h"

#include <string.h>

#include "client-lib/engine/probe.h"

/* ---- what is odd ---- */

/*
 * The more of a zone's answers are listings, the less one more of them counts: as much of a thousand as
 * there are answers that list nothing. Nearly ten listings in a row are odd in a list of few addresses, and
 * nearly ninety where nine answers of ten are listings. The share is that of the last SHARE_ANSWERS
 * answers, about.
 */
#define SHARE_WHOLE   1000u
#define SHARE_ANSWERS 64u
#define ODD_MIN	      (9 * SHARE_WHOLE)

static void note_share(struct zone *zone, bool is_listed)
{
	uint32_t *share = &zone->listings.share;

	*share -= *share / SHARE_ANSWERS;
	*share += is_listed ? SHARE_WHOLE * SHARE_WHOLE / SHARE_ANSWERS : 0;
	if (!is_listed)
		zone->listings.row = 0;
}

/* 127.0.0.1, where only an entry without a filter takes it for a listing. */
static bool is_localhost(const struct cache_entry *entry)
{
	struct dnsblv6_bitmap one = { 0 };

	dnsblv6_bitmap_add(&one, 1);
	return entry->kind == CACHE_LOW && memcmp(&one, &entry->payload, sizeof(one)) == 0;
}

/*
 * The bits of two listings in a row are hardly ever the same, but for those of whole /24s. Values of classic lists
 * mostly are.
 */
static bool is_repeated(const struct zone *zone, const struct cache_entry *entry)
{
	return entry->kind == CACHE_BITMAP && zone->listings.has_last &&
	       dnsblv6_bitmap_count(&entry->payload) < DNSBLV6_BITMAP_HOSTS &&
	       memcmp(&zone->listings.last, &entry->payload, sizeof(entry->payload)) == 0;
}

/* Does the row become odd with it? */
static bool note_listing(struct zone *zone, const struct cache_entry *entry)
{
	struct listings *listings = &zone->listings;
	uint32_t weight = SHARE_WHOLE - listings->share / SHARE_WHOLE;
	bool counts_twice = is_repeated(zone, entry) || is_localhost(entry);

	listings->row += counts_twice ? 2 * weight : weight;
	listings->last = entry->payload;
	listings->has_last = true;
	note_share(zone, true);
	listings->usual = listings->share;
	listings->clears = 0;
	return listings->row >= ODD_MIN;
}

/* As listings count for what is not listed, so the other way round. */
void proof_note_clear(struct zone *zone)
{
	struct listings *listings = &zone->listings;

	note_share(zone, false);
	listings->clears += listings->usual / SHARE_WHOLE;
	if (listings->clears < ODD_MIN)
		return;
	listings->clears = 0;
	listings->usual /= 2; /* it may list fewer from now on */
	zone_note_doubt(zone);
}

static bool may_hurry(struct zone *zone)
{
	int64_t now_ms = zone->all->now_ms;

	if (zone->listings.has_hurried && now_ms - zone->listings.hurried_ms < PROOF_HURRY_MS)
		return false;
	zone->listings.has_hurried = true;
	zone->listings.hurried_ms = now_ms;
	return true;
}

/* ---- proofs ---- */

enum proof_outcome proof_ask(struct zone *zone, int64_t asked_ms, const struct cache_entry *entry,
			     struct waiter *waiter)
{
	bool is_odd = note_listing(zone, entry);

	if (zone->has_denied && zone->denied_ms >= asked_ms) {
		/* The zone may have fallen ill behind the look's beginning. */
		if (asked_ms > zone->looked_ms)
			(void)zone_claim_trust(zone);
		return PROOF_GIVEN;
	}
	bool is_own = zone->look == NULL && (zone_claim_look(zone) || (is_odd && may_hurry(zone)));
	if (is_own)
		probe_look(zone);
	if (probe_join_look(zone, waiter)) {
		if (!is_own)
			zone->lent_ms = zone->all->now_ms;
		return PROOF_AWAITED;
	}
	return zone_claim_trust(zone) ? PROOF_GIVEN : PROOF_MISSING;
}

bool proof_is_given(const struct zone *zone)
{
	return zone->is_proven;
}
