/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/common/log.h"

#define REQUESTS	"16384" /* of all connections together, until "max-requests" says otherwise */
#define PORT_DIGITS_MAX 5

enum { SECTION_MILTER, SECTION_DECISION, SECTION_LIBRARY, SECTION_COUNT };

enum {
	MILTER_SOCKET,
	MILTER_USER,
	MILTER_SOCKET_GROUP,
	MILTER_SOCKET_MODE,
	MILTER_QUARANTINE,
	MILTER_METRICS,
	MILTER_LOG_LEVEL,
	MILTER_COUNT
};

static const char *const no_yes[] = { "no", "yes", NULL };

static const struct conf_item milter_items[] = {
	[MILTER_SOCKET] = { "socket", .type = CONF_TEXT, .max = SETUP_SOCKET_MAX },
	[MILTER_USER] = { "user", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[MILTER_SOCKET_GROUP] = { "socket-group", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[MILTER_SOCKET_MODE] = { "socket-mode", .type = CONF_TEXT, .max = 4 },
	[MILTER_QUARANTINE] = { "quarantine", .type = CONF_CHOICE, .choices = no_yes },
	[MILTER_METRICS] = { "metrics", .type = CONF_TEXT, .max = SETUP_PATH_MAX },
	[MILTER_LOG_LEVEL] = { "log-level", .type = CONF_CHOICE, .choices = conf_log_levels },
};

static const struct conf_section sections[] = {
	[SECTION_MILTER] = { "milter", milter_items, MILTER_COUNT, false },
	[SECTION_DECISION] = { "decision", judge_items, JUDGE_ITEMS, false },
	[SECTION_LIBRARY] = { "library", handle_items, HANDLE_ITEMS, false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

/* ---- section "milter" ---- */

static const char *const socket_is =
	"permitted are an absolute path and ADDRESS@PORT, such as 127.0.0.1@8891";

/* A port, from 1: libmilter would look for anything else in /etc/services. */
static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > PORT_DIGITS_MAX || text[digits] != '\0' || text[0] == '0')
		return false;
	unsigned port = 0;
	for (const char *c = text; *c != '\0'; c++)
		port = port * 10 + (unsigned)(*c - '0');
	return port <= UINT16_MAX;
}

static const char *take_address(struct setup *setup, const char *text)
{
	char host[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];
	const char *at = strchr(text, '@');
	if (at == NULL || (size_t)(at - text) >= sizeof(host) || !is_port(at + 1))
		return socket_is;
	snprintf(host, sizeof(host), "%.*s", (int)(at - text), text);
	const char *family = inet_pton(AF_INET, host, bytes) == 1    ? "inet"
			     : inet_pton(AF_INET6, host, bytes) == 1 ? "inet6"
								     : NULL;
	if (family == NULL)
		return socket_is;
	setup->path[0] = '\0';
	snprintf(setup->connection, sizeof(setup->connection), "%s:%s@%s", family, at + 1, host);
	return NULL;
}

static const char *take_socket(struct setup *setup, const char *text)
{
	if (text[0] != '/')
		return take_address(setup, text);
	snprintf(setup->path, sizeof(setup->path), "%s", text);
	snprintf(setup->connection, sizeof(setup->connection), "local:%s", text);
	return NULL;
}

static const char *take_milter(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case MILTER_SOCKET:
		return take_socket(setup, value->text);
	case MILTER_USER:
		return owner_take_user(&setup->owner, value->text);
	case MILTER_SOCKET_GROUP:
		return owner_take_group(&setup->owner, value->text);
	case MILTER_SOCKET_MODE:
		return owner_take_mode(&setup->owner, value->text);
	case MILTER_QUARANTINE:
		setup->is_quarantine = value->number != 0;
		return NULL;
	case MILTER_METRICS:
		return conf_parse_path(value->text, setup->metrics, sizeof(setup->metrics));
	default:
		setup->log_level = (int)value->number;
		return NULL;
	}
}

/* ---- the file ---- */

static const char *take_value(const struct conf_value *value, void *context)
{
	struct setup *setup = context;
	switch (value->section) {
	case SECTION_MILTER:
		return take_milter(setup, value);
	case SECTION_DECISION:
		return judge_take(&setup->judge, value);
	default:
		return handle_take(&setup->handle, &handle_items[value->item], value->text);
	}
}

static int finish(struct setup *setup, struct conf_error *reterr_error)
{
	if (setup->handle.lists[HANDLE_ZONES][0] == '\0')
		return conf_refuse(reterr_error, -EINVAL, "no zone is given");
	if (setup->is_quarantine && setup->judge.action != JUDGE_REJECT)
		return conf_refuse(reterr_error, -EINVAL,
				   "quarantine is for \"action: reject\" alone");
	return judge_finish(&setup->judge, reterr_error);
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	memset(ret_setup, 0, sizeof(*ret_setup));
	take_socket(ret_setup, SETUP_SOCKET);
	ret_setup->owner.socket_mode = 0660;
	ret_setup->log_level = LOG_LEVEL_INFO;
	int ret = handle_init(&ret_setup->handle, REQUESTS);
	if (ret == 0)
		ret = judge_init(&ret_setup->judge, ret_setup->handle.client);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", dnsblv6_strerror(ret));
	ret = conf_parse(text, text_size, &table, take_value, ret_setup, reterr_error);
	return ret == 0 ? finish(ret_setup, reterr_error) : ret;
}

void setup_deinit(struct setup *setup)
{
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}
