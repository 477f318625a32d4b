/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/cached/setup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/common/log.h"

#define CLIENTS_DEFAULT 1024
#define REQUESTS	"16384" /* of all clients together, until "max-requests" says otherwise */

enum { SECTION_CACHED, SECTION_ZONE, SECTION_LIBRARY, SECTION_COUNT };

enum {
	CACHED_DIRECTORY,
	CACHED_USER,
	CACHED_SOCKET_GROUP,
	CACHED_SOCKET_MODE,
	CACHED_CLIENTS,
	CACHED_METRICS,
	CACHED_LOG_LEVEL,
	CACHED_COUNT
};

enum { ZONE_DOMAIN, ZONE_MODE, ZONE_COUNT };

static const char *const modes[] = { "auto", "bitmap", "classic", NULL };

static const struct conf_item cached_items[] = {
	[CACHED_DIRECTORY] = { "directory", .type = CONF_TEXT, .max = SETUP_DIRECTORY_MAX },
	[CACHED_USER] = { "user", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[CACHED_SOCKET_GROUP] = { "socket-group", .type = CONF_TEXT, .max = OWNER_NAME_MAX },
	[CACHED_SOCKET_MODE] = { "socket-mode", .type = CONF_TEXT, .max = 4 },
	[CACHED_CLIENTS] = { "clients", .type = CONF_NUMBER, .min = 1, .max = 65536 },
	[CACHED_METRICS] = { "metrics", .type = CONF_TEXT, .max = SETUP_PATH_MAX },
	[CACHED_LOG_LEVEL] = { "log-level", .type = CONF_CHOICE, .choices = conf_log_levels },
};

static const struct conf_item zone_items[] = {
	[ZONE_DOMAIN] = { "domain", .type = CONF_NAME },
	[ZONE_MODE] = { "mode", .type = CONF_CHOICE, .choices = modes },
};

static const struct conf_section sections[] = {
	[SECTION_CACHED] = { "cached", cached_items, CACHED_COUNT, false },
	[SECTION_ZONE] = { "zone", zone_items, ZONE_COUNT, true },
	/* Zones are this program's own, and filters and weights its clients'. */
	[SECTION_LIBRARY] = { "library", handle_items + HANDLE_ASKING_ITEMS,
			      HANDLE_ITEMS - HANDLE_ASKING_ITEMS, false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

/* ---- section "cached" ---- */

static const char *take_cached(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case CACHED_DIRECTORY:
		return conf_parse_path(value->text, setup->directory, sizeof(setup->directory));
	case CACHED_USER:
		return owner_take_user(&setup->owner, value->text);
	case CACHED_SOCKET_GROUP:
		return owner_take_group(&setup->owner, value->text);
	case CACHED_SOCKET_MODE:
		return owner_take_mode(&setup->owner, value->text);
	case CACHED_CLIENTS:
		setup->clients_max = (unsigned)value->number;
		return NULL;
	case CACHED_METRICS:
		return conf_parse_path(value->text, setup->metrics, sizeof(setup->metrics));
	default:
		setup->log_level = (int)value->number;
		return NULL;
	}
}

/* ---- section "zone" ---- */

/* The library's spelling: that in which clients send it. */
static const char *take_domain(struct setup *setup, const char *text)
{
	size_t size = strlen(text);
	if (size > 1 && text[size - 1] == '.')
		size--;
	if (setup->zone_count == SETUP_ZONES_MAX)
		return "there are 64 zones at most";
	/* Of the library's own syntax for entries of "zones". */
	if (size > SETUP_ZONE_MAX || strpbrk(text, "=*[], \t\\") != NULL)
		return "permitted is the name of a zone alone; filters and weights are its "
		       "clients' business";
	struct setup_zone *zone = &setup->zones[setup->zone_count];
	for (size_t i = 0; i < size; i++)
		zone->name[i] = (char)tolower((unsigned char)text[i]);
	zone->name[size] = '\0';
	zone->name_size = size;
	zone->mode = NULL;
	if (setup_find_zone(setup, zone->name, size) >= 0)
		return "zone is given twice";
	setup->zone_count++;
	return NULL;
}

static const char *take_zone(struct setup *setup, const struct conf_value *value)
{
	if (value->item == ZONE_DOMAIN)
		return take_domain(setup, value->text);
	setup->zones[setup->zone_count - 1].mode = modes[value->number];
	return NULL;
}

/* ---- the file ---- */

static const char *take_value(const struct conf_value *value, void *context)
{
	struct setup *setup = context;
	switch (value->section) {
	case SECTION_CACHED:
		return take_cached(setup, value);
	case SECTION_ZONE:
		return take_zone(setup, value);
	default:
		return handle_take(&setup->handle, &handle_items[HANDLE_ASKING_ITEMS + value->item],
				   value->text);
	}
}

/* What is the library's to know, but is not in its section. */
static const char *finish(struct setup *setup)
{
	char names[SETUP_ZONES_MAX * (SETUP_ZONE_MAX + 1)] = "";
	size_t size = 0;
	if (setup->zone_count == 0)
		return "no zone is given";
	for (unsigned i = 0; i < setup->zone_count; i++)
		size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%s",
					 i > 0 ? " " : "", setup->zones[i].name);
	const char *reason = handle_set(&setup->handle, "zones", names);
	for (unsigned i = 0; i < setup->zone_count && reason == NULL; i++) {
		const struct setup_zone *zone = &setup->zones[i];
		char mode[SETUP_ZONE_MAX + 16];
		snprintf(mode, sizeof(mode), "%s=%s", zone->name, zone->mode);
		if (zone->mode != NULL)
			reason = handle_set(&setup->handle, "mode", mode);
	}
	if (reason == NULL)
		reason = handle_set(&setup->handle, "shared", setup->directory);
	if (reason == NULL)
		reason = handle_set(&setup->handle, "scope",
				    "all"); /* clients have one of their own */
	return reason != NULL ? reason : handle_set(&setup->handle, "role", "writer");
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	memset(ret_setup, 0, sizeof(*ret_setup));
	snprintf(ret_setup->directory, sizeof(ret_setup->directory), "%s", SETUP_DIRECTORY);
	ret_setup->owner.socket_mode = 0660;
	ret_setup->clients_max = CLIENTS_DEFAULT;
	ret_setup->log_level = LOG_LEVEL_INFO;
	int ret = handle_init(&ret_setup->handle, REQUESTS);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", dnsblv6_strerror(ret));
	ret = conf_parse(text, text_size, &table, take_value, ret_setup, reterr_error);
	if (ret != 0)
		return ret;
	const char *reason = finish(ret_setup);
	return reason == NULL ? 0 : conf_refuse(reterr_error, -EINVAL, "%s", reason);
}

void setup_deinit(struct setup *setup)
{
	handle_deinit(&setup->handle);
}

int setup_find_zone(const struct setup *setup, const char *name, size_t name_size)
{
	for (unsigned i = 0; i < setup->zone_count; i++) {
		const struct setup_zone *zone = &setup->zones[i];
		if (zone->name_size == name_size && strncasecmp(zone->name, name, name_size) == 0)
			return (int)i;
	}
	return -ENOENT;
}
