/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/handle.h"

#include <stdio.h>
#include <string.h>

#include <errno.h>

#include "client-lib/handle/client_parts.h"
#include "lib/common/log.h"

/* The library takes a list whole, the file has it word by word. */
static const char *take(void *member, const struct conf_value *value)
{
	struct handle *handle = member;
	const struct conf_item *item = value->item;
	if (!item->is_list)
		return handle_set(handle, item->name, value->text);
	char *list = handle->lists[item - handle_items];
	size_t size = strlen(list);
	int added = snprintf(list + size, HANDLE_LIST_MAX - size, "%s%s", size > 0 ? " " : "",
			     value->text);
	if (added < 0 || (size_t)added >= HANDLE_LIST_MAX - size)
		return "the list is too long";
	return handle_set(handle, item->name, list);
}

#define TEXT(key)                                                                                  \
	{                                                                                          \
		key, CONF_TEXT, .max = CONF_VALUE_MAX - 1, .take = take                            \
	}
#define LIST(key)                                                                                  \
	{                                                                                          \
		key, CONF_TEXT, .max = CONF_VALUE_MAX - 1, .take = take, .is_list = true           \
	}

const struct conf_item handle_items[HANDLE_ITEMS] = {
	LIST("zones"),
	LIST("on-failure"),
	TEXT("threshold"),
	TEXT("scope"),
	LIST("mode"),
	TEXT("shared"),
	LIST("servers"),
	LIST("trusted"),
	LIST("secure"),
	TEXT("cache-size"),
	TEXT("min-ttl"),
	TEXT("max-ttl"),
	TEXT("max-negative-ttl"),
	TEXT("failure-ttl"),
	TEXT("max-stale"),
	TEXT("prefetch"),
	TEXT("probe-interval"),
	TEXT("max-requests"),
	TEXT("max-sockets"),
	TEXT("attempt-timeout"),
	TEXT("mixed-case"),
	TEXT("ranges"),
	TEXT("resolv-conf"),
};

/* Questions of all clients together, until "max-requests" says otherwise. */
#define MAX_REQUESTS "16384"

int handle_init(struct handle *ret_handle)
{
	memset(ret_handle, 0, sizeof(*ret_handle));
	int ret = dnsblv6_new(&ret_handle->client);
	if (ret == 0)
		ret = dnsblv6_set(ret_handle->client, "max-requests", MAX_REQUESTS);
	return ret;
}

void handle_deinit(struct handle *handle)
{
	dnsblv6_free(handle->client);
	handle->client = NULL;
}

/* Of 'KEY "VALUE": REASON' the reason; the error has key and value of its own. */
static const char *cut_reason(const char *error)
{
	static const char border[] = "\": ";
	const char *found = strstr(error, border);
	return found != NULL ? found + strlen(border) : error;
}

const char *handle_set(struct handle *handle, const char *key, const char *value)
{
	if (dnsblv6_set(handle->client, key, value) == 0)
		return NULL;
	snprintf(handle->reason, sizeof(handle->reason), "%s",
		 cut_reason(dnsblv6_error(handle->client)));
	return handle->reason;
}

int handle_finish(const struct handle *handle, struct conf_error *reterr_error)
{
	int ret = client_try_options(handle->client);
	if (ret == 0)
		return 0;
	return conf_refuse(reterr_error, ret, "%s",
			   ret == -EINVAL ? dnsblv6_error(handle->client) : dnsblv6_strerror(ret));
}

/* Levels are those of syslog(3). */
void handle_log(void *context, int level, const char *line)
{
	static const enum log_level levels[] = { LOG_LEVEL_ERROR,   LOG_LEVEL_ERROR,
						 LOG_LEVEL_ERROR,   LOG_LEVEL_ERROR,
						 LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
						 LOG_LEVEL_INFO };
	bool is_known = level >= 0 && (size_t)level < sizeof(levels) / sizeof(levels[0]);
	log_line(is_known ? levels[level] : LOG_LEVEL_DEBUG, context, "%s", line);
}
