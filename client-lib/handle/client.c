/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/dnsblv6.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/resolver/backend.h"
#include "client-lib/handle/client_parts.h"
#include "client-lib/config/scope.h"
#include "client-lib/engine/look.h"
#include "client-lib/engine/verdict.h"

#define TIMEOUT_MAX_MS 3600000

int64_t client_now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t client_now_ms(void)
{
	return client_now_us() / 1000;
}

bool client_is_timeout(int timeout_ms)
{
	return timeout_ms >= 1 && timeout_ms <= TIMEOUT_MAX_MS;
}

/* ---- a handle ---- */

static int init_locks(struct dnsblv6 *client)
{
	pthread_condattr_t attributes;

	if (pthread_condattr_init(&attributes) != 0)
		return -ENOMEM;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	int ret = pthread_cond_init(&client->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (ret != 0)
		return -ENOMEM;
	return pthread_mutex_init(&client->lock, NULL) == 0 ? DNSBLV6_OK : -ENOMEM;
}

/*
 * A child may have the number of its parent: in a namespace of its own, or long after that has
 * ended. So the number is 0 in every child, where the system can do that (Linux 4.14, FreeBSD).
 */
static int make_owner(struct dnsblv6 *client)
{
	void *page = mmap(NULL, sizeof(*client->owner), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
#ifdef MADV_WIPEONFORK
	(void)madvise(page, sizeof(*client->owner), MADV_WIPEONFORK);
#elif defined(INHERIT_ZERO)
	(void)minherit(page, sizeof(*client->owner), INHERIT_ZERO);
#endif
	client->owner = page;
	return DNSBLV6_OK;
}

static void own(struct dnsblv6 *client)
{
	*client->owner = getpid();
	client->is_taken = true;
}

int dnsblv6_new(struct dnsblv6 **ret_client)
{
	if (ret_client == NULL)
		return -EINVAL;
	struct dnsblv6 *client = calloc(1, sizeof(*client));
	if (client == NULL)
		return -ENOMEM;
	if (make_owner(client) != DNSBLV6_OK) {
		free(client);
		return -ENOMEM;
	}
	if (init_locks(client) != DNSBLV6_OK) {
		munmap(client->owner, sizeof(*client->owner));
		free(client);
		return -ENOMEM;
	}
	config_init(&client->config);
	own(client);
	client->loop_ms = INT64_MAX;
	TAILQ_INIT(&client->open);
	TAILQ_INIT(&client->ready);
	TAILQ_INIT(&client->lines);
	*ret_client = client;
	return DNSBLV6_OK;
}

int dnsblv6_set(struct dnsblv6 *client, const char *key, const char *value)
{
	if (client == NULL)
		return -EINVAL;
	client->error[0] = '\0';
	if (key == NULL || value == NULL) {
		snprintf(client->error, sizeof(client->error), "%.64s is%s NULL",
			 key == NULL ? "the key" : key, key == NULL ? "" : " set to");
		return -EINVAL;
	}
	if (client->engine != NULL) {
		snprintf(client->error, sizeof(client->error),
			 "%.64s cannot be set after the start", key);
		return -EBUSY;
	}
	return config_set(&client->config, key, value, client->error);
}

void dnsblv6_set_log(struct dnsblv6 *client, dnsblv6_log_fn log, void *context)
{
	/* What has started has lines for the one that it knows. */
	if (client == NULL || client->engine != NULL)
		return;
	client->log = log;
	client->log_context = context;
}

int dnsblv6_set_resolver(struct dnsblv6 *client, const struct dnsblv6_resolver *resolver,
			 void *context)
{
	if (client == NULL || (resolver != NULL && !backend_is_whole(resolver)))
		return -EINVAL;
	if (client->engine != NULL)
		return -EBUSY;
	client->config.resolver = resolver;
	client->config.resolver_context = context;
	return DNSBLV6_OK;
}

const char *dnsblv6_error(const struct dnsblv6 *client)
{
	return client != NULL ? client->error : "there is no handle";
}

static void keep_line(void *context, int level, const char *text)
{
	struct dnsblv6 *client = context;
	size_t size = strlen(text) + 1;

	/* Those that only explain leave room for those that an operator must see. */
	if (client->line_count >= (level < 7 ? CLIENT_LINES_MAX : CLIENT_LINES_MAX / 2))
		return;
	struct line *line = malloc(sizeof(*line) + size);
	if (line == NULL)
		return;
	line->level = level;
	line->text = (char *)(line + 1);
	memcpy(line->text, text, size);
	TAILQ_INSERT_TAIL(&client->lines, line, link);
	client->line_count++;
}

int client_try_options(struct dnsblv6 *client)
{
	struct config *config = malloc(sizeof(*config));
	if (config == NULL)
		return -ENOMEM;
	*config = client->config;
	config->max_sockets = 0;
	client->error[0] = '\0';
	int ret = config_finish(config, client->error);
	free(config);
	return ret;
}

int dnsblv6_start(struct dnsblv6 *client)
{
	if (client == NULL)
		return -EINVAL;
	if (client->engine != NULL) {
		snprintf(client->error, sizeof(client->error), "started already");
		return -EBUSY;
	}
	client->error[0] = '\0';
	own(client);
	uint32_t max_sockets = client->config.max_sockets;
	int ret = config_finish(&client->config, client->error);
	if (ret == DNSBLV6_OK) {
		ret = engine_new(&client->config, client->log != NULL ? keep_line : NULL, client,
				 &client->engine);
		if (ret != DNSBLV6_OK)
			snprintf(client->error, sizeof(client->error), "not started (%s)",
				 dnsblv6_strerror(ret));
	}
	/* The next start goes by the limit that it finds. */
	if (ret != DNSBLV6_OK)
		client->config.max_sockets = max_sockets;
	return ret;
}

static void free_calls(struct call_list *list)
{
	struct call *call;

	while ((call = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, call, link);
		free(call);
	}
}

static void free_lines(struct line_list *lines)
{
	struct line *line;

	while ((line = TAILQ_FIRST(lines)) != NULL) {
		TAILQ_REMOVE(lines, line, link);
		free(line);
	}
}

void dnsblv6_free(struct dnsblv6 *client)
{
	if (client == NULL)
		return;
	/* A child must not reach into what its parent polls. */
	client_enter(client);
	engine_free(client->engine);
	free_calls(&client->open);
	free_calls(&client->ready);
	free_lines(&client->lines);
	client_leave(client);
	pthread_mutex_destroy(&client->lock);
	pthread_cond_destroy(&client->changed);
	munmap(client->owner, sizeof(*client->owner));
	free(client);
}

/* ---- the lock, and forks ---- */

/* In a child, by the first of its threads that comes. */
static void take_over(struct dnsblv6 *client)
{
	bool is_whole = client->is_taken && pthread_mutex_trylock(&client->lock) == 0;
	client->is_taken = false;
	if (is_whole) /* ThreadSanitizer takes one that is made anew for locked */
		pthread_mutex_unlock(&client->lock);

	/* Threads that held the one or waited for the other do not exist here. */
	init_locks(client);
	client->is_driver_done = NULL;
	client->is_processing = false;
	client->loop_ms = INT64_MAX;
	if (is_whole) {
		free_calls(&client->open);
		free_calls(&client->ready);
		free_lines(&client->lines);
	}
	TAILQ_INIT(&client->open);
	TAILQ_INIT(&client->ready);
	TAILQ_INIT(&client->lines);
	client->line_count = 0;
	client->servers_ms = INT64_MIN;
	if (!is_whole) /* the servers may be half changed */
		client->config.resolv_stamp = (struct config_stamp){ 0 };
	client->is_broken =
		client->engine != NULL && engine_after_fork(client->engine, is_whole) != DNSBLV6_OK;
	client->is_taken = true;
}

void client_enter(struct dnsblv6 *client)
{
	int cancel_state;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pid_t self = getpid();
	pid_t owner = __atomic_load_n(client->owner, __ATOMIC_ACQUIRE);

	while (owner != self) {
		if (owner != -self &&
		    __atomic_compare_exchange_n(client->owner, &owner, -self, false,
						__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			take_over(client);
			__atomic_store_n(client->owner, self, __ATOMIC_RELEASE);
			break;
		}
		sched_yield();
		owner = __atomic_load_n(client->owner, __ATOMIC_ACQUIRE);
	}
	pthread_mutex_lock(&client->lock);
	client->cancel_state = cancel_state;
}

void client_leave(struct dnsblv6 *client)
{
	struct line_list lines = TAILQ_HEAD_INITIALIZER(lines);
	struct line *line;
	const int cancel_state = client->cancel_state;

	TAILQ_CONCAT(&lines, &client->lines, link);
	client->line_count = 0;
	pthread_mutex_unlock(&client->lock);
	TAILQ_FOREACH(line, &lines, link)
	{
		client->log(client->log_context, line->level, line->text);
	}
	free_lines(&lines);
	pthread_setcancelstate(cancel_state, NULL);
}

/* ---- waiting ---- */

void client_wake_loop(struct dnsblv6 *client)
{
	if (!client->is_broken && engine_next_ms(client->engine) < client->loop_ms)
		engine_wake(client->engine, ENGINE_LOOP);
}

void client_look_for_servers(struct dnsblv6 *client, int64_t now_ms)
{
	if (now_ms < client->servers_ms || client->is_broken)
		return;
	client->servers_ms = now_ms + CLIENT_SERVERS_MS;
	if (config_renew_servers(&client->config))
		engine_renew_servers(client->engine, now_ms);
}

void client_process(struct dnsblv6 *client)
{
	int64_t now_ms = client_now_ms();

	client_look_for_servers(client, now_ms);
	engine_process(client->engine, now_ms);
	pthread_cond_broadcast(&client->changed);
	/* Its descriptors say nothing of what this thread has read. */
	if (client->is_driver_done != NULL && client->is_driver_done(client->driver_waits_for))
		engine_wake(client->engine, ENGINE_DRIVER);
}

/* For the driver, which is the first thread to come. */
static void wait_for_dns(struct dnsblv6 *client, client_done_fn is_done, const void *what,
			 int64_t wait_ms)
{
	struct pollfd fds[ENGINE_POLL_MAX];
	unsigned count = engine_poll(client->engine, fds);

	client->is_driver_done = is_done;
	client->driver_waits_for = what;
	pthread_mutex_unlock(&client->lock);
	(void)poll(fds, count, (int)wait_ms); /* a signal ends it too, and nothing is lost */
	pthread_mutex_lock(&client->lock);
	client->is_driver_done = NULL;
	engine_drain(client->engine, ENGINE_DRIVER);
	client_process(client);
}

static void wait_for_driver(struct dnsblv6 *client, int64_t until_ms)
{
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000),
				  .tv_nsec = (long)(until_ms % 1000) * 1000000 };

	pthread_cond_timedwait(&client->changed, &client->lock, &until);
}

void client_wait(struct dnsblv6 *client, client_done_fn is_done, const void *what,
		 int64_t deadline_ms)
{
	const int cancel_state = client->cancel_state;

	while (!is_done(what)) {
		int64_t now_ms = client_now_ms();
		int64_t next_ms = engine_next_ms(client->engine);

		if (next_ms > deadline_ms)
			next_ms = deadline_ms;
		if (next_ms <= now_ms) {
			client_process(client);
			if (now_ms >= deadline_ms)
				break;
		} else if (client->is_driver_done != NULL) {
			wait_for_driver(client, next_ms);
		} else {
			wait_for_dns(client, is_done, what, next_ms - now_ms);
		}
	}
	client->cancel_state = cancel_state; /* others have had the lock */
}

/* ---- asking ---- */

int client_parse_name(const struct dnsblv6 *client, const char *name, uint64_t zones,
		      struct topic *ret_topic)
{
	if (client == NULL || client->engine == NULL || name == NULL ||
	    config_entries(&client->config, CONFIG_NAME, zones) == 0)
		return -EINVAL;
	return topic_parse(name, ret_topic);
}

void client_fill(const struct dnsblv6 *client, const struct topic *topic, uint64_t entries,
		 struct dnsblv6_result *ret_result)
{
	uint64_t wanted = scope_entries(&client->config, topic->kind, topic->addr, entries);

	engine_look_topic(client->engine, topic, entries, ret_result);
	ret_result->is_due = 0;
	verdict_add_failure(wanted & ~ret_result->zones_answered, ret_result);
	verdict_finish(&client->config, wanted, ret_result);
}

/* Inlined: a call from one public function to another goes by way of the linker's table. */
static inline int peek(const struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
		       struct dnsblv6_result *ret_result)
{
	if (client == NULL || ip == NULL || ret_result == NULL || client->engine == NULL)
		return -EINVAL;
	return look_address(&client->engine->all, ip, zones, ret_result);
}

int dnsblv6_peek(const struct dnsblv6 *client, const struct dnsblv6_ip *ip,
		 struct dnsblv6_result *ret_result)
{
	return peek(client, ip, 0, ret_result);
}

int dnsblv6_peek_zones(const struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
		       struct dnsblv6_result *ret_result)
{
	return peek(client, ip, zones, ret_result);
}

int dnsblv6_peek_name(const struct dnsblv6 *client, const char *name, uint64_t zones,
		      struct dnsblv6_result *ret_result)
{
	struct topic topic;

	if (ret_result == NULL || client_parse_name(client, name, zones, &topic) != DNSBLV6_OK)
		return -EINVAL;
	return engine_look_topic(client->engine, &topic, zones, ret_result);
}

/* What one call asks about. */
struct batch {
	struct dnsblv6 *client;
	const struct topic *topic; /* a single one; NULL: ips */
	const struct dnsblv6_ip *ips;
	uint64_t zones; /* 0: all */
	struct dnsblv6_result *results;
	size_t pending;
	int64_t deadline_ms;
};

struct batch_place {
	struct batch *batch;
	bool is_open; /* the cache did not answer */
	size_t index;
	uint64_t id;
};

/* One of what is asked about; space is for one that is made of an address. */
static const struct topic *topic_at(const struct batch *batch, size_t index, struct topic *space)
{
	if (batch->topic != NULL)
		return batch->topic;
	topic_of_ip(batch->ips + index, space);
	return space;
}

/* Answered by the cache, with nothing to do in the background? */
static bool peek_one(const struct batch *batch, size_t index)
{
	struct dnsblv6 *client = batch->client;
	struct dnsblv6_result *result = batch->results + index;
	struct topic space;

	if (engine_look_topic(client->engine, topic_at(batch, index, &space), batch->zones,
			      result) != DNSBLV6_OK ||
	    result->is_due != 0)
		return false;
	__atomic_fetch_add(&client->hits, 1, __ATOMIC_RELAXED);
	return true;
}

static void on_result(void *context, const struct dnsblv6_result *result)
{
	struct batch_place *place = context;
	struct batch *batch = place->batch;

	batch->results[place->index] = *result;
	batch->pending--;
}

static bool is_told(const void *what)
{
	const struct batch *batch = what;
	return batch->pending == 0;
}

static bool has_room(const void *what)
{
	return engine_has_room(what);
}

/* Waits for requests to end, whosever they are, while the engine has too many. */
static void ask_one(struct batch *batch, struct batch_place *place)
{
	struct dnsblv6 *client = batch->client;
	struct topic space;
	const struct topic *topic = topic_at(batch, place->index, &space);
	int ret = -EIO;

	while (!client->is_broken) {
		ret = engine_start(client->engine, topic, batch->zones, client_now_ms(),
				   batch->deadline_ms, on_result, place, &place->id);
		if (ret != -ENOBUFS || client_now_ms() >= batch->deadline_ms)
			break;
		client_wait(client, has_room, client->engine, batch->deadline_ms);
	}
	if (ret == -ENOBUFS)
		engine_note_refusal(client->engine);
	if (ret == DNSBLV6_OK)
		batch->pending++;
	else
		client_fill(client, topic, batch->zones, batch->results + place->index);
}

/* With the lock: asks about the open places, and waits. */
static void ask_open(struct batch *batch, struct batch_place *places, size_t count)
{
	struct dnsblv6 *client = batch->client;

	/* Answers to what was asked in the background may be waiting. */
	if (!client->is_broken)
		client_process(client);
	for (size_t i = 0; i < count; i++) {
		if (places[i].is_open)
			ask_one(batch, places + i);
	}
	client_wait(client, is_told, batch, batch->deadline_ms);
}

static uint32_t elapsed_us(int64_t began_us)
{
	int64_t elapsed = client_now_us() - began_us;
	return elapsed < UINT32_MAX ? (uint32_t)elapsed : UINT32_MAX;
}

static void ask_places(struct batch *batch, struct batch_place *places, size_t count,
		       int timeout_ms)
{
	int64_t began_us = client_now_us();

	batch->deadline_ms = began_us / 1000 + timeout_ms;
	client_enter(batch->client);
	ask_open(batch, places, count);
	client_wake_loop(batch->client);
	client_leave(batch->client);
	for (size_t i = 0; i < count; i++) {
		if (places[i].is_open)
			batch->results[i].elapsed_us = elapsed_us(began_us);
	}
}

static bool may_ask(const struct dnsblv6 *client, uint64_t zones, int timeout_ms)
{
	return client != NULL && client->engine != NULL && client_is_timeout(timeout_ms) &&
	       config_entries(&client->config, CONFIG_ADDRESS, zones) != 0;
}

int dnsblv6_check(struct dnsblv6 *client, const struct dnsblv6_ip *ip, int timeout_ms,
		  struct dnsblv6_result *ret_result)
{
	return dnsblv6_check_zones(client, ip, 0, timeout_ms, ret_result);
}

static int check_one(struct batch *batch, int timeout_ms)
{
	struct batch_place place = { .batch = batch, .is_open = true };

	if (!peek_one(batch, 0))
		ask_places(batch, &place, 1, timeout_ms);
	return DNSBLV6_OK;
}

int dnsblv6_check_zones(struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
			int timeout_ms, struct dnsblv6_result *ret_result)
{
	struct batch batch = { .client = client, .ips = ip, .zones = zones, .results = ret_result };

	if (ip == NULL || ret_result == NULL || !may_ask(client, zones, timeout_ms))
		return -EINVAL;
	return check_one(&batch, timeout_ms);
}

int dnsblv6_check_name(struct dnsblv6 *client, const char *name, uint64_t zones, int timeout_ms,
		       struct dnsblv6_result *ret_result)
{
	struct topic topic;
	struct batch batch = {
		.client = client, .topic = &topic, .zones = zones, .results = ret_result
	};

	if (ret_result == NULL || !client_is_timeout(timeout_ms) ||
	    client_parse_name(client, name, zones, &topic) != DNSBLV6_OK)
		return -EINVAL;
	return check_one(&batch, timeout_ms);
}

int dnsblv6_check_batch(struct dnsblv6 *client, const struct dnsblv6_ip *ips, size_t count,
			int timeout_ms, struct dnsblv6_result *ret_results)
{
	struct batch batch = { .client = client, .ips = ips, .results = ret_results };

	if ((count > 0 && (ips == NULL || ret_results == NULL)) || !may_ask(client, 0, timeout_ms))
		return -EINVAL;
	struct batch_place *places = calloc(count > 0 ? count : 1, sizeof(*places));
	if (places == NULL)
		return -ENOMEM;
	size_t open = 0;
	for (size_t i = 0; i < count; i++) {
		places[i] = (struct batch_place){ .batch = &batch, .index = i };
		places[i].is_open = !peek_one(&batch, i);
		open += places[i].is_open;
	}
	if (open > 0)
		ask_places(&batch, places, count, timeout_ms);
	free(places);
	return DNSBLV6_OK;
}
