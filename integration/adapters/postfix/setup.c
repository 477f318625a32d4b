/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "lib/common/log.h"

#define CLIENTS_DEFAULT 4096
#define REQUESTS	"16384" /* of all clients together, until "max-requests" says otherwise */

enum { SECTION_POLICY, SECTION_DECISION, SECTION_LIBRARY, SECTION_COUNT };

enum {
	POLICY_LISTEN,
	POLICY_LINES,
	POLICY_USER,
	POLICY_SOCKET_GROUP,
	POLICY_SOCKET_MODE,
	POLICY_CLIENTS,
	POLICY_METRICS,
	POLICY_LOG_LEVEL,
	POLICY_COUNT
};

static const struct conf_item policy_items[] = {
	[POLICY_LISTEN] = { "listen", .type = CONF_TEXT, .max = SETUP_PLACE_MAX, .is_list = true },
	[POLICY_LINES] = { "lines", .type = CONF_TEXT, .max = SETUP_PLACE_MAX, .is_list = true },
	[POLICY_USER] = { "user", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[POLICY_SOCKET_GROUP] = { "socket-group", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[POLICY_SOCKET_MODE] = { "socket-mode", .type = CONF_TEXT, .max = 4 },
	[POLICY_CLIENTS] = { "clients", .type = CONF_NUMBER, .min = 1, .max = 65536 },
	[POLICY_METRICS] = { "metrics", .type = CONF_TEXT, .max = SETUP_PATH_MAX },
	[POLICY_LOG_LEVEL] = { "log-level", .type = CONF_CHOICE, .choices = conf_log_levels },
};

static const struct conf_section sections[] = {
	[SECTION_POLICY] = { "policy", policy_items, POLICY_COUNT, false },
	[SECTION_DECISION] = { "decision", judge_items, JUDGE_ITEMS, false },
	[SECTION_LIBRARY] = { "library", handle_items, HANDLE_ITEMS, false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

/* ---- section "policy" ---- */

static const char place_permitted[] =
	"permitted are an absolute path, and an address of loopback with @ and a port";

static void set_path(struct setup_place *place, const char *text)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&place->address;
	address->sun_family = AF_UNIX;
	snprintf(address->sun_path, sizeof(address->sun_path), "%s", text);
	place->address_size = sizeof(*address);
}

static const char *set_port(struct setup_place *place, const char *text)
{
	char host[SETUP_PLACE_MAX + 1];
	char *rest = NULL;
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&place->address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&place->address;
	const char *at = strchr(text, '@');
	if (at == NULL || at[1] < '1' || at[1] > '9')
		return place_permitted;
	unsigned long port = strtoul(at + 1, &rest, 10);
	if (*rest != '\0' || port > UINT16_MAX)
		return place_permitted;
	snprintf(host, sizeof(host), "%.*s", (int)(at - text), text);
	if (inet_pton(AF_INET, host, &ipv4->sin_addr) == 1 &&
	    ntohl(ipv4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons((uint16_t)port);
		place->address_size = sizeof(*ipv4);
		return NULL;
	}
	if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) == 1 &&
	    IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr)) {
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons((uint16_t)port);
		place->address_size = sizeof(*ipv6);
		return NULL;
	}
	return place_permitted;
}

static const char *take_place(struct setup *setup, const char *text, enum setup_protocol protocol)
{
	struct setup_place place = { .protocol = protocol };
	const char *reason = NULL;
	if (setup->place_count == SETUP_PLACES_MAX)
		return "there are 16 places at most";
	for (unsigned i = 0; i < setup->place_count; i++)
		if (strcmp(setup->places[i].text, text) == 0)
			return "place is given twice";
	snprintf(place.text, sizeof(place.text), "%s", text);
	if (text[0] == '/')
		set_path(&place, text);
	else
		reason = set_port(&place, text);
	if (reason == NULL)
		setup->places[setup->place_count++] = place;
	return reason;
}

static const char *take_policy(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case POLICY_LISTEN:
		return take_place(setup, value->text, SETUP_POLICY);
	case POLICY_LINES:
		return take_place(setup, value->text, SETUP_LINES);
	case POLICY_USER:
		return owner_take_user(&setup->owner, value->text);
	case POLICY_SOCKET_GROUP:
		return owner_take_group(&setup->owner, value->text);
	case POLICY_SOCKET_MODE:
		return owner_take_mode(&setup->owner, value->text);
	case POLICY_CLIENTS:
		setup->clients_max = (unsigned)value->number;
		return NULL;
	case POLICY_METRICS:
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
	case SECTION_POLICY:
		return take_policy(setup, value);
	case SECTION_DECISION:
		return judge_take(&setup->judge, value);
	default:
		return handle_take(&setup->handle, &handle_items[value->item], value->text);
	}
}

/* What a file must say, and what other files say. */
static int finish(struct setup *setup, struct conf_error *reterr_error)
{
	if (setup->handle.lists[HANDLE_ZONES][0] == '\0')
		return conf_refuse(reterr_error, -EINVAL, "no zone is given");
	if (setup->place_count == 0)
		take_place(setup, SETUP_LISTEN, SETUP_POLICY);
	return judge_finish(&setup->judge, reterr_error);
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	memset(ret_setup, 0, sizeof(*ret_setup));
	ret_setup->owner.socket_mode = 0660;
	ret_setup->clients_max = CLIENTS_DEFAULT;
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
