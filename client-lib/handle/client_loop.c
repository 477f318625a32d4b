/* SPDX-License-Identifier: BSD-2-Clause */
/* client_loop.c - a handle in an event loop of the program. */
#include "client-lib/handle/client_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

int dnsblv6_fd(struct dnsblv6 *client)
{
	if (client == NULL || client->engine == NULL)
		return -EINVAL;
	client_enter(client);
	int fd = client->is_broken ? -EBADF : engine_fd(client->engine);
	client_leave(client);
	return fd;
}

static int find_timeout(struct dnsblv6 *client)
{
	int64_t next_ms = client->is_broken ? INT64_MAX : engine_next_ms(client->engine);

	client->loop_ms = next_ms;
	if (!TAILQ_EMPTY(&client->ready))
		return 0;
	if (next_ms == INT64_MAX)
		return -1;
	int64_t now_ms = client_now_ms();
	/* At once may be any time that is over: no difference of it. */
	if (next_ms <= now_ms)
		return 0;
	return next_ms - now_ms < INT_MAX ? (int)(next_ms - now_ms) : INT_MAX;
}

int dnsblv6_timeout_ms(struct dnsblv6 *client)
{
	if (client == NULL || client->engine == NULL)
		return -1;
	client_enter(client);
	int timeout_ms = find_timeout(client);
	client_leave(client);
	return timeout_ms;
}

static void make_ready(struct call *call)
{
	struct dnsblv6 *client = call->client;

	TAILQ_REMOVE(&client->open, call, link);
	TAILQ_INSERT_TAIL(&client->ready, call, link);
	/* Found by a thread that does not deliver it: the loop must hear of it. */
	if (!client->is_processing && !client->is_broken)
		engine_wake(client->engine, ENGINE_LOOP);
}

static void on_result(void *context, const struct dnsblv6_result *result)
{
	struct call *call = context;
	int64_t elapsed_us = client_now_us() - call->began_us;

	call->result = *result;
	call->result.elapsed_us = elapsed_us < UINT32_MAX ? (uint32_t)elapsed_us : UINT32_MAX;
	make_ready(call);
}

static int start(struct dnsblv6 *client, struct call *call, const struct topic *topic,
		 uint64_t zones, int timeout_ms)
{
	int64_t now_ms = call->began_us / 1000;

	TAILQ_INSERT_TAIL(&client->open, call, link);
	if (client->is_broken) {
		call->id = ++client->engine->last_id;
		client_fill(client, topic, zones, &call->result);
		make_ready(call);
		return DNSBLV6_OK;
	}
	client_look_for_servers(client, now_ms);
	int ret = engine_start(client->engine, topic, zones, now_ms, now_ms + timeout_ms, on_result,
			       call, &call->id);
	if (ret == -ENOBUFS)
		engine_note_refusal(client->engine);
	if (ret != DNSBLV6_OK)
		TAILQ_REMOVE(&client->open, call, link);
	client_wake_loop(client);
	return ret;
}

static int submit(struct dnsblv6 *client, const struct topic *topic, uint64_t zones, int timeout_ms,
		  dnsblv6_fn callback, void *context, uint64_t *ret_id)
{
	struct call *call = calloc(1, sizeof(*call));
	if (call == NULL)
		return -ENOMEM;
	call->client = client;
	call->callback = callback;
	call->context = context;
	call->began_us = client_now_us();

	client_enter(client);
	int ret = start(client, call, topic, zones, timeout_ms);
	if (ret == DNSBLV6_OK && ret_id != NULL)
		*ret_id = call->id;
	client_leave(client);
	if (ret != DNSBLV6_OK)
		free(call);
	return ret;
}

int dnsblv6_submit(struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
		   int timeout_ms, dnsblv6_fn callback, void *context, uint64_t *ret_id)
{
	struct topic topic;

	if (client == NULL || client->engine == NULL || ip == NULL || callback == NULL ||
	    !client_is_timeout(timeout_ms) ||
	    config_entries(&client->config, CONFIG_ADDRESS, zones) == 0)
		return -EINVAL;
	topic_of_ip(ip, &topic);
	return submit(client, &topic, zones, timeout_ms, callback, context, ret_id);
}

int dnsblv6_submit_name(struct dnsblv6 *client, const char *name, uint64_t zones, int timeout_ms,
			dnsblv6_fn callback, void *context, uint64_t *ret_id)
{
	struct topic topic;

	if (callback == NULL || !client_is_timeout(timeout_ms) ||
	    client_parse_name(client, name, zones, &topic) != DNSBLV6_OK)
		return -EINVAL;
	return submit(client, &topic, zones, timeout_ms, callback, context, ret_id);
}

static struct call *take_ready(struct dnsblv6 *client, uint64_t id)
{
	struct call *call;

	TAILQ_FOREACH(call, &client->ready, link)
	{
		if (call->id == id) {
			TAILQ_REMOVE(&client->ready, call, link);
			return call;
		}
	}
	return NULL;
}

int dnsblv6_cancel(struct dnsblv6 *client, uint64_t id)
{
	void *context = NULL;

	if (client == NULL || client->engine == NULL)
		return -EINVAL;
	client_enter(client);
	struct call *call = take_ready(client, id);
	if (call == NULL && engine_cancel(client->engine, id, on_result, &context) == DNSBLV6_OK) {
		call = context;
		TAILQ_REMOVE(&client->open, call, link);
	}
	client_leave(client);
	int ret = call != NULL ? DNSBLV6_OK : -ENOENT;
	free(call);
	return ret;
}

/* The next callback that is ready, of requests up to last_id, or NULL. */
static struct call *next_ready(struct dnsblv6 *client, uint64_t last_id)
{
	client_enter(client);
	struct call *call = TAILQ_FIRST(&client->ready);
	if (call != NULL && call->id > last_id)
		call = NULL;
	if (call != NULL)
		TAILQ_REMOVE(&client->ready, call, link);
	client_leave(client);
	return call;
}

/* Returns the id of the last request there was. */
static uint64_t work(struct dnsblv6 *client)
{
	client_enter(client);
	if (!client->is_broken) {
		engine_drain(client->engine, ENGINE_LOOP);
		client->is_processing = true;
		engine_hold(client->engine);
		client_process(client);
		/* Callbacks come first: they may have an answer to send. */
		if (TAILQ_EMPTY(&client->ready))
			engine_release(client->engine);
		client->is_processing = false;
	}
	uint64_t last_id = client->engine->last_id;
	client_leave(client);
	return last_id;
}

static void tidy_up(struct dnsblv6 *client)
{
	client_enter(client);
	if (!client->is_broken)
		engine_release(client->engine);
	client_leave(client);
}

int dnsblv6_process(struct dnsblv6 *client)
{
	struct call *call;
	int cancel_state, count = 0;

	if (client == NULL || client->engine == NULL)
		return -EINVAL;
	/* A thread that ended in a callback would keep it and leave those of others behind. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	uint64_t last_id = work(client);
	/* Ends: what callbacks submit is for the next dnsblv6_process(). */
	while ((call = next_ready(client, last_id)) != NULL) {
		call->callback(call->context, &call->result);
		free(call);
		count++;
	}
	if (count > 0)
		tidy_up(client);
	pthread_setcancelstate(cancel_state, NULL);
	return count;
}
