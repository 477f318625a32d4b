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
#include <sys/stat.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/format/name.h"
#include "server/ratelimit.h"
#include "server/talkers.h"

#define POSITION_MAX (PATH_MAX + 32)

/* ---- the table ---- */

enum { SECTION_SERVER, SECTION_KEY, SECTION_SECONDARY, SECTION_ACCESS, SECTION_ZONE };

enum {
	SERVER_LISTEN,
	SERVER_USER,
	SERVER_WORKERS,
	SERVER_TCP_MAX_CLIENTS,
	SERVER_TCP_IDLE_TIMEOUT,
	SERVER_UDP_MAX_PAYLOAD,
	SERVER_LOG_LEVEL,
	SERVER_DRAIN_TIMEOUT,
	SERVER_TRANSFER_MAX,
	SERVER_TRANSFER_TIMEOUT,
	SERVER_TRANSFER_IDLE_TIMEOUT,
	SERVER_CONTROL,
	SERVER_CONTROL_OWNER,
	SERVER_CONTROL_MODE,
	SERVER_TOP_SIZE,
	SERVER_TOP_PREFIX_IPV4,
	SERVER_TOP_PREFIX_IPV6,
	SERVER_TCP_MAX_CLIENTS_PER_NETWORK,
	SERVER_TCP_QUERY_TIMEOUT,
	SERVER_COOKIES,
	SERVER_COOKIE_SECRET,
	SERVER_RATE_LIMIT,
	SERVER_RATE_LIMIT_SLIP,
	SERVER_RATE_LIMIT_NETWORKS,
	SERVER_RATE_LIMIT_ALLOW,
	SERVER_IDENTITY,
	SERVER_VERSION,
	SERVER_NSID,
};

enum { KEY_ID, KEY_ALGORITHM, KEY_SECRET };

enum { SECONDARY_ID, SECONDARY_ADDRESS, SECONDARY_ALLOW, SECONDARY_KEY };

enum { ACCESS_ID, ACCESS_ACTION, ACCESS_ADDRESS, ACCESS_KEY };

enum { ZONE_DOMAIN, ZONE_STORE, ZONE_CLASSIC, ZONE_SECONDARY, ZONE_ACCESS };

/* In the order of enum log_level. */
static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };

static const char *const switches[] = { "off", "on", NULL };

/* In the order of enum settings_action. */
static const char *const actions[] = { "allow", "refuse", "drop", NULL };

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
	[SERVER_TRANSFER_MAX] = { "transfer-max", CONF_NUMBER, .min = 0, .max = 1000 },
	[SERVER_TRANSFER_TIMEOUT] = { "transfer-timeout", CONF_TIME, .min = 1, .max = 86400 },
	[SERVER_TRANSFER_IDLE_TIMEOUT] = { "transfer-idle-timeout", CONF_TIME, .min = 1,
					   .max = 3600 },
	[SERVER_CONTROL] = { "control", CONF_TEXT, .max = SETTINGS_CONTROL_MAX },
	[SERVER_CONTROL_OWNER] = { "control-owner", CONF_TEXT, .max = SETTINGS_USER_MAX },
	[SERVER_CONTROL_MODE] = { "control-mode", CONF_TEXT, .max = 4 },
	[SERVER_TOP_SIZE] = { "top-size", CONF_NUMBER, .min = 0, .max = TALKERS_PLACES_MAX },
	[SERVER_TOP_PREFIX_IPV4] = { "top-prefix-ipv4", CONF_NUMBER, .min = 8, .max = 32 },
	[SERVER_TOP_PREFIX_IPV6] = { "top-prefix-ipv6", CONF_NUMBER, .min = 16,
				     .max = TALKERS_IPV6_LENGTH_MAX },
	[SERVER_TCP_MAX_CLIENTS_PER_NETWORK] = { "tcp-max-clients-per-network", CONF_NUMBER,
						 .min = 0, .max = 10000 },
	[SERVER_TCP_QUERY_TIMEOUT] = { "tcp-query-timeout", CONF_TIME, .min = 1, .max = 3600 },
	[SERVER_COOKIES] = { "cookies", CONF_CHOICE, .choices = switches },
	[SERVER_COOKIE_SECRET] = { "cookie-secret", CONF_TEXT, .max = COOKIE_SECRET_SIZE * 2,
				   .is_list = true },
	[SERVER_RATE_LIMIT] = { "rate-limit", CONF_NUMBER, .min = 0, .max = RATELIMIT_RATE_MAX },
	[SERVER_RATE_LIMIT_SLIP] = { "rate-limit-slip", CONF_NUMBER, .min = 0, .max = 100 },
	[SERVER_RATE_LIMIT_NETWORKS] = { "rate-limit-networks", CONF_NUMBER, .min = 4,
					 .max = RATELIMIT_NETWORKS_MAX },
	[SERVER_RATE_LIMIT_ALLOW] = { "rate-limit-allow", CONF_TEXT,
				      .max = DNSBLV6_PREFIX_TEXT_SIZE, .is_list = true },
	[SERVER_IDENTITY] = { "identity", CONF_TEXT, .max = SETTINGS_IDENTITY_MAX },
	[SERVER_VERSION] = { "version", CONF_TEXT, .max = SETTINGS_IDENTITY_MAX },
	[SERVER_NSID] = { "nsid", CONF_TEXT, .max = SETTINGS_IDENTITY_MAX },
};

static const struct conf_item key_items[] = {
	[KEY_ID] = { "id", CONF_NAME, .max = SETTINGS_NAME_MAX },
	[KEY_ALGORITHM] = { "algorithm", CONF_CHOICE, .choices = tsig_algorithms },
	[KEY_SECRET] = { "secret", CONF_TEXT, .max = SETTINGS_SECRET_MAX },
};

static const struct conf_item secondary_items[] = {
	[SECONDARY_ID] = { "id", CONF_TEXT, .max = SETTINGS_ID_MAX },
	[SECONDARY_ADDRESS] = { "address", CONF_ADDRESS, .default_port = 53, .is_list = true },
	[SECONDARY_ALLOW] = { "allow", CONF_TEXT, .max = DNSBLV6_PREFIX_TEXT_SIZE,
			      .is_list = true },
	[SECONDARY_KEY] = { "key", CONF_NAME, .max = SETTINGS_NAME_MAX },
};

static const struct conf_item access_items[] = {
	[ACCESS_ID] = { "id", CONF_TEXT, .max = SETTINGS_ID_MAX },
	[ACCESS_ACTION] = { "action", CONF_CHOICE, .choices = actions },
	[ACCESS_ADDRESS] = { "address", CONF_TEXT, .max = DNSBLV6_PREFIX_TEXT_SIZE,
			     .is_list = true },
	[ACCESS_KEY] = { "key", CONF_NAME, .max = SETTINGS_NAME_MAX },
};

static const struct conf_item zone_items[] = {
	[ZONE_DOMAIN] = { "domain", CONF_NAME, .max = SETTINGS_NAME_MAX },
	[ZONE_STORE] = { "store", CONF_TEXT, .max = PATH_MAX - 1 },
	[ZONE_CLASSIC] = { "classic", CONF_NAME, .max = SETTINGS_NAME_MAX },
	[ZONE_SECONDARY] = { "secondary", CONF_TEXT, .max = SETTINGS_ID_MAX, .is_list = true },
	[ZONE_ACCESS] = { "access", CONF_TEXT, .max = SETTINGS_ID_MAX, .is_list = true },
};

#define ITEMS(items) items, sizeof(items) / sizeof((items)[0])
static const struct conf_section sections[] = {
	[SECTION_SERVER] = { "server", ITEMS(server_items), .has_entries = false },
	[SECTION_KEY] = { "key", ITEMS(key_items), .has_entries = true },
	[SECTION_SECONDARY] = { "secondary", ITEMS(secondary_items), .has_entries = true },
	[SECTION_ACCESS] = { "access", ITEMS(access_items), .has_entries = true },
	[SECTION_ZONE] = { "zone", ITEMS(zone_items), .has_entries = true },
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
		.tcp_max_clients_per_network = 50,
		.tcp_idle_timeout_s = 10,
		.tcp_query_timeout_s = 3,
		.has_cookies = true,
		.rate_limit_slip = 2,
		.rate_limit_networks = 65536,
		.udp_max_payload = 1232, /* DNS flag day 2020: fits every path unfragmented */
		.drain_timeout_s = 5,
		.transfer_max = 10,
		.transfer_timeout_s = 900,
		.transfer_idle_timeout_s = 30,
		.log_level = LOG_LEVEL_INFO,
		.control_mode = 0660,
		.top_size = 4096,
		.top_ipv4_length = 24,
		.top_ipv6_length = 56,
	};
	set_default_listen(settings);
}

static void key_deinit(struct settings_key *key)
{
	tsig_key_free(key->key);
	free(key->name.text);
	free(key->secret);
}

static void secondary_deinit(struct settings_secondary *secondary)
{
	free(secondary->id);
	free(secondary->addresses);
	free(secondary->allow);
	free(secondary->key_name.text);
}

static void rule_deinit(struct settings_rule *rule)
{
	free(rule->id);
	free(rule->addresses);
	free(rule->key_name.text);
}

static void zone_deinit(struct settings_zone *zone)
{
	for (size_t i = 0; i < zone->rule_count; i++)
		free(zone->rule_ids[i]);
	free(zone->rule_ids);
	free(zone->rules);
	for (size_t i = 0; i < zone->secondary_count; i++)
		free(zone->ids[i]);
	free(zone->ids);
	free(zone->secondaries);
	free(zone->domain.text);
	free(zone->classic.text);
	free(zone->store);
}

void settings_deinit(struct settings *settings)
{
	for (size_t i = 0; i < settings->zone_count; i++)
		zone_deinit(&settings->zones[i]);
	for (size_t i = 0; i < settings->secondary_count; i++)
		secondary_deinit(&settings->secondaries[i]);
	for (size_t i = 0; i < settings->key_count; i++)
		key_deinit(&settings->keys[i]);
	for (size_t i = 0; i < settings->rule_count; i++)
		rule_deinit(&settings->rules[i]);
	free(settings->rate_limit_allow);
	free(settings->rules);
	free(settings->zones);
	free(settings->secondaries);
	free(settings->keys);
	free(settings->tsig_keys);
	settings->zones = NULL;
	settings->secondaries = NULL;
	settings->keys = NULL;
	settings->tsig_keys = NULL;
	settings->rules = NULL;
	settings->rate_limit_allow = NULL;
	settings->rule_count = settings->rate_limit_allow_count = 0;
	settings->zone_count = settings->secondary_count = settings->key_count = 0;
}

/* ---- taking values ---- */

struct taking {
	struct settings *settings;
	const char *directory;
	bool has_listen; /* the first address of the file replaces the defaults */
};

static const char no_memory[] = "out of memory";

/* One more, all zero, behind *count entries of size bytes; NULL when memory ran out. */
static void *grow(void *entries, size_t count, size_t size)
{
	char *grown = reallocarray(entries, count + 1, size);
	if (grown != NULL)
		memset(grown + count * size, 0, size);
	return grown;
}

static const char *take_prefix(struct dnsblv6_prefix **prefixes, size_t *count, const char *text)
{
	struct dnsblv6_prefix prefix;
	int ret = dnsblv6_prefix_parse(text, strlen(text), &prefix);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	struct dnsblv6_prefix *grown = grow(*prefixes, *count, sizeof(*grown));
	if (grown == NULL)
		return no_memory;
	*prefixes = grown;
	grown[(*count)++] = prefix;
	return NULL;
}

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
static const char *find_user(const char *text, uid_t *ret_uid, gid_t *ret_gid)
{
	char user[SETTINGS_USER_MAX + 1];
	snprintf(user, sizeof(user), "%s", text);
	char *group = strchr(user, ':');
	if (group != NULL)
		*group++ = '\0';

	const struct passwd *passwd = getpwnam(user);
	if (passwd == NULL)
		return "no such user";
	uid_t uid = passwd->pw_uid;
	gid_t gid = passwd->pw_gid;
	if (group != NULL) {
		const struct group *found = getgrnam(group);
		if (found == NULL)
			return "no such group";
		gid = found->gr_gid;
	}
	*ret_uid = uid;
	*ret_gid = gid;
	return NULL;
}

static const char *take_user(struct settings *settings, const char *text)
{
	snprintf(settings->user, sizeof(settings->user), "%s", text);
	return find_user(text, &settings->uid, &settings->gid);
}

static const char *take_control_owner(struct settings *settings, const char *text)
{
	snprintf(settings->control_owner, sizeof(settings->control_owner), "%s", text);
	return find_user(text, &settings->control_uid, &settings->control_gid);
}

static const char *take_control(struct taking *taking, const char *path)
{
	struct settings *settings = taking->settings;
	size_t max = sizeof(settings->control_path);
	int size = path[0] == '/' ? snprintf(settings->control_path, max, "%s", path)
				  : snprintf(settings->control_path, max, "%s/%s",
					     taking->directory, path);
	return size < 0 || (size_t)size >= max ? "path is longer than a socket's may be" : NULL;
}

/* Octal, as chmod(1) takes it. */
static const char *take_control_mode(struct settings *settings, const char *text)
{
	unsigned mode = 0;
	size_t size = strspn(text, "01234567");
	for (size_t i = 0; i < size; i++)
		mode = mode * 8 + (unsigned)(text[i] - '0');
	if (size < 3 || text[size] != '\0' || mode > 0777)
		return "permitted are three octal digits";
	settings->control_mode = mode;
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

/* What holds off those who ask too much. */
static const char *take_limit(struct settings *settings, const struct conf_value *value)
{
	unsigned number = (unsigned)value->number;
	switch (value->item) {
	case SERVER_TCP_MAX_CLIENTS_PER_NETWORK:
		settings->tcp_max_clients_per_network = number;
		break;
	case SERVER_TCP_QUERY_TIMEOUT:
		settings->tcp_query_timeout_s = number;
		break;
	case SERVER_COOKIES:
		settings->has_cookies = number != 0;
		break;
	case SERVER_COOKIE_SECRET:
		return cookie_add_secret(&settings->cookies, value->text)
			       ? NULL
			       : "permitted are at most 4 secrets, 32 hexadecimal digits each";
	case SERVER_RATE_LIMIT:
		settings->rate_limit = number;
		break;
	case SERVER_RATE_LIMIT_SLIP:
		settings->rate_limit_slip = number;
		break;
	case SERVER_RATE_LIMIT_NETWORKS:
		settings->rate_limit_networks = number;
		break;
	case SERVER_RATE_LIMIT_ALLOW:
		return take_prefix(&settings->rate_limit_allow, &settings->rate_limit_allow_count,
				   value->text);
	}
	return NULL;
}

/* Who we are; "auto" is what the system or the program says. */
static const char *take_identity(struct settings *settings, const struct conf_value *value)
{
	char host[HOST_NAME_MAX + 1] = "";
	bool is_version = value->item == SERVER_VERSION;
	const char *text = value->text;
	char *target = is_version			? settings->version
		       : value->item == SERVER_IDENTITY ? settings->identity
							: settings->nsid;
	if (strcmp(text, "auto") == 0) {
		if (!is_version && gethostname(host, sizeof(host) - 1) != 0)
			return "this machine has no name";
		text = is_version ? "dnsblv6d " DNSBLV6_VERSION : host;
	}
	snprintf(target, SETTINGS_IDENTITY_MAX + 1, "%s", text);
	return NULL;
}

/* What is for who operates the server, and not for who asks it. */
static const char *take_operation(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	switch (value->item) {
	case SERVER_CONTROL:
		return take_control(taking, value->text);
	case SERVER_CONTROL_OWNER:
		return take_control_owner(settings, value->text);
	case SERVER_CONTROL_MODE:
		return take_control_mode(settings, value->text);
	case SERVER_TOP_SIZE:
		settings->top_size = (unsigned)value->number;
		break;
	case SERVER_TOP_PREFIX_IPV4:
		settings->top_ipv4_length = (unsigned)value->number;
		break;
	case SERVER_TOP_PREFIX_IPV6:
		settings->top_ipv6_length = (unsigned)value->number;
		break;
	case SERVER_IDENTITY:
	case SERVER_VERSION:
	case SERVER_NSID:
		return take_identity(settings, value);
	default:
		return take_limit(settings, value);
	}
	return NULL;
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
	case SERVER_TRANSFER_MAX:
		settings->transfer_max = (unsigned)value->number;
		break;
	case SERVER_TRANSFER_TIMEOUT:
		settings->transfer_timeout_s = (unsigned)value->number;
		break;
	case SERVER_TRANSFER_IDLE_TIMEOUT:
		settings->transfer_idle_timeout_s = (unsigned)value->number;
		break;
	default:
		return take_operation(taking, value);
	}
	return NULL;
}

static bool has_name(const struct settings_name *have, const struct conf_value *value)
{
	return have->size == value->name_size && memcmp(have->wire, value->name, have->size) == 0;
}

static const char *take_name(struct settings_name *name, const struct conf_value *value)
{
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

static const char *take_zone_name(struct settings *settings, struct settings_name *name,
				  const struct conf_value *value)
{
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		if (has_name(&zone->domain, value) || has_name(&zone->classic, value))
			return "another zone has this name";
	}
	return take_name(name, value);
}

static const char *take_key(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	if (value->item == KEY_ID) {
		for (size_t i = 0; i < settings->key_count; i++) {
			if (has_name(&settings->keys[i].name, value))
				return "another key has this name";
		}
		struct settings_key *keys =
			grow(settings->keys, settings->key_count, sizeof(*keys));
		if (keys == NULL)
			return no_memory;
		settings->keys = keys;
		keys[settings->key_count].line = value->line;
		return take_name(&keys[settings->key_count++].name, value);
	}
	struct settings_key *key = &settings->keys[settings->key_count - 1];
	if (value->item == KEY_ALGORITHM) {
		key->algorithm = (int)value->number;
		return NULL;
	}
	key->secret = strdup(value->text);
	return key->secret != NULL ? NULL : no_memory;
}

static const char *take_address(struct settings_secondary *secondary,
				const struct sockaddr_storage *address)
{
	struct sockaddr_storage *addresses =
		grow(secondary->addresses, secondary->address_count, sizeof(*addresses));
	if (addresses == NULL)
		return no_memory;
	secondary->addresses = addresses;
	addresses[secondary->address_count++] = *address;
	return NULL;
}

static const char *begin_secondary(struct settings *settings, const struct conf_value *value)
{
	for (size_t i = 0; i < settings->secondary_count; i++) {
		if (strcmp(settings->secondaries[i].id, value->text) == 0)
			return "another secondary has this id";
	}
	struct settings_secondary *secondaries =
		grow(settings->secondaries, settings->secondary_count, sizeof(*secondaries));
	if (secondaries == NULL)
		return no_memory;
	settings->secondaries = secondaries;
	struct settings_secondary *secondary = &secondaries[settings->secondary_count];
	secondary->line = value->line;
	secondary->id = strdup(value->text);
	if (secondary->id == NULL)
		return no_memory;
	settings->secondary_count++;
	return NULL;
}

static const char *take_secondary(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	if (value->item == SECONDARY_ID)
		return begin_secondary(settings, value);
	struct settings_secondary *secondary =
		&settings->secondaries[settings->secondary_count - 1];
	switch (value->item) {
	case SECONDARY_ADDRESS:
		return take_address(secondary, &value->address);
	case SECONDARY_ALLOW:
		return take_prefix(&secondary->allow, &secondary->allow_count, value->text);
	default:
		return take_name(&secondary->key_name, value);
	}
}

static const char *begin_rule(struct settings *settings, const struct conf_value *value)
{
	for (size_t i = 0; i < settings->rule_count; i++) {
		if (strcmp(settings->rules[i].id, value->text) == 0)
			return "another rule has this id";
	}
	struct settings_rule *rules = grow(settings->rules, settings->rule_count, sizeof(*rules));
	if (rules == NULL)
		return no_memory;
	settings->rules = rules;
	struct settings_rule *rule = &rules[settings->rule_count];
	rule->line = value->line;
	rule->id = strdup(value->text);
	if (rule->id == NULL)
		return no_memory;
	settings->rule_count++;
	return NULL;
}

static const char *take_rule(struct settings *settings, const struct conf_value *value)
{
	if (value->item == ACCESS_ID)
		return begin_rule(settings, value);
	struct settings_rule *rule = &settings->rules[settings->rule_count - 1];
	switch (value->item) {
	case ACCESS_ACTION:
		rule->action = (enum settings_action)value->number;
		return NULL;
	case ACCESS_ADDRESS:
		return take_prefix(&rule->addresses, &rule->address_count, value->text);
	default:
		return take_name(&rule->key_name, value);
	}
}

/* Which secondary or rule that is, is found when all of them have been read. */
static const char *take_id(char ***ids, size_t *count, const char *id)
{
	for (size_t i = 0; i < *count; i++) {
		if (strcmp((*ids)[i], id) == 0)
			return "this zone has this id already";
	}
	char **grown = grow(*ids, *count, sizeof(*grown));
	if (grown == NULL)
		return no_memory;
	*ids = grown;
	grown[*count] = strdup(id);
	if (grown[*count] == NULL)
		return no_memory;
	(*count)++;
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
		const char *reason = take_zone_name(settings, &zone->domain, value);
		if (reason == NULL)
			settings->zone_count++;
		return reason;
	}
	struct settings_zone *zone = &settings->zones[settings->zone_count - 1];
	if (value->item == ZONE_STORE)
		return take_store(taking, zone, value->text);
	if (value->item == ZONE_SECONDARY)
		return take_id(&zone->ids, &zone->secondary_count, value->text);
	if (value->item == ZONE_ACCESS)
		return take_id(&zone->rule_ids, &zone->rule_count, value->text);
	return take_zone_name(settings, &zone->classic, value);
}

static const char *take(const struct conf_value *value, void *context)
{
	struct taking *taking = context;
	switch (value->section) {
	case SECTION_SERVER:
		return take_server(taking, value);
	case SECTION_KEY:
		return take_key(taking, value);
	case SECTION_SECONDARY:
		return take_secondary(taking, value);
	case SECTION_ACCESS:
		return take_rule(taking->settings, value);
	default:
		return take_zone(taking, value);
	}
}

/* ---- reading ---- */

static int refuse(struct conf_error *error, size_t line, const char *item, const char *value,
		  const char *reason)
{
	memset(error, 0, sizeof(*error));
	error->line = line;
	snprintf(error->item, sizeof(error->item), "%s", item);
	log_quote(value, strlen(value), error->value);
	snprintf(error->reason, sizeof(error->reason), "%s", reason);
	return -EINVAL;
}

static int finish_keys(struct settings *settings, struct conf_error *error)
{
	settings->tsig_keys = calloc(settings->key_count + 1, sizeof(struct tsig_key *));
	if (settings->tsig_keys == NULL)
		return refuse(error, 0, "", "", no_memory);
	for (size_t i = 0; i < settings->key_count; i++) {
		struct settings_key *key = &settings->keys[i];
		if (key->secret == NULL)
			return refuse(error, key->line, "id", key->name.text,
				      "this key has no secret");
		int ret = tsig_key_new(key->name.wire, tsig_algorithms[key->algorithm], key->secret,
				       &key->key);
		explicit_bzero(key->secret, strlen(key->secret));
		if (ret != 0)
			return refuse(error, key->line, "id", key->name.text,
				      ret == -EINVAL ? "the secret of this key is not base64"
						     : no_memory);
		settings->tsig_keys[i] = key->key;
	}
	return 0;
}

/* NULL when there is none of this name. */
static const struct tsig_key *find_key(const struct settings *settings,
				       const struct settings_name *name)
{
	for (size_t i = 0; i < settings->key_count; i++) {
		if (strcmp(settings->keys[i].name.text, name->text) == 0)
			return settings->keys[i].key;
	}
	return NULL;
}

static const char no_key[] = "there is no key of this name";

static int finish_rules(struct settings *settings, struct conf_error *error)
{
	for (size_t i = 0; i < settings->rule_count; i++) {
		struct settings_rule *rule = &settings->rules[i];
		if (rule->key_name.size == 0)
			continue;
		rule->key = find_key(settings, &rule->key_name);
		if (rule->key == NULL)
			return refuse(error, rule->line, "key", rule->key_name.text, no_key);
	}
	return 0;
}

static int finish_secondaries(struct settings *settings, struct conf_error *error)
{
	for (size_t i = 0; i < settings->secondary_count; i++) {
		struct settings_secondary *secondary = &settings->secondaries[i];
		if (secondary->address_count + secondary->allow_count == 0)
			return refuse(error, secondary->line, "id", secondary->id,
				      "this secondary has no address");
		if (secondary->key_name.size == 0)
			continue;
		secondary->key = find_key(settings, &secondary->key_name);
		if (secondary->key == NULL)
			return refuse(error, secondary->line, "key", secondary->key_name.text,
				      no_key);
	}
	return 0;
}

static int finish_zone_rules(const struct settings *settings, struct settings_zone *zone,
			     struct conf_error *error)
{
	zone->rules = calloc(zone->rule_count + 1, sizeof(*zone->rules));
	if (zone->rules == NULL)
		return refuse(error, 0, "", "", no_memory);
	for (size_t i = 0; i < zone->rule_count; i++) {
		size_t at = 0;
		while (at < settings->rule_count &&
		       strcmp(settings->rules[at].id, zone->rule_ids[i]) != 0)
			at++;
		if (at == settings->rule_count)
			return refuse(error, zone->line, "access", zone->rule_ids[i],
				      "there is no rule of this id");
		zone->rules[i] = at;
	}
	return 0;
}

static int finish_zone(const struct settings *settings, struct settings_zone *zone,
		       struct conf_error *error)
{
	if (zone->store == NULL)
		return refuse(error, zone->line, "domain", zone->domain.text,
			      "this zone has no store");
	zone->secondaries = calloc(zone->secondary_count + 1, sizeof(*zone->secondaries));
	if (zone->secondaries == NULL)
		return refuse(error, 0, "", "", no_memory);
	for (size_t i = 0; i < zone->secondary_count; i++) {
		size_t at = 0;
		while (at < settings->secondary_count &&
		       strcmp(settings->secondaries[at].id, zone->ids[i]) != 0)
			at++;
		if (at == settings->secondary_count)
			return refuse(error, zone->line, "secondary", zone->ids[i],
				      "there is no secondary of this id");
		zone->secondaries[i] = at;
	}
	return finish_zone_rules(settings, zone, error);
}

/* What can only be seen when everything has been read. */
static int finish(struct settings *settings, int ret, struct conf_error *error)
{
	/* What was meant to be secret is not for a log. */
	if (ret != 0 &&
	    (strcmp(error->item, "secret") == 0 || strcmp(error->item, "cookie-secret") == 0))
		snprintf(error->value, sizeof(error->value), "hidden");
	if (ret == 0)
		ret = finish_keys(settings, error);
	if (ret == 0)
		ret = finish_secondaries(settings, error);
	if (ret == 0)
		ret = finish_rules(settings, error);
	for (size_t i = 0; i < settings->zone_count && ret == 0; i++)
		ret = finish_zone(settings, &settings->zones[i], error);
	return ret;
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
	return finish(settings, ret, reterr_error);
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
	struct stat status;
	settings->is_exposed = settings->key_count + settings->cookies.count > 0 &&
			       stat(path, &status) == 0 && (status.st_mode & S_IROTH) != 0;
	return finish(settings, ret, reterr_error);
}

void settings_log_warnings(const char *path, const struct settings *settings)
{
	if (settings->is_exposed)
		log_warning(path, "configuration has secrets and everybody may read it");
}

static void format_position(const char *path, const struct conf_error *error, char *ret_text)
{
	if (error->line == 0)
		snprintf(ret_text, POSITION_MAX, "%s", path);
	else
		snprintf(ret_text, POSITION_MAX, "%s:%zu", path, error->line);
}

static void format_refusal(const struct conf_error *error, char *ret_text)
{
	if (error->line == 0)
		snprintf(ret_text, SETTINGS_ERROR_MAX, "configuration not read (%s)",
			 error->reason);
	else if (error->item[0] == '\0')
		snprintf(ret_text, SETTINGS_ERROR_MAX, "configuration refused, text=%s (%s)",
			 error->value, error->reason);
	else
		snprintf(ret_text, SETTINGS_ERROR_MAX,
			 "configuration refused, item=%s value=%s (%s)", error->item, error->value,
			 error->reason);
}

void settings_format_error(const char *path, const struct conf_error *error, char *ret_text)
{
	char position[POSITION_MAX];
	char refusal[SETTINGS_ERROR_MAX];
	format_position(path, error, position);
	format_refusal(error, refusal);
	int size = snprintf(ret_text, SETTINGS_ERROR_MAX, "%s: %s", position, refusal);
	if (size >= SETTINGS_ERROR_MAX) /* what is wrong says more than where */
		memcpy(ret_text, refusal, sizeof(refusal));
}

void settings_log_error(const char *path, const struct conf_error *error)
{
	char position[POSITION_MAX];
	char refusal[SETTINGS_ERROR_MAX];
	format_position(path, error, position);
	format_refusal(error, refusal);
	log_error(position, "%s", refusal);
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
	if (strcmp(old_settings->control_path, new_settings->control_path) != 0)
		return "control";
	if (strcmp(old_settings->control_owner, new_settings->control_owner) != 0)
		return "control-owner";
	if (old_settings->control_mode != new_settings->control_mode)
		return "control-mode";
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
