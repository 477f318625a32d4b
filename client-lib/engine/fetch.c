/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/fetch.h"

#include <errno.h>
#include <stdlib.h>

#include "client-lib/engine/look.h"
#include "client-lib/engine/proof.h"
#include "client-lib/cache/ranges.h"
#include "client-lib/engine/style.h"

#define BUCKETS_MIN    256 /* of fetches on the way; powers of two */
#define BUCKETS_MAX    65536
#define SOA_LABELS     2 /* no zone of a list is a top level domain; until a probe knows better */
#define JITTER_PERCENT 50

struct fetch {
	LIST_ENTRY(fetch) bucket;
	TAILQ_ENTRY(fetch) link; /* of those of its zone that ask DNS */
	struct fetches *fetches;
	struct zones *all;
	struct fetch_target target;
	struct dnsblv6_labels topic; /* a name; empty: the address of target */
	bool is_daemon;
	bool doubts_no;
	enum health_mode mode;
	uint64_t era; /* of the zone when DNS was asked */
	struct cache_key key;
	struct dnsblv6_labels name; /* asked of DNS */
	struct cache_entry held;    /* an answer that lists something, and is not proven yet */
	struct waiter witness;	    /* of that proof */
	struct waiters waiters;
};

LIST_HEAD(bucket, fetch);
TAILQ_HEAD(fetch_list, fetch);

struct fetches {
	struct zones *all;
	struct fetch_list zones[CONFIG_ZONES_MAX]; /* the oldest first */
	struct bucket *buckets;
	unsigned bucket_count;
};

static unsigned choose_buckets(const struct config *config)
{
	unsigned count = BUCKETS_MIN;

	while (count < config->max_requests * config->zone_count && count < BUCKETS_MAX)
		count *= 2;
	return count;
}

static void init_zones(struct fetches *fetches)
{
	for (unsigned i = 0; i < CONFIG_ZONES_MAX; i++)
		TAILQ_INIT(&fetches->zones[i]);
}

int fetches_new(struct zones *all, struct fetches **ret_fetches)
{
	struct fetches *fetches = calloc(1, sizeof(*fetches));
	if (fetches == NULL)
		return -ENOMEM;
	fetches->bucket_count = choose_buckets(all->config);
	fetches->buckets = calloc(fetches->bucket_count, sizeof(*fetches->buckets));
	if (fetches->buckets == NULL) {
		free(fetches);
		return -ENOMEM;
	}
	init_zones(fetches);
	fetches->all = all;
	*ret_fetches = fetches;
	return DNSBLV6_OK;
}

void fetches_clear(struct fetches *fetches)
{
	init_zones(fetches);
	for (unsigned i = 0; i < fetches->bucket_count; i++) {
		struct fetch *fetch;
		while ((fetch = LIST_FIRST(fetches->buckets + i)) != NULL) {
			LIST_REMOVE(fetch, bucket);
			free(fetch);
		}
	}
}

void fetches_free(struct fetches *fetches)
{
	if (fetches == NULL)
		return;
	fetches_clear(fetches);
	free(fetches->buckets);
	free(fetches);
}

/* ---- one for each key ---- */

static struct bucket *bucket_of(struct fetches *fetches, struct cache_key key)
{
	uint64_t hash = key.word * 0x9e3779b97f4a7c15ull;
	return fetches->buckets + (hash >> 32) % fetches->bucket_count;
}

static struct fetch *find(struct fetches *fetches, struct cache_key key, bool is_daemon)
{
	struct fetch *fetch;

	LIST_FOREACH(fetch, bucket_of(fetches, key), bucket)
	{
		if (fetch->key.word == key.word && fetch->is_daemon == is_daemon)
			return fetch;
	}
	return NULL;
}

static struct fetch_list *list_of(const struct fetch *fetch)
{
	return fetch->fetches->zones + fetch->target.zone->index;
}

static struct fetch *add(struct fetches *fetches, const struct fetch_target *target,
			 struct cache_key key, bool is_daemon)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	if (fetch == NULL)
		return NULL;
	/* A daemon that is silent says nothing about the zone. */
	waiters_prepare(&fetch->waiters, is_daemon ? NULL : target->zone, fetches->all->now_ms);
	fetch->fetches = fetches;
	fetch->all = fetches->all;
	fetch->target = *target;
	fetch->target.name = NULL;
	if (target->name != NULL)
		fetch->topic = *target->name;
	fetch->key = key;
	fetch->is_daemon = is_daemon;
	if (!is_daemon)
		TAILQ_INSERT_TAIL(list_of(fetch), fetch, link);
	LIST_INSERT_HEAD(bucket_of(fetches, key), fetch, bucket);
	return fetch;
}

static void unlink_fetch(struct fetch *fetch)
{
	LIST_REMOVE(fetch, bucket);
	waiters_leave(&fetch->witness);
	if (!fetch->is_daemon)
		TAILQ_REMOVE(list_of(fetch), fetch, link);
}

static void drop(struct fetch *fetch)
{
	unlink_fetch(fetch);
	free(fetch);
}

/* It must be out of the table before the waiters are: they may ask for the same again. */
static void end(struct fetch *fetch, const struct cache_entry *entry)
{
	unlink_fetch(fetch);
	waiters_wake(&fetch->waiters, entry);
	free(fetch);
}

static struct cache_entry make_failure(enum answer_failure failure)
{
	struct cache_entry entry = { .kind = CACHE_FAILED };
	entry.payload.bytes[0] = (uint8_t)failure;
	return entry;
}

/* ---- DNS ---- */

/* Not all processes of a machine shall ask again in the same second. */
static void remember_failure(struct fetch *fetch, enum answer_failure failure)
{
	struct zones *all = fetch->all;
	struct cache_entry entry = make_failure(failure);
	uint32_t ttl_s = all->config->failure_ttl_s;

	ttl_s -= (uint32_t)(zones_random(all) % (1 + ttl_s * JITTER_PERCENT / 100));
	entry.ttl_s = ttl_s;
	entry.expires_s = cache_now_s(all->cache) + ttl_s;
	cache_put(all->cache, look_failure_key(fetch->target.zone->index, fetch->key), &entry);
}

static void learn_ranges(struct fetch *fetch, const struct message_reply *reply, uint32_t ttl_s)
{
	struct zones *all = fetch->all;
	const struct zone *zone = fetch->target.zone;
	enum dnsblv6_style style = health_style(fetch->mode);

	for (unsigned i = 0; i < reply->nsec_count; i++) {
		uint32_t least_s = reply->nsecs[i].ttl_s < ttl_s ? reply->nsecs[i].ttl_s : ttl_s;
		all->counts.ranges += ranges_learn(all->cache, zone->index, style,
						   &zone->config->name, reply->nsecs + i, least_s);
	}
}

/* Of an answer that lists nothing: what else it says. */
static void learn_denial(struct fetch *fetch, const struct message_reply *reply,
			 const struct cache_entry *entry)
{
	if (!fetch->target.is_block || reply->kind != MESSAGE_NXDOMAIN)
		return;
	if (entry->is_secure && fetch->all->config->use_ranges)
		learn_ranges(fetch, reply, entry->ttl_s);
	style_note_denial(fetch->target.zone, reply);
}

static void keep_failure(struct fetch *fetch, enum answer_failure failure)
{
	struct zones *all = fetch->all;
	struct zone *zone = fetch->target.zone;

	zone->failures++;
	all->counts.failures++;
	remember_failure(fetch, failure);
	if (failure != ANSWER_SILENT || !fetch->waiters.is_noted)
		zone_note_failure(zone, failure);
}

/* The classic zone beside a bitmap zone has another SOA, which no probe has learned. */
static uint8_t find_soa_labels(const struct fetch *fetch)
{
	const struct zone *zone = fetch->target.zone;
	bool is_beside = fetch->mode != HEALTH_CLASSIC && !fetch->target.is_block;

	if (zone->soa_labels > 0 && !is_beside)
		return zone->soa_labels;
	return dnsblv6_name_label_count(&zone->config->name) < SOA_LABELS ? 1 : SOA_LABELS;
}

/*
 * A denial that is none of those which the zone gives: without its SOA, or an empty answer about an
 * address. A filter may have made it, or a resolver that drops SOAs from what it has cached.
 */
static bool is_odd(const struct fetch *fetch, const struct message_reply *reply)
{
	const struct zone *zone = fetch->target.zone;

	if (fetch->mode != HEALTH_CLASSIC)
		return false;
	if (reply->kind == MESSAGE_NODATA)
		return zone->config->kind == CONFIG_ADDRESSES && zone->has_nxdomain;
	return reply->kind == MESSAGE_NXDOMAIN && !reply->has_soa && zone->soa_labels > 0;
}

/* Was it asked in a style that is no longer the zone's, or while the zone was sick? */
static bool is_outdated(const struct fetch *fetch)
{
	const struct zone *zone = fetch->target.zone;

	if (fetch->era != cache_zone_get(fetch->all->cache, zone->index, CACHE_ZONE_ERA))
		return true;
	return fetch->target.is_block && fetch->mode != health_unpack(zone_word(zone)).mode;
}

static bool is_distrusted(const struct fetch *fetch)
{
	return health_is_distrusted(health_unpack(zone_word(fetch->target.zone)).state);
}

/* What was found out about the zone meanwhile counts for this answer too. */
static void take(struct fetch *fetch, const struct cache_entry *entry)
{
	if (is_outdated(fetch)) {
		end(fetch, NULL); /* its waiters ask once more */
		return;
	}
	cache_put(fetch->all->cache, fetch->key, entry);
	end(fetch, entry);
}

static void refuse(struct fetch *fetch)
{
	struct cache_entry entry = make_failure(ANSWER_UNPROVEN);

	fetch->target.zone->failures++;
	fetch->all->counts.failures++;
	fetch->all->counts.unproven++;
	if (!is_distrusted(fetch))
		remember_failure(fetch, ANSWER_UNPROVEN);
	end(fetch, &entry);
}

static void on_proof(struct waiter *waiter, const struct cache_entry *entry)
{
	struct fetch *fetch = waiter->context;

	(void)entry;
	if (proof_is_given(fetch->target.zone))
		take(fetch, &fetch->held);
	else
		refuse(fetch);
}

/* It is for no waiter, and no cache, before the zone has denied what it must. */
static void hold(struct fetch *fetch, const struct cache_entry *entry)
{
	int64_t sent_ms = stub_told_sent_ms(fetch->all->stub);

	fetch->held = *entry;
	fetch->witness.wake = on_proof;
	fetch->witness.context = fetch;
	switch (proof_ask(fetch->target.zone, sent_ms, entry, &fetch->witness)) {
	case PROOF_GIVEN:
		take(fetch, entry);
		break;
	case PROOF_MISSING:
		refuse(fetch);
		break;
	case PROOF_AWAITED:
		break;
	}
}

static void keep_answer(struct fetch *fetch, const struct message_reply *reply,
			const struct cache_entry *entry)
{
	struct zone *zone = fetch->target.zone;

	zone_note_answer(zone);
	if (!dnsblv6_bitmap_is_empty(&entry->payload)) {
		hold(fetch, entry);
		return;
	}
	proof_note_clear(zone);
	learn_denial(fetch, reply, entry);
	take(fetch, entry);
}

static int ask_dns(struct fetch *fetch, int64_t wait_ms);

/*
 * It waited for its turn until it was given up: no finding. With a waiter it is asked again, but
 * for a zone that would not be asked now.
 */
static void end_unsent(struct fetch *fetch)
{
	struct cache_entry entry = make_failure(ANSWER_SILENT);
	bool is_sick = health_is_sick(health_unpack(zone_word(fetch->target.zone)).state);

	if (is_sick || TAILQ_EMPTY(&fetch->waiters.head) ||
	    ask_dns(fetch, FETCH_LIFE_MAX_MS) != DNSBLV6_OK)
		end(fetch, &entry);
}

static void on_reply(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	struct fetch *fetch = context;
	int64_t sent_ms = stub_told_sent_ms(fetch->all->stub);
	struct answer_question question = {
		.config = fetch->all->config,
		.name = &fetch->name,
		.kind = fetch->target.zone->config->kind,
		.is_block = fetch->target.is_block,
		.doubts_no = fetch->doubts_no && fetch->target.is_block,
		.wants_secure = zone_wants_secure(fetch->target.zone),
		.now_s = cache_now_s(fetch->all->cache),
		.age_s = (uint32_t)((fetch->all->now_ms - sent_ms) / 1000),
	};
	struct cache_entry entry;

	zone_trace_reply(fetch->target.zone, &fetch->name, status, reply, is_trusted);
	if (is_outdated(fetch)) {
		end(fetch, NULL); /* its waiters ask once more */
		return;
	}
	if (stub_is_unsent(status)) {
		end_unsent(fetch);
		return;
	}
	question.soa_labels = find_soa_labels(fetch);
	enum answer_failure failure = answer_read(&question, status, reply, is_trusted, &entry);
	if (failure == ANSWER_GOOD && is_distrusted(fetch))
		failure = ANSWER_UNPROVEN; /* it fell ill while this was on its way */
	if (failure == ANSWER_GOOD && is_odd(fetch, reply) && !zone_takes_odd(fetch->target.zone))
		failure = ANSWER_FOREIGN;
	if (failure == ANSWER_GOOD) {
		keep_answer(fetch, reply, &entry);
		return;
	}
	if (failure == ANSWER_LATE) {
		end(fetch, NULL); /* DNS has answered; its waiters ask once more */
		return;
	}
	keep_failure(fetch, failure);
	entry = make_failure(failure);
	end(fetch, &entry);
}

static int ask_dns(struct fetch *fetch, int64_t wait_ms)
{
	struct zone *zone = fetch->target.zone;
	struct health_word parts = health_unpack(zone_word(zone));
	struct dnsblv6_labels relative;
	struct zone_what what = { .relative = &relative, .apex = &zone->config->name };

	fetch->mode = parts.mode;
	fetch->era = cache_zone_get(zone->all->cache, zone->index, CACHE_ZONE_ERA);
	fetch->doubts_no = parts.doubts_no;
	if (fetch->target.is_block) {
		int ret = dnsblv6_name_make(health_style(parts.mode),
					    dnsblv6_block_of(fetch->target.addr), &relative);
		if (ret != DNSBLV6_OK)
			return ret;
	} else if (fetch->topic.size > 0) {
		relative = fetch->topic;
	} else {
		dnsblv6_name_make_classic(fetch->target.addr, &relative);
		if (parts.mode != HEALTH_CLASSIC)
			what.apex = &zone->classic;
	}
	what.type = fetch->target.is_block ? MESSAGE_AAAA : MESSAGE_A;
	what.wait_ms = wait_ms > FETCH_LIFE_MIN_MS ? wait_ms : FETCH_LIFE_MIN_MS;
	what.life_ms = what.wait_ms < FETCH_LIFE_MAX_MS ? what.wait_ms : FETCH_LIFE_MAX_MS;
	return zone_ask(zone, &what, on_reply, fetch, &fetch->name, &fetch->waiters.question);
}

static void join(struct fetches *fetches, struct fetch *fetch, struct waiter *waiter)
{
	if (waiter == NULL)
		return;
	if (!TAILQ_EMPTY(&fetch->waiters.head))
		fetches->all->counts.joined++;
	waiters_join(&fetch->waiters, waiter);
}

/*
 * A fetch without a waiter gives up its place: then there is one for each request. Those that
 * are waited for go to the end of the list, where they are not looked at again and again.
 */
static bool make_place(struct fetches *fetches, const struct zone *zone, const struct fetch *but)
{
	struct fetch_list *list = fetches->zones + zone->index;

	for (struct fetch *fetch = TAILQ_FIRST(list); fetch != but; fetch = TAILQ_FIRST(list)) {
		if (TAILQ_EMPTY(&fetch->waiters.head)) {
			stub_cancel(fetches->all->stub, fetch->waiters.question);
			drop(fetch);
			fetches->all->counts.dropped++;
			return true;
		}
		TAILQ_REMOVE(list, fetch, link);
		TAILQ_INSERT_TAIL(list, fetch, link);
	}
	return false;
}

int fetch_dns(struct fetches *fetches, const struct fetch_target *target, int64_t wait_ms,
	      struct waiter *waiter)
{
	struct cache_key key =
		look_key(fetches->all->cache, target->zone->index, target->is_block, target->addr);
	struct fetch *fetch = find(fetches, key, false);
	int questions = 0;

	if (fetch == NULL) {
		fetch = add(fetches, target, key, false);
		if (fetch == NULL)
			return -ENOMEM;
		int ret = ask_dns(fetch, wait_ms);
		if (ret == -ENOBUFS && make_place(fetches, target->zone, fetch))
			ret = ask_dns(fetch, wait_ms);
		if (ret != DNSBLV6_OK) {
			drop(fetch);
			return ret;
		}
		fetches->all->counts.fetches++;
		questions = 1;
	}
	join(fetches, fetch, waiter);
	return questions;
}

/* ---- the daemon ---- */

static bool has_filter(const struct zone *zone)
{
	for (uint64_t left = zone->entries->entries; left != 0; left &= left - 1) {
		if (zone->all->config->entries[__builtin_ctzll(left)].filter.is_set)
			return true;
	}
	return false;
}

/* What a zone settles by its format holds for ever. */
static uint32_t find_end(const struct fetch *fetch, uint32_t ttl_s)
{
	uint32_t now_s = cache_now_s(fetch->all->cache);

	return ttl_s < UINT32_MAX - now_s ? now_s + ttl_s : UINT32_MAX;
}

/*
 * The reply alone, when the cache has no more of it. It says listed or not, and
 * not with which value: of no use to an entry with a filter of its own.
 */
static bool read_reply(const struct fetch *fetch, const struct cached_reply *reply,
		       struct cache_entry *entry)
{
	if (reply->is_listed && has_filter(fetch->target.zone))
		return false;
	*entry = (struct cache_entry){ .kind = CACHE_BITMAP,
				       .is_secure = reply->is_secure,
				       .is_stale = reply->is_stale,
				       .ttl_s = reply->ttl_s };
	entry->expires_s = reply->ttl_s == 0 ? UINT32_MAX : find_end(fetch, reply->ttl_s);
	if (reply->is_listed)
		dnsblv6_bitmap_add(&entry->payload, dnsblv6_host_index(fetch->target.addr));
	return true;
}

/*
 * Out of the daemon's cache, by our own options, or else the reply. The daemon may take for longer what
 * has expired, and its reply does not say since when.
 */
static bool take_reply(const struct fetch *fetch, const struct cached_reply *reply,
		       struct cache_entry *entry)
{
	const struct zone *zone = fetch->target.zone;
	struct look look;
	bool has_table = look_shared(zone, fetch->target.addr, reply->is_stale, &look);

	if (has_table && look.kind == LOOK_ANSWER) {
		*entry = look.entry;
		entry->expires_s = find_end(fetch, look.ttl_s);
	} else if (reply->is_stale && (has_table || zone->all->config->max_stale_s == 0)) {
		return false;
	} else if (!read_reply(fetch, reply, entry)) {
		return false;
	}
	/* The daemon may have other options than we have. */
	return zone->config->secure != CONFIG_SECURE_YES || entry->is_secure;
}

static void on_daemon(void *context, int status, const struct cached_reply *reply)
{
	struct fetch *fetch = context;
	struct cache_entry entry = make_failure(ANSWER_SILENT);

	if (status == 0 && reply->outcome == CACHED_ANSWERED && !take_reply(fetch, reply, &entry))
		status = -ENOENT;
	end(fetch, status == 0 ? &entry : NULL);
}

int fetch_daemon(struct fetches *fetches, const struct fetch_target *target, int64_t wait_ms,
		 struct waiter *waiter)
{
	struct zones *all = fetches->all;
	/* Always the address: how the daemon asks for it is not known here, and it merges by
	 * itself. */
	struct cache_key key = look_key(all->cache, target->zone->index, false, target->addr);
	struct fetch *fetch = find(fetches, key, true);

	if (fetch == NULL) {
		fetch = add(fetches, target, key, true);
		if (fetch == NULL)
			return -ENOMEM;
		int ret = remote_ask(all->remote, target->zone->config->text, target->addr,
				     all->now_ms, all->now_ms + wait_ms, on_daemon, fetch);
		if (ret != DNSBLV6_OK) {
			drop(fetch);
			return ret;
		}
	}
	join(fetches, fetch, waiter);
	return 0;
}
