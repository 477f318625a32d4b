/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/proof.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/engine/probe.h"

#define QUESTIONS_MAX 4
#define TURNS_MAX     6 /* of PROOF_LIFE_MS, as long as questions wait to be sent */
#define SILENCES_MAX  3 /* the same, of those that were sent */

/* What one question of a look is about. */
struct question {
	struct proof *proof;
	enum health_point point;
	bool is_block; /* an AAAA was asked for */
	struct dnsblv6_labels name;
};

struct proof {
	struct zone *zone;
	unsigned pending;
	unsigned turns;
	bool is_short; /* not every question was sent */
	struct health_probe found;
	struct question questions[QUESTIONS_MAX];
	unsigned question_count;
	struct waiters waiters;
};

/* ---- asking ---- */

static void on_reply(void *context, int status, const struct message_reply *reply, bool is_trusted);

static void ask(struct proof *proof, enum health_point point, const struct dnsblv6_labels *relative,
		const struct dnsblv6_labels *apex, bool is_block)
{
	struct question *question = proof->questions + proof->question_count++;

	struct zone_what asked = { relative, apex, is_block ? MESSAGE_AAAA : MESSAGE_A,
				   PROOF_LIFE_MS, PROOF_LIFE_MS };

	*question = (struct question){ .proof = proof, .point = point, .is_block = is_block };
	if (zone_ask(proof->zone, &asked, on_reply, question, &question->name,
		     &proof->waiters.question) == DNSBLV6_OK)
		proof->pending++;
	else
		proof->is_short = true;
}

static void ask_classic(struct proof *proof, const struct dnsblv6_labels *apex,
			struct dnsblv6_addr addr)
{
	struct dnsblv6_labels relative;

	probe_make_nowhere(proof->zone->all, &relative);
	ask(proof, HEALTH_NOWHERE, &relative, apex, false);
	if (proof->zone->config->kind == CONFIG_ADDRESSES)
		dnsblv6_name_make_classic(addr, &relative);
	else
		probe_make_nowhere(proof->zone->all, &relative); /* it lists no addresses */
	ask(proof, HEALTH_CLEAR, &relative, apex, false);
}

static void ask_blocks(struct proof *proof, enum health_mode mode, struct dnsblv6_addr addr)
{
	enum dnsblv6_style style = mode == HEALTH_FLAT ? DNSBLV6_STYLE_FLAT : DNSBLV6_STYLE_DOTTED;
	const struct dnsblv6_labels *apex = &proof->zone->config->name;
	struct dnsblv6_labels relative;

	probe_make_nowhere(proof->zone->all, &relative);
	ask(proof, HEALTH_NOWHERE, &relative, apex, true);
	if (dnsblv6_name_make(style, dnsblv6_block_of(addr), &relative) == DNSBLV6_OK)
		ask(proof, HEALTH_CLEAR, &relative, apex, true);
}

/* Blocks that are filtered on the way are asked of the classic zone beside: it is looked at too. */
static void ask_all(struct proof *proof)
{
	struct zone *zone = proof->zone;
	struct health_word parts = health_unpack(zone_word(zone));
	uint32_t random = (uint32_t)zones_random(zone->all) & PROOF_ADDRESS_MASK;
	struct dnsblv6_addr addr = dnsblv6_addr_from_ipv4(PROOF_ADDRESS_BASE | random);

	proof->found.mode = parts.mode;
	if (parts.mode == HEALTH_CLASSIC) {
		ask_classic(proof, &zone->config->name, addr);
		return;
	}
	ask_blocks(proof, parts.mode, addr);
	if (parts.state == DNSBLV6_ZONE_FILTERED && zone->has_metadata && zone->classic.size > 0)
		ask_classic(proof, &zone->classic, addr);
}

/* False: nothing could be asked. */
static bool start(struct zone *zone)
{
	struct proof *proof = calloc(1, sizeof(*proof));
	if (proof == NULL)
		return false;
	waiters_prepare(&proof->waiters, zone, zone->all->now_ms);
	proof->zone = zone;
	ask_all(proof);
	if (proof->pending == 0) {
		free(proof);
		return false;
	}
	zone->proof = proof;
	zone->all->counts.looks++;
	return true;
}

void proof_drop(struct zone *zone)
{
	free(zone->proof);
	zone->proof = NULL;
}

/* ---- reading ---- */

/* Of two answers to one kind of question the one that is not a denial counts. */
static void keep_finding(struct health_probe *found, enum health_point point,
			 enum health_finding finding)
{
	if (found->points[point] == HEALTH_NOT_ASKED || finding != HEALTH_NO)
		found->points[point] = finding;
}

static bool has_been_seen_lately(const struct zone *zone)
{
	struct cache *cache = zone->all->cache;
	struct health_trust trust =
		health_unpack_trust(cache_zone_get(cache, zone->index, CACHE_ZONE_TRUST));

	return trust.looked_s != 0 && cache_now_s(cache) - trust.looked_s <= HEALTH_LOOK_S;
}

static bool is_good(const struct proof *proof)
{
	const enum health_finding *points = proof->found.points;

	/* What was not sent is no finding. */
	if (proof->is_short)
		return has_been_seen_lately(proof->zone);
	return points[HEALTH_NOWHERE] == HEALTH_NO && points[HEALTH_CLEAR] == HEALTH_NO;
}

/* Is something not known that one more question may tell? */
static bool is_open(const struct proof *proof)
{
	const enum health_finding *points = proof->found.points;

	return proof->is_short || points[HEALTH_NOWHERE] == HEALTH_SILENT ||
	       points[HEALTH_CLEAR] == HEALTH_SILENT;
}

/* Has a point been found that is enough to distrust the zone? */
static bool is_decided(const struct proof *proof)
{
	const char *reason;

	return health_is_distrusted(health_judge(&proof->found, &reason));
}

static bool ask_again(struct proof *proof)
{
	const unsigned most = proof->is_short ? TURNS_MAX : SILENCES_MAX;

	if (!is_open(proof) || is_decided(proof) || ++proof->turns >= most)
		return false;
	proof->found = (struct health_probe){ 0 };
	proof->is_short = false;
	proof->question_count = 0;
	ask_all(proof);
	return proof->pending > 0;
}

static void finish(struct proof *proof)
{
	struct zone *zone = proof->zone;

	zone->proof = NULL;
	zone->is_proven = zone_note_look(zone, &proof->found) && is_good(proof);
	if (zone->is_proven && !proof->is_short)
		zone_note_denials(zone);
	waiters_wake(&proof->waiters, NULL);
	free(proof);
}

static void on_reply(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	struct question *question = context;
	struct proof *proof = question->proof;
	struct answer_question what = { .config = proof->zone->all->config,
					.name = &question->name,
					.kind = proof->zone->config->kind,
					.is_block = question->is_block };

	zone_trace_reply(proof->zone, &question->name, status, reply, is_trusted);
	if (stub_is_unsent(status))
		proof->is_short = true;
	else
		keep_finding(&proof->found, question->point,
			     probe_read_denial(&what, status, reply));
	if (--proof->pending == 0 && !ask_again(proof))
		finish(proof);
}

/* ---- what is odd ---- */

/*
 * A listing counts for as much of a thousand as answers list nothing: in a list of few nearly
 * ten in a row are odd, where nine of ten are listed nearly ninety. The share follows the last
 * SHARE_ANSWERS answers.
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

/* Two of a whole /24 are the same; of the others hardly. Classic values mostly are. */
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

	if (zone->has_denied && zone->denied_ms >= asked_ms)
		return PROOF_GIVEN;
	if (zone->proof == NULL && (zone_claim_look(zone) || (is_odd && may_hurry(zone))))
		start(zone);
	if (zone->proof == NULL)
		return has_been_seen_lately(zone) ? PROOF_GIVEN : PROOF_MISSING;
	waiters_join(&zone->proof->waiters, waiter);
	return PROOF_AWAITED;
}

bool proof_is_given(const struct zone *zone)
{
	return zone->is_proven;
}
