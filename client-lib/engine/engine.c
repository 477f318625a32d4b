/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "client-lib/engine/look.h"
#include "client-lib/engine/probe.h"
#include "client-lib/config/scope.h"
#include "client-lib/base/waitset.h"

/* ---- requests ---- */

/* What a request waits for in one zone. */
struct part {
	struct waiter waiter;
	struct request *request;
	struct zone *zone;
	uint64_t entries;
	bool has_asked_daemon;
	bool has_probed;
	bool has_asked; /* DNS; the second time is for what was filtered */
	bool is_prober; /* the probe that it waits for is one that it began */
};

struct request {
	TAILQ_ENTRY(request) link; /* open, by deadline; or done */
	struct request_list *list;
	LIST_ENTRY(request) bucket;
	struct engine *engine;
	uint64_t id;
	struct topic topic;
	uint64_t entries;
	int64_t began_ms;
	int64_t deadline_ms;
	dnsblv6_fn callback;
	void *context;
	struct dnsblv6_result result;
	unsigned pending;
	unsigned part_count;
	struct part *parts;
};

static void move(struct request *request, struct request_list *list)
{
	if (request->list != NULL)
		TAILQ_REMOVE(request->list, request, link);
	request->list = list;
	if (list != NULL)
		TAILQ_INSERT_TAIL(list, request, link);
}

/* By deadline. Most have the same time to wait, so the search is short. */
static void open_request(struct engine *engine, struct request *request)
{
	struct request *before = TAILQ_LAST(&engine->open, request_list);

	while (before != NULL && before->deadline_ms > request->deadline_ms)
		before = TAILQ_PREV(before, request_list, link);
	request->list = &engine->open;
	if (before != NULL)
		TAILQ_INSERT_AFTER(&engine->open, before, request, link);
	else
		TAILQ_INSERT_HEAD(&engine->open, request, link);
}

static void free_request(struct request *request)
{
	for (unsigned i = 0; i < request->part_count; i++)
		waiters_leave(&request->parts[i].waiter);
	move(request, NULL);
	if (request->id != 0) {
		LIST_REMOVE(request, bucket);
		request->engine->request_count--;
	}
	free(request);
}

void engine_forget_requests(struct engine *engine)
{
	struct request_list *const lists[] = { &engine->open, &engine->done };
	struct request *request;

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		while ((request = TAILQ_FIRST(lists[i])) != NULL)
			free_request(request);
	}
}

/* ---- parts ---- */

static void settle(struct part *part)
{
	if (--part->request->pending == 0 && part->request->list == &part->request->engine->open)
		move(part->request, &part->request->engine->done);
}

static void add_answer(struct part *part, const struct cache_entry *entry, uint32_t ttl_s)
{
	struct request *request = part->request;

	verdict_add_answer(request->engine->all.config, part->zone->entries, part->entries, entry,
			   request->topic.addr, ttl_s, &request->result);
	settle(part);
}

static void fail(struct part *part)
{
	verdict_add_failure(part->entries, &part->request->result);
	settle(part);
}

/* Nothing new was to be had: an answer that has expired, or none. */
static void give_up(struct part *part)
{
	struct look look;

	look_zone(part->zone, part->request->topic.addr, true, &look);
	if (look.kind == LOOK_ANSWER)
		add_answer(part, &look.entry, look.ttl_s);
	else
		fail(part);
}

/* Asked in place of an address; NULL: it is one. */
static const struct dnsblv6_labels *find_name(const struct topic *topic)
{
	return topic->kind == CONFIG_NAME ? &topic->name : NULL;
}

static bool ask_daemon(struct part *part)
{
	struct engine *engine = part->request->engine;
	struct fetch_target target = { .zone = part->zone, .addr = part->request->topic.addr };
	int64_t left_ms = part->request->deadline_ms - engine->all.now_ms;

	if (engine->all.remote == NULL || part->has_asked_daemon || left_ms < 2 ||
	    part->request->topic.kind != CONFIG_ADDRESS)
		return false;
	part->has_asked_daemon = true;
	/* Half of the time, so that there is some left when the daemon hangs. */
	return fetch_daemon(engine->fetches, &target, left_ms / 2, &part->waiter) >= 0;
}

static bool has_probed_lately(const struct zone *zone)
{
	const struct zones *all = zone->all;

	return cache_now_s(all->cache) - zone->health.probed_s < all->config->failure_ttl_s;
}

static void probe(struct part *part)
{
	struct zone *zone = part->zone;
	bool is_ipv6 = !dnsblv6_addr_is_ipv4(part->request->topic.addr);

	/* It has just been asked all this, and more would not be answered either. */
	if (zone->probe == NULL && is_ipv6 && zone->wants_ipv6 && has_probed_lately(zone)) {
		give_up(part);
		return;
	}
	part->is_prober = zone->probe == NULL;
	/* One that is under way may not be about IPv6. */
	part->has_probed = part->is_prober || !is_ipv6 || zone->wants_ipv6;
	if (probe_start(zone, is_ipv6, &part->waiter) < 0)
		give_up(part);
}

static void ask_dns(struct part *part, bool is_block)
{
	struct request *request = part->request;
	struct fetch_target target = { part->zone, request->topic.addr, is_block,
				       find_name(&request->topic) };
	int64_t left_ms = request->deadline_ms - request->engine->all.now_ms;

	int ret = fetch_dns(request->engine->fetches, &target, left_ms, &part->waiter);
	if (ret < 0)
		give_up(part);
	else
		request->result.queries += (uint32_t)ret;
}

/* Does this process know enough of the zone to ask it? */
static bool is_ready(const struct zone *zone, const struct look *look, bool is_ipv4)
{
	struct health_word parts = health_unpack(zone_word(zone));

	if (parts.mode == HEALTH_UNKNOWN || parts.state == DNSBLV6_ZONE_UNPROBED)
		return false;
	if (parts.mode == HEALTH_CLASSIC)
		return parts.has_ipv6 || is_ipv4;
	/* Another process may have probed it, and the name of the classic zone is in no word. */
	return look->is_block || (zone->has_metadata && zone->classic.size > 0);
}

/* A probe is due: of a sick zone the caller waits for it, since only that can give an answer. */
static bool claim_probe(struct zone *zone)
{
	return zone->probe == NULL && zone_claim_probe(zone);
}

static void dispatch_own(struct part *part, const struct look *look)
{
	struct zone *zone = part->zone;
	bool is_ipv4 = dnsblv6_addr_is_ipv4(part->request->topic.addr);
	bool is_sick = health_is_sick(health_unpack(zone_word(zone)).state);

	if (!is_sick && !is_ready(zone, look, is_ipv4)) {
		if (part->has_probed)
			give_up(part);
		else
			probe(part);
		return;
	}
	if (!part->has_probed && claim_probe(zone)) {
		if (is_sick) {
			probe(part);
			return;
		}
		probe_start(zone, false, NULL);
	}
	if (is_sick || look->kind == LOOK_FAILED)
		give_up(part);
	else
		ask_dns(part, look->is_block);
}

/* A list has nothing below it that is longer than names may be: it need not be asked. */
static bool is_too_long(const struct part *part)
{
	unsigned size = part->request->topic.name.size;

	return size > 0 && size + part->zone->config->name.size > DNSBLV6_LABELS_MAX;
}

/* Finds out what is known and asks for the rest. Comes back here when something has changed. */
static void dispatch(struct part *part)
{
	static const struct cache_entry nothing = { .kind = CACHE_LOW };
	struct look look;

	if (is_too_long(part)) {
		add_answer(part, &nothing, UINT32_MAX);
		return;
	}
	look_zone(part->zone, part->request->topic.addr, false, &look);
	if (look.kind == LOOK_ANSWER) {
		add_answer(part, &look.entry, look.ttl_s);
		return;
	}
	if (look.kind == LOOK_MISS && ask_daemon(part))
		return;
	dispatch_own(part, &look);
}

/*
 * What is left of an answer: UINT32_MAX when it has no end. It is not 0 when the answer was only just in
 * time, as 0 is what a verdict says without an end.
 */
static uint32_t find_left_s(const struct part *part, const struct cache_entry *entry)
{
	uint32_t now_s = cache_now_s(part->request->engine->all.cache);

	if (entry->expires_s == UINT32_MAX)
		return UINT32_MAX;
	return entry->expires_s > now_s ? entry->expires_s - now_s : 1;
}

static void on_wake(struct waiter *waiter, const struct cache_entry *entry)
{
	struct part *part = waiter->context;

	if (part->is_prober)
		part->request->result.queries += probe_question_count(part->zone);
	part->is_prober = false;
	if (entry == NULL) {
		dispatch(part);
	} else if (entry->kind != CACHE_FAILED) {
		add_answer(part, entry, find_left_s(part, entry));
	} else if (entry->payload.bytes[0] == ANSWER_FILTERED && !part->has_asked) {
		part->has_asked = true;
		dispatch(part);
	} else {
		give_up(part);
	}
}

/* ---- starting ---- */

int engine_look_topic(const struct engine *engine, const struct topic *topic, uint64_t entries,
		      struct dnsblv6_result *ret_result)
{
	return look_all(&engine->all, topic->addr.hi, topic->addr.lo,
			scope_entries(engine->all.config, topic->kind, topic->addr, entries),
			ret_result);
}

static void refresh_zone(struct engine *engine, struct zone *zone, const struct topic *topic)
{
	struct fetch_target target = { zone, topic->addr, false, find_name(topic) };
	struct look look;

	look_zone(zone, topic->addr, false, &look);
	if (look.kind == LOOK_ANSWER && look.is_old) {
		engine->all.counts.prefetches++;
		if (engine->all.remote != NULL && topic->kind == CONFIG_ADDRESS &&
		    fetch_daemon(engine->fetches, &target, FETCH_LIFE_MIN_MS, NULL) >= 0)
			return;
		look.is_block = target.is_block = look.entry.kind == CACHE_BITMAP;
		if (is_ready(zone, &look, dnsblv6_addr_is_ipv4(topic->addr)))
			fetch_dns(engine->fetches, &target, FETCH_LIFE_MIN_MS, NULL);
	}
	if (zone_word(zone) != 0 && claim_probe(zone))
		probe_start(zone, false, NULL);
}

static void refresh(struct engine *engine, const struct topic *topic, uint64_t entries,
		    int64_t now_ms)
{
	uint64_t wanted = scope_entries(engine->all.config, topic->kind, topic->addr, entries);

	engine->all.now_ms = now_ms;
	for (unsigned i = 0; i < engine->all.config->zone_count; i++) {
		struct zone *zone = engine->all.zones + i;
		if ((zone->entries->entries & wanted) != 0)
			refresh_zone(engine, zone, topic);
	}
}

/* Zones without an answer, and sick ones that may be well again. */
static uint64_t find_open(const struct engine *engine, const struct dnsblv6_result *result,
			  uint64_t entries)
{
	uint64_t open = entries & ~result->zones_answered;
	uint32_t now_s = cache_now_s(engine->all.cache);

	for (unsigned i = 0; i < engine->all.config->zone_count; i++) {
		const struct zone *zone = engine->all.zones + i;
		uint64_t word = zone_word(zone);
		if ((zone->entries->entries & result->zones_failed) != 0 &&
		    (!health_is_sick(health_unpack(word).state) || !health_is_due(word, now_s)))
			open &= ~zone->entries->entries;
	}
	return open;
}

static unsigned count_zones(const struct engine *engine, uint64_t entries)
{
	unsigned count = 0;

	for (unsigned i = 0; i < engine->all.config->zone_count; i++)
		count += (engine->all.zones[i].entries->entries & entries) != 0;
	return count;
}

static void fill_parts(struct request *request, uint64_t open)
{
	struct engine *engine = request->engine;

	for (unsigned i = 0; i < engine->all.config->zone_count; i++) {
		struct zone *zone = engine->all.zones + i;
		if ((zone->entries->entries & open) == 0)
			continue;
		struct part *part = request->parts + request->part_count++;
		part->request = request;
		part->zone = zone;
		part->entries = zone->entries->entries & open;
		part->waiter.wake = on_wake;
		part->waiter.context = part;
	}
	request->pending = request->part_count;
}

static int make_request(struct engine *engine, const struct topic *topic, uint64_t entries,
			struct request **ret_request)
{
	struct dnsblv6_result result;

	look_all(&engine->all, topic->addr.hi, topic->addr.lo, entries, &result);
	uint64_t open = find_open(engine, &result, entries);
	struct request *request =
		calloc(1, sizeof(*request) + count_zones(engine, open) * sizeof(struct part));
	if (request == NULL)
		return -ENOMEM;
	request->parts = (struct part *)(request + 1);
	request->engine = engine;
	request->topic = *topic;
	request->entries = entries;
	request->result = result;
	request->result.is_due = 0; /* it is asked */
	request->result.zones_failed &= ~open;
	if (result.ttl_s == 0)
		request->result.ttl_s = UINT32_MAX; /* verdict_finish() has said "none" */
	fill_parts(request, open);
	*ret_request = request;
	return DNSBLV6_OK;
}

static struct request_bucket *bucket_of(struct engine *engine, uint64_t id)
{
	return engine->buckets + id % ENGINE_BUCKETS;
}

bool engine_has_room(const struct engine *engine)
{
	return engine->request_count < engine->all.config->max_requests;
}

int engine_start(struct engine *engine, const struct topic *topic, uint64_t entries, int64_t now_ms,
		 int64_t deadline_ms, dnsblv6_fn callback, void *context, uint64_t *ret_id)
{
	struct request *request;
	uint64_t wanted = scope_entries(engine->all.config, topic->kind, topic->addr, entries);

	if (!engine_has_room(engine))
		return -ENOBUFS;
	engine->all.now_ms = now_ms;
	engine_check_shared(engine);
	int ret = make_request(engine, topic, wanted, &request);
	if (ret != DNSBLV6_OK)
		return ret;
	request->callback = callback;
	request->context = context;
	request->began_ms = now_ms;
	request->deadline_ms = deadline_ms;
	request->id = ++engine->last_id;
	LIST_INSERT_HEAD(bucket_of(engine, request->id), request, bucket);
	engine->request_count++;
	if (request->pending > 0)
		engine->all.counts.requests++;

	open_request(engine, request);
	if (request->result.zones_answered != 0)
		refresh(engine, topic, request->result.zones_answered, now_ms);
	for (unsigned i = 0; i < request->part_count; i++)
		dispatch(request->parts + i);
	if (request->pending == 0)
		move(request, &engine->done);
	*ret_id = request->id;
	return DNSBLV6_OK;
}

int engine_cancel(struct engine *engine, uint64_t id, dnsblv6_fn callback, void **ret_context)
{
	struct request *request;

	LIST_FOREACH(request, bucket_of(engine, id), bucket)
	{
		if (request->id == id && request->callback == callback) {
			if (ret_context != NULL)
				*ret_context = request->context;
			free_request(request);
			return DNSBLV6_OK;
		}
	}
	return -ENOENT;
}

/* ---- ending ---- */

static void end_late(struct engine *engine, int64_t now_ms)
{
	struct request *request;

	while ((request = TAILQ_FIRST(&engine->open)) != NULL && request->deadline_ms <= now_ms) {
		engine->all.counts.late++;
		for (unsigned i = 0; i < request->part_count; i++) {
			struct part *part = request->parts + i;
			if (part->waiter.list == NULL)
				continue;
			zone_note_late(part->waiter.list);
			waiters_leave(&part->waiter);
			give_up(part);
		}
		if (request->list == &engine->open)
			move(request, &engine->done);
	}
}

static int deliver(struct engine *engine)
{
	uint64_t last_id = engine->last_id;
	struct request *request;
	int count = 0;

	/*
	 * What callbacks start is for the next time, even if the cache answers it. The analyser
	 * does not see that TAILQ_REMOVE() changes what is first.
	 */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	while ((request = TAILQ_FIRST(&engine->done)) != NULL && request->id <= last_id) {
		struct dnsblv6_result result = request->result;
		dnsblv6_fn callback = request->callback;
		void *context = request->context;

		TAILQ_REMOVE(&engine->done, request, link);
		request->list = NULL;
		verdict_finish(engine->all.config, request->entries, &result);
		result.elapsed_us = (uint32_t)((engine->all.now_ms - request->began_ms) * 1000);
		free_request(request);
		callback(context, &result);
		count++;
	}
	return count;
}

int engine_process(struct engine *engine, int64_t now_ms)
{
	engine->all.now_ms = now_ms;
	stub_process(engine->all.stub, now_ms);
	if (engine->all.remote != NULL)
		remote_process(engine->all.remote, now_ms);
	waitset_settle(engine->waitset);
	engine_beat(engine);
	end_late(engine, now_ms);
	engine_tell_losses(engine);
	return deliver(engine);
}

int64_t engine_next_ms(const struct engine *engine)
{
	int64_t next_ms = stub_next_ms(engine->all.stub);
	const struct request *first = TAILQ_FIRST(&engine->open);

	if (!TAILQ_EMPTY(&engine->done))
		return engine->all.now_ms;
	if (engine->all.remote != NULL && remote_next_ms(engine->all.remote) < next_ms)
		next_ms = remote_next_ms(engine->all.remote);
	if (engine->beat_ms < next_ms)
		next_ms = engine->beat_ms;
	return first != NULL && first->deadline_ms < next_ms ? first->deadline_ms : next_ms;
}

/* ---- probes ---- */

void engine_probe(struct engine *engine, int64_t now_ms)
{
	engine->all.now_ms = now_ms;
	for (unsigned i = 0; i < engine->all.config->zone_count; i++) {
		engine->all.zones[i].has_found = false; /* all of it */
		probe_start(engine->all.zones + i, false, NULL);
	}
}

bool engine_is_probing(const struct engine *engine)
{
	for (unsigned i = 0; i < engine->all.config->zone_count; i++) {
		if (engine->all.zones[i].probe != NULL)
			return true;
	}
	return false;
}
