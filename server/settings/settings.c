/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/settings/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/common/log.h"
#include "server/askers/ratelimit.h"
#include "server/settings/taking.h"
#include "server/askers/talkers.h"

/* ---- the table ---- */

/* In the order of enum log_level. */

static const char *const switches[] = { "off", "on", NULL };

/* In the order of enum settings_confine. */
static const char *const confine_choices[] = { "off", "auto", "on", NULL };

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
	[SERVER_LOG_LEVEL] = { "log-level", CONF_CHOICE, .choices = conf_log_levels },
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
	[SERVER_PIN_WORKERS] = { "pin-workers", CONF_CHOICE, .choices = switches },
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
	[SERVER_CONFINE] = { "confine", CONF_CHOICE, .choices = confine_choices },
	[SERVER_VERIFY_INTERVAL] = { "verify-interval", CONF_TIME, .min = 0, .max = 86400 },
	[SERVER_CHROOT] = { "chroot", CONF_TEXT, .max = PATH_MAX - 1 },
};

static const char *const messages[] = { "queries", "responses", "both", NULL };

static const struct conf_item dnstap_items[] = {
	[DNSTAP_SOCKET] = { "socket", CONF_TEXT, .max = SETTINGS_CONTROL_MAX },
	[DNSTAP_FILE] = { "file", CONF_TEXT, .max = PATH_MAX - 1 },
	[DNSTAP_SAMPLE] = { "sample", CONF_NUMBER, .min = 1, .max = 1000000000 },
	[DNSTAP_MESSAGES] = { "messages", CONF_CHOICE, .choices = messages },
	[DNSTAP_ZONE] = { "zone", CONF_NAME, .max = SETTINGS_NAME_MAX, .is_list = true },
	[DNSTAP_IDENTITY] = { "identity", CONF_TEXT, .max = SETTINGS_IDENTITY_MAX },
	[DNSTAP_VERSION] = { "version", CONF_TEXT, .max = SETTINGS_IDENTITY_MAX },
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
	[SECTION_DNSTAP] = { "dnstap", ITEMS(dnstap_items), .has_entries = false },
	[SECTION_KEY] = { "key", ITEMS(key_items), .has_entries = true },
	[SECTION_SECONDARY] = { "secondary", ITEMS(secondary_items), .has_entries = true },
	[SECTION_ACCESS] = { "access", ITEMS(access_items), .has_entries = true },
	[SECTION_ZONE] = { "zone", ITEMS(zone_items), .has_entries = true },
};

static const struct conf_table table = { sections, sizeof(sections) / sizeof(sections[0]) };

/* ---- life ---- */

static void set_default_listen(struct settings *settings)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&settings->listen.all[0];
	four->sin_family = AF_INET;
	four->sin_port = htons(53);
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&settings->listen.all[1];
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(53);
	six->sin6_addr = in6addr_loopback;
	settings->listen.count = 2;
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
		.rate_limit = 1000,
		.rate_limit_slip = 1,
		.rate_limit_networks = 65536,
		.udp_max_payload = 1232, /* DNS flag day 2020: fits every path unfragmented */
		.drain_timeout_s = 5,
		.verify_interval_s = 30,
		.transfer_max = 10,
		.transfer_timeout_s = 900,
		.transfer_idle_timeout_s = 30,
		.log_level = LOG_LEVEL_INFO,
		.control_mode = 0660,
		.top_size = 4096,
		.top_ipv4_length = 24,
		.top_ipv6_length = 56,
		.confine = SETTINGS_CONFINE_AUTO,
		.dnstap = { .every = 1, .has_queries = true, .has_responses = true },
	};
	set_default_listen(settings);
}

static void dnstap_deinit(struct settings_dnstap *dnstap)
{
	for (size_t i = 0; i < dnstap->zone_count; i++)
		free(dnstap->zones[i].text);
	free(dnstap->zones);
	dnstap->zones = NULL;
	dnstap->zone_count = 0;
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
	dnstap_deinit(&settings->dnstap);
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

/* ---- reading ---- */

static const char *take(const struct conf_value *value, void *context)
{
	struct taking *taking = context;
	switch (value->section) {
	case SECTION_SERVER:
		return taking_server(taking, value);
	case SECTION_DNSTAP:
		return taking_dnstap(taking, value);
	case SECTION_KEY:
		return taking_key(taking, value);
	case SECTION_SECONDARY:
		return taking_secondary(taking, value);
	case SECTION_ACCESS:
		return taking_rule(taking->settings, value);
	default:
		return taking_zone(taking, value);
	}
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
	return taking_finish(settings, ret, reterr_error);
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
	return taking_finish(settings, ret, reterr_error);
}

const char *settings_store_path(const struct settings *settings, size_t index)
{
	const char *path = settings->zones[index].store;
	size_t size = strlen(settings->chroot_path);
	return strncmp(path, settings->chroot_path, size) == 0 && path[size] == '/' ? path + size
										    : path;
}

void settings_log_warnings(const char *path, const struct settings *settings)
{
	if (settings->is_exposed)
		log_warning(path, "configuration has secrets and everybody may read it");
}

/* ---- comparing, printing ---- */

const char *settings_find_restart_item(const struct settings *old_settings,
				       const struct settings *new_settings)
{
	if (old_settings->listen.count != new_settings->listen.count ||
	    memcmp(old_settings->listen.all, new_settings->listen.all,
		   old_settings->listen.count * sizeof(old_settings->listen.all[0])) != 0)
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
	if (old_settings->confine != new_settings->confine)
		return "confine";
	if (strcmp(old_settings->chroot_path, new_settings->chroot_path) != 0)
		return "chroot";
	return NULL;
}
