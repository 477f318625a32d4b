/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/dns-translator/setup.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/common/log.h"
#include "lib/format/name.h"

#define PORT_DEFAULT	    5300
#define TCP_CLIENTS_DEFAULT 200
#define TCP_IDLE_DEFAULT_S  10
#define TIMEOUT_DEFAULT_S   3
#define TTL_MAX_DEFAULT_S   3600
#define REQUESTS	    "16384" /* until "max-requests" says otherwise */

enum { SECTION_TRANSLATE, SECTION_ZONE, SECTION_LIBRARY, SECTION_COUNT };

enum {
	TRANSLATE_LISTEN,
	TRANSLATE_USER,
	TRANSLATE_WORKERS,
	TRANSLATE_TCP_CLIENTS,
	TRANSLATE_TCP_IDLE,
	TRANSLATE_TIMEOUT,
	TRANSLATE_TTL_MAX,
	TRANSLATE_NAME_SERVER,
	TRANSLATE_METRICS,
	TRANSLATE_LOG_LEVEL,
	TRANSLATE_COUNT
};

enum { ZONE_DOMAIN, ZONE_LISTS, ZONE_TEXT, ZONE_ON_FAILURE, ZONE_COUNT };

static const char *const failures[] = { "servfail", "nxdomain", NULL };

static const struct conf_item translate_items[] = {
	[TRANSLATE_LISTEN] = { "listen", .type = CONF_ADDRESS, .default_port = PORT_DEFAULT,
			       .is_list = true },
	[TRANSLATE_USER] = { "user", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[TRANSLATE_WORKERS] = { "workers", .type = CONF_NUMBER, .min = 1,
				.max = SETUP_WORKERS_MAX },
	[TRANSLATE_TCP_CLIENTS] = { "tcp-max-clients", .type = CONF_NUMBER, .min = 1,
				    .max = 65536 },
	[TRANSLATE_TCP_IDLE] = { "tcp-idle-timeout", .type = CONF_TIME, .min = 1, .max = 3600 },
	[TRANSLATE_TIMEOUT] = { "timeout", .type = CONF_TIME, .min = 1, .max = 60 },
	[TRANSLATE_TTL_MAX] = { "max-ttl", .type = CONF_TIME, .min = 0, .max = 86400 },
	[TRANSLATE_NAME_SERVER] = { "name-server", .type = CONF_NAME },
	[TRANSLATE_METRICS] = { "metrics", .type = CONF_TEXT, .max = SETUP_PATH_MAX },
	[TRANSLATE_LOG_LEVEL] = { "log-level", .type = CONF_CHOICE, .choices = conf_log_levels },
};

static const struct conf_item zone_items[] = {
	[ZONE_DOMAIN] = { "domain", .type = CONF_NAME },
	[ZONE_LISTS] = { "lists", .type = CONF_TEXT, .max = SETUP_ENTRY_MAX, .is_list = true },
	[ZONE_TEXT] = { "text", .type = CONF_TEXT, .max = SETUP_TEXT_MAX },
	[ZONE_ON_FAILURE] = { "on-failure", .type = CONF_CHOICE, .choices = failures },
};

static const struct conf_section sections[] = {
	[SECTION_TRANSLATE] = { "translate", translate_items, TRANSLATE_COUNT, false },
	[SECTION_ZONE] = { "zone", zone_items, ZONE_COUNT, true },
	/* What is asked stands in the zones, and there is no verdict. */
	[SECTION_LIBRARY] = { "library", handle_items + HANDLE_VERDICT_ITEMS,
			      HANDLE_ITEMS - HANDLE_VERDICT_ITEMS, false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

/* ---- section "translate" ---- */

static const char *take_listen(struct setup *setup, const struct conf_value *value)
{
	if (setup->listen.count == LISTENER_ADDRESS_MAX)
		return "there are 64 addresses at most";
	setup->listen.all[setup->listen.count++] = value->address;
	return NULL;
}

static void take_name(const struct conf_value *value, struct setup_name *ret_name)
{
	ret_name->size = value->name_size;
	ret_name->label_count = 1;
	memcpy(ret_name->wire, value->name, value->name_size);
	for (const uint8_t *at = value->name; *at != 0; at += 1 + *at)
		ret_name->label_count++;
}

static const char *take_translate(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case TRANSLATE_LISTEN:
		return take_listen(setup, value);
	case TRANSLATE_USER:
		return owner_take_user(&setup->owner, value->text);
	case TRANSLATE_WORKERS:
		setup->workers = (unsigned)value->number;
		return NULL;
	case TRANSLATE_TCP_CLIENTS:
		setup->tcp_clients_max = (unsigned)value->number;
		return NULL;
	case TRANSLATE_TCP_IDLE:
		setup->tcp_idle_timeout_s = (unsigned)value->number;
		return NULL;
	case TRANSLATE_TIMEOUT:
		setup->timeout_ms = (unsigned)value->number * 1000;
		return NULL;
	case TRANSLATE_TTL_MAX:
		setup->ttl_max_s = (uint32_t)value->number;
		return NULL;
	case TRANSLATE_NAME_SERVER:
		take_name(value, &setup->name_server);
		return NULL;
	case TRANSLATE_METRICS:
		return conf_parse_path(value->text, setup->metrics, sizeof(setup->metrics));
	default:
		setup->log_level = (int)value->number;
		return NULL;
	}
}

/* ---- section "zone" ---- */

static const char *take_domain(struct setup *setup, const struct conf_value *value)
{
	if (setup->zone_count == SETUP_ZONES_MAX)
		return "there are 64 zones at most";
	if (value->name_size == 1)
		return "the root is no zone of lists";
	struct setup_zone *zone = &setup->zones[setup->zone_count];
	memset(zone, 0, sizeof(*zone));
	take_name(value, &zone->name);
	for (unsigned i = 0; i < setup->zone_count; i++) {
		const struct setup_name *other = &setup->zones[i].name;
		if (other->size == zone->name.size &&
		    memcmp(other->wire, zone->name.wire, other->size) == 0)
			return "zone is given twice";
	}
	setup->zone_count++;
	return NULL;
}

/* All entries as the library takes them; it says what is wrong with the last. */
static const char *set_entries(struct setup *setup)
{
	char text[SETUP_ENTRIES_MAX * (SETUP_ENTRY_MAX + 1)] = "";
	size_t size = 0;
	for (unsigned i = 0; i < setup->entry_count; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i > 0 ? " " : "",
					 setup->entries[i]);
	return handle_set(&setup->handle, "zones", text);
}

/* Index of the entry with that text, which is a new one if need be. */
static const char *find_entry(struct setup *setup, const char *text, size_t size,
			      unsigned *ret_entry)
{
	for (unsigned i = 0; i < setup->entry_count; i++) {
		if (strlen(setup->entries[i]) == size &&
		    strncasecmp(setup->entries[i], text, size) == 0) {
			*ret_entry = i;
			return NULL;
		}
	}
	if (setup->entry_count == SETUP_ENTRIES_MAX)
		return "there are 64 lists at most";
	*ret_entry = setup->entry_count++;
	snprintf(setup->entries[*ret_entry], sizeof(setup->entries[0]), "%.*s", (int)size, text);
	return set_entries(setup);
}

/* 127.0.0.2 unless something else is behind the colon. */
static const char *take_code(const char *colon, uint8_t *ret_code)
{
	static const uint8_t usual[4] = { 127, 0, 0, 2 };
	memcpy(ret_code, usual, sizeof(usual));
	if (colon == NULL)
		return NULL;
	if (inet_pton(AF_INET, colon + 1, ret_code) != 1 || ret_code[0] != 127)
		return "permitted behind the colon is an address in 127.0.0.0/8";
	if (ret_code[1] == 255 && ret_code[2] == 255)
		return "127.255.255.0/24 says that something is wrong with the list";
	return NULL;
}

static const char *take_list(struct setup *setup, const char *text)
{
	struct setup_zone *zone = &setup->zones[setup->zone_count - 1];
	/* Weights are the business of the client that asks. */
	if (strpbrk(text, "* \t,") != NULL || text[0] == ':')
		return "permitted is NAME[=FILTER][:CODE], without a weight";
	if (zone->listing_count == SETUP_LISTINGS_MAX)
		return "a zone has 64 lists at most";
	struct setup_listing *listing = &zone->listings[zone->listing_count];
	const char *colon = strchr(text, ':');
	const char *reason = take_code(colon, listing->code);
	if (reason == NULL)
		reason = find_entry(setup, text,
				    colon != NULL ? (size_t)(colon - text) : strlen(text),
				    &listing->entry);
	if (reason != NULL)
		return reason;
	zone->listing_count++;
	zone->entries |= UINT64_C(1) << listing->entry;
	return NULL;
}

static const char *take_text(struct setup_zone *zone, const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			return "permitted is printable ASCII";
	}
	snprintf(zone->text, sizeof(zone->text), "%s", text);
	return NULL;
}

static const char *take_zone(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case ZONE_DOMAIN:
		return take_domain(setup, value);
	case ZONE_LISTS:
		return take_list(setup, value->text);
	case ZONE_TEXT:
		return take_text(&setup->zones[setup->zone_count - 1], value->text);
	default:
		setup->zones[setup->zone_count - 1].has_nxdomain = value->number == 1;
		return NULL;
	}
}

/* ---- the file ---- */

static const char *take_value(const struct conf_value *value, void *context)
{
	struct setup *setup = context;
	switch (value->section) {
	case SECTION_TRANSLATE:
		return take_translate(setup, value);
	case SECTION_ZONE:
		return take_zone(setup, value);
	default:
		return handle_take(&setup->handle,
				   &handle_items[HANDLE_VERDICT_ITEMS + value->item], value->text);
	}
}

static bool is_below(const struct dnsblv6_labels *name, const struct setup_name *apex)
{
	size_t size = apex->size - 1; /* labels have no root */
	size_t at = 0;
	while (at + size < name->size)
		at += 1 + (size_t)name->wire[at];
	return at + size == name->size && memcmp(name->wire + at, apex->wire, size) == 0;
}

/* A list inside a zone of ours would be asked of ourselves, again and again. */
static bool asks_itself(const struct setup *setup, const char *entry)
{
	char text[SETUP_ENTRY_MAX + 1];
	struct dnsblv6_labels name;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(entry, "="), entry);
	for (char *at = text; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	size_t size = strlen(text);
	if (size > 0 && text[size - 1] == '.')
		text[size - 1] = '\0';
	/* The library has taken it. */
	if (dnsblv6_name_from_text(text, &name) != 0)
		return false;
	for (unsigned i = 0; i < setup->zone_count; i++) {
		if (is_below(&name, &setup->zones[i].name))
			return true;
	}
	return false;
}

/* What no line shows alone. */
static int finish(struct setup *setup, struct conf_error *reterr_error)
{
	if (setup->zone_count == 0)
		return conf_refuse(reterr_error, -EINVAL, "no zone is given");
	for (unsigned i = 0; i < setup->zone_count; i++) {
		if (setup->zones[i].listing_count == 0)
			return conf_refuse(reterr_error, -EINVAL, "a zone has no lists");
	}
	for (unsigned i = 0; i < setup->entry_count; i++) {
		if (!asks_itself(setup, setup->entries[i]))
			continue;
		conf_refuse(reterr_error, -EINVAL,
			    "the list is inside a zone that is answered from lists");
		snprintf(reterr_error->item, sizeof(reterr_error->item), "lists");
		char quoted[LOG_QUOTE_MAX];
		snprintf(reterr_error->value, sizeof(reterr_error->value), "%.*s",
			 CONF_VALUE_MAX - 1,
			 log_quote(setup->entries[i], strlen(setup->entries[i]), quoted));
		return -EINVAL;
	}
	if (setup->tcp_idle_timeout_s * 1000 <= setup->timeout_ms)
		return conf_refuse(
			reterr_error, -EINVAL,
			"tcp-idle-timeout must be longer than timeout, or a client would be "
			"closed before its answer");
	if (setup->listen.count == 0) {
		struct sockaddr_in loopback = { .sin_family = AF_INET,
						.sin_port = htons(PORT_DEFAULT),
						.sin_addr = { htonl(INADDR_LOOPBACK) } };
		memcpy(&setup->listen.all[setup->listen.count++], &loopback, sizeof(loopback));
	}
	return 0;
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	static const struct setup_name localhost = { "\11localhost", 11, 2 };
	memset(ret_setup, 0, sizeof(*ret_setup));
	ret_setup->workers = 1;
	ret_setup->tcp_clients_max = TCP_CLIENTS_DEFAULT;
	ret_setup->tcp_idle_timeout_s = TCP_IDLE_DEFAULT_S;
	ret_setup->timeout_ms = TIMEOUT_DEFAULT_S * 1000;
	ret_setup->ttl_max_s = TTL_MAX_DEFAULT_S;
	ret_setup->name_server = localhost;
	ret_setup->log_level = LOG_LEVEL_INFO;
	int ret = handle_init(&ret_setup->handle, REQUESTS);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", dnsblv6_strerror(ret));
	/* A question is answered as the list does, whatever it is about. */
	const char *reason = handle_set(&ret_setup->handle, "scope", "all");
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	ret = conf_parse(text, text_size, &table, take_value, ret_setup, reterr_error);
	return ret == 0 ? finish(ret_setup, reterr_error) : ret;
}

void setup_deinit(struct setup *setup)
{
	handle_deinit(&setup->handle);
}
