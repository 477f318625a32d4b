/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/format/name.h"

/* ---- the table ---- */

enum { SECTION_SERVER, SECTION_ZONE };

enum {
	SERVER_LISTEN,
	SERVER_USER,
	SERVER_WORKERS,
	SERVER_TCP_MAX_CLIENTS,
	SERVER_TCP_IDLE_TIMEOUT,
	SERVER_UDP_MAX_PAYLOAD,
	SERVER_LOG_LEVEL,
	SERVER_DRAIN_TIMEOUT,
};

enum { ZONE_DOMAIN, ZONE_STORE, ZONE_CLASSIC };

/* In the order of enum log_level. */
static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };

static const struct conf_item server_items[] = {
	[SERVER_LISTEN] = { "listen", CONF_ADDRESS, .default_port = 53, .is_list = true },
	[SERVER_USER] = { "user", CONF_TEXT, .max = SETTINGS_USER_MAX },
	[SERVER_WORKERS] = { "workers", CONF_NUMBER, .min = 0, .max = SETTINGS_WORKERS_MAX },
	[SERVER_TCP_MAX_CLIENTS] = { "tcp-max-clients", CONF_NUMBER, .min = 1, .max = 10000 },
	[SERVER_TCP_IDLE_TIMEOUT] = { "tcp-idle-timeout", CONF_TIME, .min = 1, .max = 3600 },
	/* 512 is the least that RFC 6891 section 6.2.5 knows. */
	[SERVER_UDP_MAX_PAYLOAD] = { "udp-max-payload", CONF_NUMBER, .min = 512,
				     .max = SETTINGS_PAYLOAD_MAX },
	[SERVER_LOG_LEVEL] = { "log-level", CONF_CHOICE, .choices = log_levels },
	[SERVER_DRAIN_TIMEOUT] = { "drain-timeout", CONF_TIME, .min = 0, .max = 3600 },
};

static const struct conf_item zone_items[] = {
	[ZONE_DOMAIN] = { "domain", CONF_NAME, .max = SETTINGS_NAME_MAX },
	[ZONE_STORE] = { "store", CONF_TEXT, .max = PATH_MAX - 1 },
	[ZONE_CLASSIC] = { "classic", CONF_NAME, .max = SETTINGS_NAME_MAX },
};

static const struct conf_section sections[] = {
	[SECTION_SERVER] = { "server", server_items, sizeof(server_items) / sizeof(server_items[0]),
			     .has_entries = false },
	[SECTION_ZONE] = { "zone", zone_items, sizeof(zone_items) / sizeof(zone_items[0]),
			   .has_entries = true },
};

static const struct conf_table table = { sections, sizeof(sections) / sizeof(sections[0]) };

/* ---- life ---- */

static void set_default_listen(struct settings *settings)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&settings->listen[0];
	four->sin_family = AF_INET;
	four->sin_port = htons(53);
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&settings->listen[1];
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(53);
	six->sin6_addr = in6addr_loopback;
	settings->listen_count = 2;
}

void settings_init(struct settings *settings)
{
	*settings = (struct settings){
		.workers = 1,
		.tcp_max_clients = 200,
		.tcp_idle_timeout_s = 10,
		.udp_max_payload = 1232, /* DNS flag day 2020: fits every path unfragmented */
		.drain_timeout_s = 5,
		.log_level = LOG_LEVEL_INFO,
	};
	set_default_listen(settings);
}

static void zone_deinit(struct settings_zone *zone)
{
	free(zone->domain.text);
	free(zone->classic.text);
	free(zone->store);
}

void settings_deinit(struct settings *settings)
{
	for (size_t i = 0; i < settings->zone_count; i++)
		zone_deinit(&settings->zones[i]);
	free(settings->zones);
	settings->zones = NULL;
	settings->zone_count = 0;
}

/* ---- taking values ---- */

struct taking {
	struct settings *settings;
	const char *directory;
	bool has_listen; /* the first address of the file replaces the defaults */
};

static const char no_memory[] = "out of memory";

static const char *take_listen(struct taking *taking, const struct sockaddr_storage *address)
{
	struct settings *settings = taking->settings;
	if (!taking->has_listen)
		settings->listen_count = 0;
	taking->has_listen = true;
	if (settings->listen_count == SETTINGS_LISTEN_MAX)
		return "permitted are at most 64 addresses";
	settings->listen[settings->listen_count++] = *address;
	return NULL;
}

/* "user" or "user:group"; the group of the user when none is named. */
static const char *take_user(struct settings *settings, const char *text)
{
	char user[SETTINGS_USER_MAX + 1];
	snprintf(user, sizeof(user), "%s", text);
	char *group = strchr(user, ':');
	if (group != NULL)
		*group++ = '\0';

	const struct passwd *passwd = getpwnam(user);
	if (passwd == NULL)
		return "no such user";
	settings->uid = passwd->pw_uid;
	settings->gid = passwd->pw_gid;
	if (group != NULL) {
		const struct group *found = getgrnam(group);
		if (found == NULL)
			return "no such group";
		settings->gid = found->gr_gid;
	}
	snprintf(settings->user, sizeof(settings->user), "%s", text);
	return NULL;
}

static unsigned count_workers(int64_t number)
{
	if (number > 0)
		return (unsigned)number;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (cores < 1)
		return 1;
	return cores > SETTINGS_WORKERS_MAX ? SETTINGS_WORKERS_MAX : (unsigned)cores;
}

static const char *take_server(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	switch (value->item) {
	case SERVER_LISTEN:
		return take_listen(taking, &value->address);
	case SERVER_USER:
		return take_user(settings, value->text);
	case SERVER_WORKERS:
		settings->workers = count_workers(value->number);
		break;
	case SERVER_TCP_MAX_CLIENTS:
		settings->tcp_max_clients = (unsigned)value->number;
		break;
	case SERVER_TCP_IDLE_TIMEOUT:
		settings->tcp_idle_timeout_s = (unsigned)value->number;
		break;
	case SERVER_UDP_MAX_PAYLOAD:
		settings->udp_max_payload = (unsigned)value->number;
		break;
	case SERVER_LOG_LEVEL:
		settings->log_level = (int)value->number;
		break;
	case SERVER_DRAIN_TIMEOUT:
		settings->drain_timeout_s = (unsigned)value->number;
		break;
	}
	return NULL;
}

static bool has_name(const struct settings_name *have, const struct conf_value *value)
{
	return have->size == value->name_size && memcmp(have->wire, value->name, have->size) == 0;
}

static const char *take_name(struct settings *settings, struct settings_name *name,
			     const struct conf_value *value)
{
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		if (has_name(&zone->domain, value) || has_name(&zone->classic, value))
			return "another zone has this name";
	}
	if (value->name_size > sizeof(name->wire))
		return "not a domain name";

	char text[DNSBLV6_NAME_TEXT_SIZE + 1] = ".";
	size_t size = 0;
	if (value->name_size > 1) {
		size = dnsblv6_name_format(value->name, value->name_size - 1, text);
		memcpy(text + size, ".", 2);
	}
	name->text = strdup(text);
	if (name->text == NULL)
		return no_memory;
	memcpy(name->wire, value->name, value->name_size);
	name->size = value->name_size;
	return NULL;
}

static const char *take_store(struct taking *taking, struct settings_zone *zone, const char *path)
{
	char absolute[PATH_MAX];
	int size = path[0] == '/'
			   ? snprintf(absolute, sizeof(absolute), "%s", path)
			   : snprintf(absolute, sizeof(absolute), "%s/%s", taking->directory, path);
	if (size < 0 || (size_t)size >= sizeof(absolute))
		return "path is too long";
	/* LMDB: never the same file twice in one process. */
	for (size_t i = 0; i < taking->settings->zone_count; i++) {
		const char *other = taking->settings->zones[i].store;
		if (other != NULL && strcmp(other, absolute) == 0)
			return "another zone has this store";
	}
	zone->store = strdup(absolute);
	return zone->store != NULL ? NULL : no_memory;
}

static const char *take_zone(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	if (value->item == ZONE_DOMAIN) {
		struct settings_zone *zones =
			reallocarray(settings->zones, settings->zone_count + 1, sizeof(*zones));
		if (zones == NULL)
			return no_memory;
		settings->zones = zones;
		struct settings_zone *zone = &zones[settings->zone_count];
		*zone = (struct settings_zone){ .line = value->line };
		const char *reason = take_name(settings, &zone->domain, value);
		if (reason == NULL)
			settings->zone_count++;
		return reason;
	}
	struct settings_zone *zone = &settings->zones[settings->zone_count - 1];
	if (value->item == ZONE_STORE)
		return take_store(taking, zone, value->text);
	return take_name(settings, &zone->classic, value);
}

static const char *take(const struct conf_value *value, void *context)
{
	struct taking *taking = context;
	if (value->section == SECTION_SERVER)
		return take_server(taking, value);
	return take_zone(taking, value);
}

/* ---- reading ---- */

/* What can only be seen when everything has been read. */
static int check_whole(const struct settings *settings, struct conf_error *error)
{
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		if (zone->store != NULL)
			continue;
		memset(error, 0, sizeof(*error));
		error->line = zone->line;
		snprintf(error->item, sizeof(error->item), "domain");
		log_quote(zone->domain.text, strlen(zone->domain.text), error->value);
		snprintf(error->reason, sizeof(error->reason), "this zone has no store");
		return -EINVAL;
	}
	return 0;
}

/* So that a path still means the same after a chdir or in a log line. */
static int find_directory(const char *path, char *ret_directory)
{
	char copy[PATH_MAX];
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	return realpath(dirname(copy), ret_directory) != NULL ? 0 : -errno;
}

int settings_parse(struct settings *settings, const char *text, size_t text_size,
		   const char *directory, struct conf_error *reterr_error)
{
	struct taking taking = { .settings = settings, .directory = directory };
	settings_init(settings);
	int ret = conf_parse(text, text_size, &table, take, &taking, reterr_error);
	return ret != 0 ? ret : check_whole(settings, reterr_error);
}

int settings_read(struct settings *settings, const char *path, struct conf_error *reterr_error)
{
	char directory[PATH_MAX];
	struct taking taking = { .settings = settings, .directory = directory };
	settings_init(settings);
	int ret = find_directory(path, directory);
	if (ret != 0) {
		memset(reterr_error, 0, sizeof(*reterr_error));
		snprintf(reterr_error->reason, sizeof(reterr_error->reason), "%s", strerror(-ret));
		return ret;
	}
	ret = conf_read(path, &table, take, &taking, reterr_error);
	return ret != 0 ? ret : check_whole(settings, reterr_error);
}

void settings_log_error(const char *path, const struct conf_error *error)
{
	if (error->line == 0) {
		log_error(path, "configuration not read (%s)", error->reason);
		return;
	}
	char position[PATH_MAX + 32];
	snprintf(position, sizeof(position), "%s:%zu", path, error->line);
	if (error->item[0] == '\0')
		log_error(position, "configuration refused, text=%s (%s)", error->value,
			  error->reason);
	else
		log_error(position, "configuration refused, item=%s value=%s (%s)", error->item,
			  error->value, error->reason);
}

/* ---- comparing, printing ---- */

const char *settings_find_restart_item(const struct settings *old_settings,
				       const struct settings *new_settings)
{
	if (old_settings->listen_count != new_settings->listen_count ||
	    memcmp(old_settings->listen, new_settings->listen,
		   old_settings->listen_count * sizeof(old_settings->listen[0])) != 0)
		return "listen";
	if (strcmp(old_settings->user, new_settings->user) != 0)
		return "user";
	if (old_settings->workers != new_settings->workers)
		return "workers";
	return NULL;
}

uint16_t settings_format_address(const struct sockaddr_storage *address, char *ret_text)
{
	if (address->ss_family == AF_INET) {
		const struct sockaddr_in *four = (const struct sockaddr_in *)address;
		inet_ntop(AF_INET, &four->sin_addr, ret_text, SETTINGS_TEXT_MAX);
		return ntohs(four->sin_port);
	}
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	inet_ntop(AF_INET6, &six->sin6_addr, ret_text, SETTINGS_TEXT_MAX);
	return ntohs(six->sin6_port);
}
