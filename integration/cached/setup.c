/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/cached/setup.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/common/log.h"

#define CLIENTS_DEFAULT 1024
#define REQUESTS	"16384" /* of all clients together, until "max-requests" says otherwise */
#define REASON_MAX	256
#define POSITION_MAX	256

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

static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };
static const char *const modes[] = { "auto", "bitmap", "classic", NULL };

static const struct conf_item cached_items[] = {
	[CACHED_DIRECTORY] = { "directory", .type = CONF_TEXT, .max = SETUP_DIRECTORY_MAX },
	[CACHED_USER] = { "user", .type = CONF_TEXT, .max = SETUP_USER_MAX },
	[CACHED_SOCKET_GROUP] = { "socket-group", .type = CONF_TEXT, .max = SETUP_USER_MAX },
	[CACHED_SOCKET_MODE] = { "socket-mode", .type = CONF_TEXT, .max = 4 },
	[CACHED_CLIENTS] = { "clients", .type = CONF_NUMBER, .min = 1, .max = 65536 },
	[CACHED_METRICS] = { "metrics", .type = CONF_TEXT, .max = SETUP_PATH_MAX },
	[CACHED_LOG_LEVEL] = { "log-level", .type = CONF_CHOICE, .choices = log_levels },
};

static const struct conf_item zone_items[] = {
	[ZONE_DOMAIN] = { "domain", .type = CONF_NAME },
	[ZONE_MODE] = { "mode", .type = CONF_CHOICE, .choices = modes },
};

#define LIBRARY_TEXT(key)                                                                          \
	{                                                                                          \
		key, .type = CONF_TEXT, .max = CONF_VALUE_MAX - 1                                  \
	}
#define LIBRARY_LIST(key)                                                                          \
	{                                                                                          \
		key, .type = CONF_TEXT, .max = CONF_VALUE_MAX - 1, .is_list = true                 \
	}

/* Every key of the library but those that "cached" and "zone" are about, or that are a client's. */
static const struct conf_item library_items[] = {
	LIBRARY_LIST("servers"),      LIBRARY_LIST("trusted"),
	LIBRARY_TEXT("cache-size"),   LIBRARY_TEXT("min-ttl"),
	LIBRARY_TEXT("max-ttl"),      LIBRARY_TEXT("max-negative-ttl"),
	LIBRARY_TEXT("failure-ttl"),  LIBRARY_TEXT("max-stale"),
	LIBRARY_TEXT("prefetch"),     LIBRARY_TEXT("probe-interval"),
	LIBRARY_TEXT("max-requests"), LIBRARY_TEXT("attempt-timeout"),
	LIBRARY_TEXT("mixed-case"),   LIBRARY_TEXT("ranges"),
	LIBRARY_TEXT("resolv-conf"),
};

enum { LIBRARY_SERVERS, LIBRARY_TRUSTED };

static const struct conf_section sections[] = {
	[SECTION_CACHED] = { "cached", cached_items, CACHED_COUNT, false },
	[SECTION_ZONE] = { "zone", zone_items, ZONE_COUNT, true },
	[SECTION_LIBRARY] = { "library", library_items,
			      sizeof(library_items) / sizeof(library_items[0]), false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

struct reading {
	struct setup *setup;
	char reason[REASON_MAX];
};

/* ---- section "cached" ---- */

static const char *take_path(const char *text, char *ret_path, size_t size)
{
	if (text[0] != '/')
		return "permitted is an absolute path";
	snprintf(ret_path, size, "%s", text);
	return NULL;
}

static const char *take_user(struct setup *setup, const char *text)
{
	const struct passwd *found = getpwnam(text);
	if (found == NULL)
		return "no such user";
	snprintf(setup->user, sizeof(setup->user), "%s", text);
	setup->uid = found->pw_uid;
	setup->gid = found->pw_gid;
	return NULL;
}

static const char *take_group(struct setup *setup, const char *text)
{
	const struct group *found = getgrnam(text);
	if (found == NULL)
		return "no such group";
	snprintf(setup->group, sizeof(setup->group), "%s", text);
	setup->socket_gid = found->gr_gid;
	return NULL;
}

static const char *take_cached(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case CACHED_DIRECTORY:
		return take_path(value->text, setup->directory, sizeof(setup->directory));
	case CACHED_USER:
		return take_user(setup, value->text);
	case CACHED_SOCKET_GROUP:
		return take_group(setup, value->text);
	case CACHED_SOCKET_MODE:
		return conf_parse_mode(value->text, &setup->socket_mode);
	case CACHED_CLIENTS:
		setup->clients_max = (unsigned)value->number;
		return NULL;
	case CACHED_METRICS:
		return take_path(value->text, setup->metrics, sizeof(setup->metrics));
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

/* ---- section "library" ---- */

/* Of 'KEY "VALUE": REASON' the reason; the error has key and value of its own. */
static const char *cut_reason(const char *error)
{
	static const char border[] = "\": ";
	const char *found = strstr(error, border);
	return found != NULL ? found + strlen(border) : error;
}

static const char *set(struct reading *reading, const char *key, const char *value)
{
	if (dnsblv6_set(reading->setup->client, key, value) == 0)
		return NULL;
	snprintf(reading->reason, sizeof(reading->reason), "%s",
		 cut_reason(dnsblv6_error(reading->setup->client)));
	return reading->reason;
}

static const char *add_to_list(struct reading *reading, const char *key, const char *text,
			       char *list)
{
	size_t size = strlen(list);
	int added = snprintf(list + size, SETUP_LIST_MAX - size, "%s%s", size > 0 ? " " : "", text);
	if (added < 0 || (size_t)added >= SETUP_LIST_MAX - size)
		return "the list is too long";
	return set(reading, key, list);
}

static const char *take_library(struct reading *reading, const struct conf_value *value)
{
	const char *key = library_items[value->item].name;
	if (value->item == LIBRARY_SERVERS)
		return add_to_list(reading, key, value->text, reading->setup->servers);
	if (value->item == LIBRARY_TRUSTED)
		return add_to_list(reading, key, value->text, reading->setup->trusted);
	return set(reading, key, value->text);
}

/* ---- the file ---- */

static const char *take_value(const struct conf_value *value, void *context)
{
	struct reading *reading = context;
	switch (value->section) {
	case SECTION_CACHED:
		return take_cached(reading->setup, value);
	case SECTION_ZONE:
		return take_zone(reading->setup, value);
	default:
		return take_library(reading, value);
	}
}

/* What is the library's to know, but is not in its section. */
static const char *finish(struct reading *reading)
{
	struct setup *setup = reading->setup;
	char names[SETUP_ZONES_MAX * (SETUP_ZONE_MAX + 1)] = "";
	size_t size = 0;
	if (setup->zone_count == 0)
		return "no zone is given";
	for (unsigned i = 0; i < setup->zone_count; i++)
		size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%s",
					 i > 0 ? " " : "", setup->zones[i].name);
	const char *reason = set(reading, "zones", names);
	for (unsigned i = 0; i < setup->zone_count && reason == NULL; i++) {
		const struct setup_zone *zone = &setup->zones[i];
		char mode[SETUP_ZONE_MAX + 16];
		snprintf(mode, sizeof(mode), "%s=%s", zone->name, zone->mode);
		if (zone->mode != NULL)
			reason = set(reading, "mode", mode);
	}
	if (reason == NULL)
		reason = set(reading, "shared", setup->directory);
	return reason != NULL ? reason : set(reading, "role", "writer");
}

static int refuse(struct conf_error *error, int ret, const char *reason)
{
	memset(error, 0, sizeof(*error));
	snprintf(error->reason, sizeof(error->reason), "%s", reason);
	return ret;
}

static int begin(struct reading *reading, struct setup *ret_setup, struct conf_error *error)
{
	memset(ret_setup, 0, sizeof(*ret_setup));
	snprintf(ret_setup->directory, sizeof(ret_setup->directory), "%s", SETUP_DIRECTORY);
	ret_setup->socket_mode = 0660;
	ret_setup->clients_max = CLIENTS_DEFAULT;
	ret_setup->log_level = LOG_LEVEL_INFO;
	reading->setup = ret_setup;
	int ret = dnsblv6_new(&ret_setup->client);
	if (ret == 0)
		ret = dnsblv6_set(ret_setup->client, "max-requests", REQUESTS);
	return ret == 0 ? 0 : refuse(error, ret, dnsblv6_strerror(ret));
}

static int end(struct reading *reading, int ret, struct conf_error *error)
{
	const char *reason = ret == 0 ? finish(reading) : NULL;
	if (reason != NULL)
		ret = refuse(error, -EINVAL, reason);
	if (ret != 0)
		setup_deinit(reading->setup);
	return ret;
}

int setup_read(const char *path, struct setup *ret_setup, struct conf_error *reterr_error)
{
	struct reading reading;
	int ret = begin(&reading, ret_setup, reterr_error);
	if (ret == 0)
		ret = conf_read(path, &table, take_value, &reading, reterr_error);
	return end(&reading, ret, reterr_error);
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	struct reading reading;
	int ret = begin(&reading, ret_setup, reterr_error);
	if (ret == 0)
		ret = conf_parse(text, text_size, &table, take_value, &reading, reterr_error);
	return end(&reading, ret, reterr_error);
}

void setup_deinit(struct setup *setup)
{
	dnsblv6_free(setup->client);
	setup->client = NULL;
}

void setup_log_error(const char *path, const struct conf_error *error)
{
	char position[POSITION_MAX];
	if (error->line > 0)
		snprintf(position, sizeof(position), "%s:%zu", path, error->line);
	else
		snprintf(position, sizeof(position), "%s", path);
	if (error->item[0] != '\0')
		log_error(position, "configuration refused, item=%s value=%s (%s)", error->item,
			  error->value, error->reason);
	else
		log_error(position, "configuration refused (%s)", error->reason);
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
