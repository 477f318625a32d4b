/* SPDX-License-Identifier: BSD-2-Clause */
/* client_info.c - what a handle tells about its zones, itself, and a listing. */
#include "client-lib/handle/client_parts.h"

#include <errno.h>
#include <string.h>

#include "client-lib/config/lists.h"

int dnsblv6_zone_get(struct dnsblv6 *client, unsigned index, struct dnsblv6_zone_info *ret_info)
{
	if (client == NULL || client->engine == NULL || ret_info == NULL)
		return -EINVAL;
	client_enter(client);
	int ret = engine_zone_get(client->engine, index, ret_info);
	client_leave(client);
	return ret;
}

int dnsblv6_zone_set(const struct dnsblv6 *client, const char *names, uint64_t *ret_zones)
{
	uint64_t zones = 0;
	struct word word;

	if (client == NULL || client->engine == NULL || names == NULL || ret_zones == NULL)
		return -EINVAL;
	while ((word = words_next(&names)).size > 0) {
		uint64_t found = lists_find_entries(&client->config, word);

		if (found == 0)
			return -ENOENT;
		zones |= found;
	}
	if (zones == 0)
		return -EINVAL;
	*ret_zones = zones;
	return DNSBLV6_OK;
}

int dnsblv6_shared_fd(const struct dnsblv6 *client)
{
	return client != NULL && client->engine != NULL ? engine_shared_fd(client->engine)
							: -EINVAL;
}

int dnsblv6_stat_get(struct dnsblv6 *client, unsigned index, const char **ret_name,
		     uint64_t *ret_value)
{
	if (client == NULL || client->engine == NULL || ret_name == NULL || ret_value == NULL)
		return -EINVAL;
	if (index == 0) {
		*ret_name = "hits";
		*ret_value = __atomic_load_n(&client->hits, __ATOMIC_RELAXED);
		return DNSBLV6_OK;
	}
	client_enter(client);
	int ret = engine_stat_get(client->engine, index - 1, ret_name, ret_value);
	client_leave(client);
	return ret;
}

/* ---- probes ---- */

static bool has_probed(const void *what)
{
	return !engine_is_probing(what);
}

static int count_ok(const struct dnsblv6 *client)
{
	struct dnsblv6_zone_info info;
	int count = 0;

	for (unsigned i = 0; engine_zone_get(client->engine, i, &info) == DNSBLV6_OK; i++)
		count += info.state == DNSBLV6_ZONE_OK;
	return count;
}

int dnsblv6_probe(struct dnsblv6 *client, int timeout_ms)
{
	if (client == NULL || client->engine == NULL || !client_is_timeout(timeout_ms))
		return -EINVAL;
	int64_t now_ms = client_now_ms();
	client_enter(client);
	if (!client->is_broken) {
		client_look_for_servers(client, now_ms);
		engine_probe(client->engine, now_ms);
		client_wait(client, has_probed, client->engine, now_ms + timeout_ms);
		client_wake_loop(client);
	}
	int count = count_ok(client);
	client_leave(client);
	return count;
}

int dnsblv6_probe_start(struct dnsblv6 *client)
{
	if (client == NULL || client->engine == NULL)
		return -EINVAL;
	int64_t now_ms = client_now_ms();
	client_enter(client);
	bool is_broken = client->is_broken;
	if (!is_broken) {
		client_look_for_servers(client, now_ms);
		engine_probe(client->engine, now_ms);
		client_wake_loop(client);
	}
	client_leave(client);
	return is_broken ? -EBADF : DNSBLV6_OK;
}

/* ---- reasons ---- */

static bool has_reason(const void *what)
{
	return ((const struct engine_reason *)what)->is_done;
}

static void find_reason(struct dnsblv6 *client, struct engine_reason *reason, int64_t deadline_ms)
{
	engine_reason_start(client->engine, reason, client_now_ms(), deadline_ms);
	client_wait(client, has_reason, reason, deadline_ms);
	engine_reason_end(reason);
}

/* The first text that a zone has; without one, what can be said of the first zone. */
static void find_text(struct dnsblv6 *client, const struct topic *topic, uint64_t listed,
		      int64_t deadline_ms, struct engine_reason *ret_reason)
{
	bool is_first = true;

	for (unsigned i = 0; i < client->config.entry_count; i++) {
		struct engine_reason reason = { .zone = client->config.entries[i].zone,
						.entry = i,
						.topic = *topic };
		if ((listed & 1ull << i) == 0)
			continue;
		find_reason(client, &reason, client->is_broken ? 0 : deadline_ms);
		if (is_first || reason.has_text)
			*ret_reason = reason;
		if (reason.has_text)
			return;
		is_first = false;
	}
}

static int write_reason(struct dnsblv6 *client, const struct topic *topic,
			const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
			size_t size)
{
	struct engine_reason reason;

	if (result == NULL || ret_text == NULL || size == 0 ||
	    (timeout_ms != 0 && !client_is_timeout(timeout_ms)))
		return -EINVAL;
	if (result->zones_listed == 0)
		return -ENOENT;
	uint64_t listed = config_entries(&client->config, topic->kind, result->zones_listed);
	if (listed == 0)
		return -ENOENT;
	int64_t deadline_ms = client_now_ms() + timeout_ms;
	client_enter(client);
	find_text(client, topic, listed, deadline_ms, &reason);
	client_wake_loop(client);
	client_leave(client);

	size_t length = strlen(reason.text);
	if (length >= size)
		length = size - 1;
	memcpy(ret_text, reason.text, length);
	ret_text[length] = '\0';
	return (int)length;
}

int dnsblv6_reason(struct dnsblv6 *client, const struct dnsblv6_ip *ip,
		   const struct dnsblv6_result *result, int timeout_ms, char *ret_text, size_t size)
{
	struct topic topic;

	if (client == NULL || client->engine == NULL || ip == NULL)
		return -EINVAL;
	topic_of_ip(ip, &topic);
	return write_reason(client, &topic, result, timeout_ms, ret_text, size);
}

int dnsblv6_reason_name(struct dnsblv6 *client, const char *name,
			const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
			size_t size)
{
	struct topic topic;

	if (client_parse_name(client, name, UINT64_MAX, &topic) != DNSBLV6_OK)
		return -EINVAL;
	return write_reason(client, &topic, result, timeout_ms, ret_text, size);
}
