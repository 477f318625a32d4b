/* SPDX-License-Identifier: BSD-2-Clause */
/* engine_life.c - how an engine begins, is forked, ends, and what it tells about itself. */
#include "client-lib/engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/engine/probe.h"
#include "client-lib/engine/style.h"
#include "client-lib/base/waitset.h"

#define ENGINE_LINE_MAX 320
#define WARNING		4    /* of syslog(3) */
#define TABLE_WAIT_MS	2000 /* of a daemon that is stopped just now */
#define BEAT_MS		1000 /* REMOTE_BEAT_MAX_MS is several of them */

/* ---- parts ---- */

static void seed(struct zones *all)
{
	struct timespec now;

	if (getrandom(&all->random, sizeof(all->random), GRND_NONBLOCK) ==
	    (ssize_t)sizeof(all->random))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	all->random = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
}

static int make_cache(const struct config *config, struct cache **ret_cache)
{
	const char *zones[CONFIG_ZONES_MAX];
	char path[CONFIG_TEXT_MAX + sizeof(CACHED_COPY)];

	if (config->shared[0] == '\0' || !config->shared_writer)
		return cache_new(config->cache_size, ret_cache);
	for (unsigned i = 0; i < config->zone_count; i++)
		zones[i] = config->zones[i].text;
	snprintf(path, sizeof(path), "%s/" CACHED_COPY, config->shared);
	return cache_create_shared(path, config->cache_size, zones, config->zone_count, ret_cache);
}

static int make_zones(struct zones *all)
{
	unsigned count = all->config->zone_count;

	all->zones = calloc(count > 0 ? count : 1, sizeof(*all->zones));
	all->entries = calloc(count > 0 ? count : 1, sizeof(*all->entries));
	if (all->zones == NULL || all->entries == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		struct zone *zone = all->zones + i;
		zone->all = all;
		zone->config = all->config->zones + i;
		zone->index = i;
		zone->entries = all->entries + i;
		verdict_prepare(all->config, i, all->entries + i);
		if (all->config->shared[0] == '\0' &&
		    zone->entries->entries == all->config->asked[CONFIG_ADDRESS])
			all->single = zone->entries;
	}
	return DNSBLV6_OK;
}

void engine_take_table(void *context, int fd)
{
	struct engine *engine = context;
	if (engine->all.shared != NULL)
		shared_take(engine->all.shared, fd);
}

static int make_remote(struct engine *engine)
{
	int ret = remote_new(engine->all.config->shared, &engine->all.remote);
	if (ret == DNSBLV6_OK)
		remote_on_table(engine->all.remote, engine_take_table, engine);
	return ret;
}

static int make_daemon(struct engine *engine)
{
	struct zones *all = &engine->all;

	if (all->config->shared[0] == '\0' || all->config->shared_writer)
		return DNSBLV6_OK;
	int ret = make_remote(engine);
	return ret == DNSBLV6_OK ? shared_new(all->config, &all->shared) : ret;
}

static int64_t clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * There before the first look: a process that starts finds what the others have. Most
 * daemons hand their table out in less than a millisecond.
 */
static void await_table(struct remote *remote)
{
	int64_t begin_ms = clock_ms();
	int64_t now_ms = begin_ms;

	if (remote_connect(remote, now_ms) != 0)
		return;
	while (remote_is_expecting(remote) && now_ms < begin_ms + TABLE_WAIT_MS) {
		struct pollfd polled = { .fd = remote_fd(remote), .events = POLLIN };
		(void)poll(&polled, 1, (int)(begin_ms + TABLE_WAIT_MS - now_ms));
		now_ms = clock_ms();
		remote_process(remote, now_ms);
	}
}

static int make_fds(struct engine *engine)
{
	engine->waitset = waitset_new();
	if (engine->waitset < 0)
		return engine->waitset;
	for (unsigned i = 0; i < ENGINE_SLEEPER_COUNT; i++) {
		engine->wake_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (engine->wake_fds[i] < 0)
			return -errno;
	}
	int ret = waitset_add(engine->waitset, engine->wake_fds[ENGINE_LOOP], 0);
	if (ret == DNSBLV6_OK)
		ret = waitset_add(engine->waitset, stub_fd(engine->all.stub), 0);
	if (ret == DNSBLV6_OK && engine->all.remote != NULL)
		ret = waitset_add(engine->waitset, remote_fd(engine->all.remote), 0);
	return ret;
}

static void forget_fds(struct engine *engine)
{
	engine->waitset = -1;
	for (unsigned i = 0; i < ENGINE_SLEEPER_COUNT; i++) {
		engine->wake_fds[i] = -1;
		engine->is_woken[i] = false;
	}
}

/* Of the waitset only its end differs in a child, waitset_leave(). */
static void close_fds(struct engine *engine, bool is_child)
{
	if (is_child)
		waitset_leave(engine->waitset);
	else if (engine->waitset >= 0)
		close(engine->waitset);
	for (unsigned i = 0; i < ENGINE_SLEEPER_COUNT; i++) {
		if (engine->wake_fds[i] >= 0)
			close(engine->wake_fds[i]);
	}
	forget_fds(engine);
}

static void init_lists(struct engine *engine)
{
	TAILQ_INIT(&engine->open);
	TAILQ_INIT(&engine->done);
	for (unsigned i = 0; i < ENGINE_BUCKETS; i++)
		LIST_INIT(engine->buckets + i);
	engine->request_count = 0;
}

static int make_parts(struct engine *engine)
{
	struct zones *all = &engine->all;

	int ret = make_cache(all->config, &all->cache);
	if (ret == DNSBLV6_OK)
		cache_set_prefetch(all->cache, all->config->prefetch_percent);
	if (ret == DNSBLV6_OK)
		ret = make_zones(all);
	if (ret == DNSBLV6_OK)
		ret = stub_new(all->config, &all->stub);
	if (ret == DNSBLV6_OK)
		ret = make_daemon(engine);
	if (ret == DNSBLV6_OK)
		ret = fetches_new(all, &engine->fetches);
	return ret == DNSBLV6_OK ? make_fds(engine) : ret;
}

/* A machine without /etc/resolv.conf is meant so; a file that was named is meant to be there. */
static void tell_lack(const struct zones *all)
{
	char line[CONFIG_TEXT_MAX + ENGINE_LINE_MAX];

	if (!all->config->lacks_servers || all->log == NULL || all->config->resolver != NULL)
		return;
	snprintf(line, sizeof(line), "resolv.conf names no server, 127.0.0.1 is asked, path=%s",
		 all->config->resolv_conf);
	all->log(all->log_context, WARNING, line);
}

int engine_new(const struct config *config, dnsblv6_log_fn log, void *log_context,
	       struct engine **ret_engine)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	if (engine == NULL)
		return -ENOMEM;
	engine->all.config = config;
	engine->all.log = log;
	engine->all.log_context = log_context;
	forget_fds(engine);
	seed(&engine->all);
	init_lists(engine);

	int ret = make_parts(engine);
	if (ret != DNSBLV6_OK) {
		engine_free(engine);
		return ret;
	}
	if (engine->all.remote != NULL)
		await_table(engine->all.remote);
	if (!config->shared_writer)
		engine->beat_ms = INT64_MAX;
	tell_lack(&engine->all);
	zones_trace_servers(&engine->all);
	*ret_engine = engine;
	return DNSBLV6_OK;
}

/* They are the stub's to forget. */
static void drop_questions(struct zone *zone)
{
	probe_drop(zone);
	style_drop(zone);
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	engine_forget_requests(engine);
	if (engine->all.zones != NULL) {
		for (unsigned i = 0; i < engine->all.config->zone_count; i++)
			drop_questions(engine->all.zones + i);
	}
	fetches_free(engine->fetches);
	remote_free(engine->all.remote);
	stub_free(engine->all.stub);
	close_fds(engine, false);
	shared_free(engine->all.shared);
	cache_free(engine->all.cache);
	free(engine->all.zones);
	free(engine->all.entries);
	free(engine);
}

/* ---- forks ---- */

static int renew_whole(struct engine *engine)
{
	engine_forget_requests(engine);
	for (unsigned i = 0; i < engine->all.config->zone_count; i++)
		drop_questions(engine->all.zones + i);
	fetches_clear(engine->fetches);
	int ret = stub_after_fork(engine->all.stub);
	if (ret == DNSBLV6_OK && engine->all.remote != NULL)
		ret = remote_after_fork(engine->all.remote);
	return ret;
}

/* Lists may end anywhere: the old memory is lost to this child, and engine_free() finds none of it. */
static void lose_parts(struct engine *engine)
{
	struct zones *all = &engine->all;

	init_lists(engine);
	for (unsigned i = 0; i < all->config->zone_count; i++) {
		all->zones[i].probe = NULL;
		all->zones[i].look = NULL;
		all->zones[i].style = NULL;
	}
	stub_lose(all->stub);
	all->stub = NULL;
	all->remote = NULL;
	engine->fetches = NULL;
}

static int renew_torn(struct engine *engine)
{
	struct zones *all = &engine->all;

	lose_parts(engine);
	int ret = fetches_new(all, &engine->fetches);
	if (ret == DNSBLV6_OK)
		ret = stub_new(all->config, &all->stub);
	if (ret == DNSBLV6_OK && all->shared != NULL)
		ret = make_remote(engine);
	return ret;
}

/* The child of a child that did not get all parts has them to make, too. */
static bool has_parts(const struct engine *engine)
{
	const struct zones *all = &engine->all;

	return engine->fetches != NULL && all->stub != NULL &&
	       (all->shared == NULL || all->remote != NULL);
}

int engine_after_fork(struct engine *engine, bool is_whole)
{
	cache_forget_held(engine->all.cache);
	close_fds(engine, true);
	seed(&engine->all);
	int ret = is_whole && has_parts(engine) ? renew_whole(engine) : renew_torn(engine);
	return ret == DNSBLV6_OK ? make_fds(engine) : ret;
}

/* ---- what is put off ---- */

void engine_hold(struct engine *engine)
{
	cache_hold(engine->all.cache);
}

void engine_release(struct engine *engine)
{
	cache_release(engine->all.cache);
}

/* ---- descriptors ---- */

int engine_fd(const struct engine *engine)
{
	return engine->waitset;
}

void engine_wake(struct engine *engine, enum engine_sleeper sleeper)
{
	uint64_t one = 1;

	if (engine->is_woken[sleeper])
		return;
	engine->is_woken[sleeper] =
		write(engine->wake_fds[sleeper], &one, sizeof(one)) == (ssize_t)sizeof(one);
}

void engine_drain(struct engine *engine, enum engine_sleeper sleeper)
{
	uint64_t count;

	if (engine->is_woken[sleeper])
		engine->is_woken[sleeper] =
			read(engine->wake_fds[sleeper], &count, sizeof(count)) < 0;
}

unsigned engine_poll(const struct engine *engine, struct pollfd *ret_fds)
{
	const struct pollfd fds[ENGINE_POLL_MAX] = {
		{ .fd = engine->wake_fds[ENGINE_DRIVER], .events = POLLIN },
		{ .fd = stub_fd(engine->all.stub), .events = POLLIN },
		{ .fd = engine->all.remote != NULL ? remote_fd(engine->all.remote) : -1,
		  .events = POLLIN },
	};

	memcpy(ret_fds, fds, sizeof(fds));
	return engine->all.remote != NULL ? ENGINE_POLL_MAX : ENGINE_POLL_MAX - 1;
}

void engine_renew_servers(struct engine *engine, int64_t now_ms)
{
	struct zones *all = &engine->all;

	all->now_ms = now_ms;
	stub_renew_servers(all->stub, now_ms);
	for (unsigned i = 0; i < all->config->zone_count; i++)
		zone_forget_secure(all->zones + i);
	if (all->log != NULL)
		all->log(all->log_context, 6, "resolv.conf names other servers now");
	zones_trace_servers(all);
}

/* That there is no daemon is no fault; what the operator has to mend is told, once for each time. */
static void tell_refusal(struct engine *engine, int status)
{
	const struct zones *all = &engine->all;
	const bool is_refused = status == -EACCES || status == -EPERM;
	char line[CONFIG_TEXT_MAX + ENGINE_LINE_MAX];

	if (is_refused && !engine->is_refusal_told && all->log != NULL) {
		snprintf(line, sizeof(line), "dnsblv6-cached not asked, shared=%s (%s)",
			 all->config->shared,
			 status == -EACCES ? "no permission for its socket"
					   : "it is not the user's that owns the directory");
		all->log(all->log_context, WARNING, line);
	}
	if (is_refused || status == 0)
		engine->is_refusal_told = is_refused;
}

void engine_check_shared(struct engine *engine)
{
	const struct zones *all = &engine->all;

	if (all->shared == NULL)
		return;
	shared_check(all->shared, remote_is_connected(all->remote));
	/* Its table comes with the connection; without a daemon nothing does. */
	if (shared_get(all->shared) == NULL)
		tell_refusal(engine, remote_connect(all->remote, all->now_ms));
}

void engine_beat(struct engine *engine)
{
	if (engine->all.now_ms < engine->beat_ms)
		return;
	engine->beat_ms = engine->all.now_ms + BEAT_MS;
	cache_beat(engine->all.cache, engine->all.now_ms);
}

int engine_shared_fd(const struct engine *engine)
{
	return cache_shared_fd(engine->all.cache);
}

/* ---- what it tells ---- */

uint64_t engine_zone_word(const struct zone *zone, uint32_t *ret_now_s)
{
	const struct zones *all = zone->all;
	uint64_t word = zone_word(zone);

	*ret_now_s = cache_now_s(all->cache);
	const struct shared_table *table = all->shared != NULL ? shared_get(all->shared) : NULL;
	if (table == NULL)
		return word;
	int index = table->zones[zone->index];
	uint64_t shared_word =
		index < 0 ? 0 : cache_zone_get(table->cache, (unsigned)index, CACHE_ZONE_WORD);
	if (shared_word == 0)
		return word;
	*ret_now_s = cache_now_s(table->cache);
	return shared_word;
}

int engine_zone_get(const struct engine *engine, unsigned entry, struct dnsblv6_zone_info *ret_info)
{
	const struct config *config = engine->all.config;

	if (entry >= config->entry_count)
		return -ENOENT;
	const struct zone *zone = engine->all.zones + config->entries[entry].zone;
	uint32_t now_s;
	struct health_word parts = health_unpack(engine_zone_word(zone, &now_s));
	*ret_info = (struct dnsblv6_zone_info){
		.weight = config->entries[entry].weight,
		.state = (int32_t)parts.state,
		.is_bitmap = health_is_bitmap(parts.mode) &&
			     !(parts.state == DNSBLV6_ZONE_FILTERED && parts.has_classic),
		.asked = zone->asked,
		.failures = zone->failures,
	};
	if (parts.state != DNSBLV6_ZONE_UNPROBED)
		ret_info->state_age_s = health_age_s(&parts, now_s);
	snprintf(ret_info->name, sizeof(ret_info->name), "%s", zone->config->text);
	snprintf(ret_info->label, sizeof(ret_info->label), "%s", config->entries[entry].label);
	return DNSBLV6_OK;
}

void engine_note_refusal(struct engine *engine)
{
	engine->all.counts.refused++;
	engine_tell_losses(engine);
}

/* A child without descriptors may have no stub. */
static struct stub_stats get_stub_stats(const struct engine *engine)
{
	struct stub_stats stats = { 0 };

	if (engine->all.stub != NULL)
		stub_get_stats(engine->all.stub, &stats);
	return stats;
}

static struct engine_losses count_losses(const struct engine *engine)
{
	const struct zones_counts *counts = &engine->all.counts;
	const struct stub_stats stub = get_stub_stats(engine);

	return (struct engine_losses){ .unsent = stub.unsent,
				       .refused = stub.refused,
				       .dropped = counts->dropped,
				       .requests = counts->refused };
}

void engine_tell_losses(struct engine *engine)
{
	const struct config *config = engine->all.config;
	const struct engine_losses told = engine->told;
	const struct engine_losses is = count_losses(engine);
	char line[ENGINE_LINE_MAX];

	if (memcmp(&is, &told, sizeof(is)) == 0 || engine->all.log == NULL ||
	    (engine->told_ms != 0 && engine->all.now_ms - engine->told_ms < ENGINE_LOSSES_MS))
		return;
	engine->told = is;
	engine->told_ms = engine->all.now_ms;
	snprintf(line, sizeof(line),
		 "too much was asked at once, requests-refused=%" PRIu64
		 " questions-unsent=%" PRIu64 " questions-refused=%" PRIu64
		 " fetches-dropped=%" PRIu64 " max-requests=%u max-sockets=%u",
		 is.requests - told.requests, is.unsent - told.unsent, is.refused - told.refused,
		 is.dropped - told.dropped, config->max_requests, config->max_sockets);
	engine->all.log(engine->all.log_context, WARNING, line);
}

int engine_stat_get(const struct engine *engine, unsigned index, const char **ret_name,
		    uint64_t *ret_value)
{
	const struct zones_counts *counts = &engine->all.counts;
	const struct stub_stats stub = get_stub_stats(engine);
	struct remote_stats remote = { 0 };
	struct cache_stats cache;

	cache_get_stats(engine->all.cache, &cache);
	if (engine->all.remote != NULL)
		remote_get_stats(engine->all.remote, &remote);
	const struct {
		const char *name;
		uint64_t value;
	} stats[] = {
		{ "requests", counts->requests },
		{ "requests-late", counts->late },
		{ "requests-refused", counts->refused },
		{ "fetches", counts->fetches },
		{ "fetches-joined", counts->joined },
		{ "fetches-failed", counts->failures },
		{ "fetches-dropped", counts->dropped },
		{ "prefetches", counts->prefetches },
		{ "probes", counts->probes },
		{ "looks", counts->looks },
		{ "fetches-unproven", counts->unproven },
		{ "range-slots", counts->ranges },
		{ "questions", stub.questions },
		{ "questions-merged", stub.merged },
		{ "questions-unsent", stub.unsent },
		{ "questions-refused", stub.refused },
		{ "sent-udp", stub.sent_udp },
		{ "sent-tcp", stub.sent_tcp },
		{ "replies", stub.replies },
		{ "replies-dropped", stub.dropped },
		{ "timeouts", stub.timeouts },
		{ "daemon-asked", remote.asked },
		{ "daemon-answered", remote.answered },
		{ "daemon-late", remote.late },
		{ "daemon-lost", remote.lost },
		{ "cache-bytes", cache.size_bytes },
		{ "cache-slots", cache.slots },
		{ "cache-puts", cache.puts },
		{ "cache-evicted", cache.evicted },
	};
	if (index >= sizeof(stats) / sizeof(stats[0]))
		return -ENOENT;
	*ret_name = stats[index].name;
	*ret_value = stats[index].value;
	return DNSBLV6_OK;
}
