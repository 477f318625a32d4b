/* SPDX-License-Identifier: BSD-2-Clause */
/* client_info.c - what a handle tells about its zones and itself. */
#include "client-lib/handle/client_parts.h"

#include <errno.h>

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

/* With the lock. False: nothing can be asked. */
static bool start_probe(struct dnsblv6 *client, int64_t now_ms)
{
	if (client->is_broken)
		return false;
	client_look_for_servers(client, now_ms);
	engine_probe(client->engine, now_ms);
	return true;
}

int dnsblv6_probe(struct dnsblv6 *client, int timeout_ms)
{
	if (client == NULL || client->engine == NULL || !client_is_timeout(timeout_ms))
		return -EINVAL;
	int64_t now_ms = client_now_ms();
	client_enter(client);
	if (start_probe(client, now_ms)) {
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
	client_enter(client);
	int ret = start_probe(client, client_now_ms()) ? DNSBLV6_OK : -EBADF;
	client_wake_loop(client);
	client_leave(client);
	return ret;
}
