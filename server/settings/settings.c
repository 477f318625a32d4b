/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/settings/settings.h"

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
#include "server/askers/frequent.h"
#include "server/askers/talkers.h"

/* ---- the table ---- */

/* In the order of enum settings_confine. */
static const char *const confine_choices[] = { "off", "auto", "on", NULL };

/* In the order of enum settings_action. */
static const char *const actions[] = { "allow", "refuse", "drop", NULL };

/* In the order of enum settings_xdp_mode. */
static const char *const modes[] = { "auto", "driver", "generic", NULL };

static const char *const messages[] = { "queries", "responses", "both", NULL };

#define AT(member)	 CONF_AT(struct settings, member)
#define IN(type, member) CONF_AT(struct settings_##type, member)

#define NUMBER(...)  CONF_RANGE(CONF_NUMBER, struct settings, __VA_ARGS__)
#define SECONDS(...) CONF_RANGE(CONF_SECONDS, struct settings, __VA_ARGS__)
#define PREFIXES(name, at)                                                                         \
	{                                                                                          \
		name, CONF_TEXT, at, .max = DNSBLV6_PREFIX_TEXT_SIZE, .is_list = true,             \
				     .take = taking_prefix                                         \
	}

static const struct conf_item server_items[] = {
	{ "listen", CONF_ADDRESS, AT(listen), .default_port = 53, .is_list = true,
	  .take = taking_listen, .preset = "127.0.0.1@53 ::1@53", .needs_restart = true },
	{ "user", CONF_TEXT, AT(owner), .max = SETTINGS_USER_MAX, .take = taking_owner,
	  .needs_restart = true },
	{ "workers", CONF_NUMBER, AT(workers), .max = SETTINGS_WORKERS_MAX, .preset = "1",
	  .take = taking_workers, .needs_restart = true },
	{ "control", CONF_TEXT, AT(control_path), .take = taking_path, .needs_restart = true },
	{ "control-owner", CONF_TEXT, AT(control_owner), .max = SETTINGS_USER_MAX,
	  .take = taking_owner, .needs_restart = true },
	{ "control-mode", CONF_MODE, AT(control_mode), .preset = "660", .needs_restart = true },
	{ "confine", CONF_CHOICE, AT(confine), .choices = confine_choices, .preset = "auto",
	  .needs_restart = true },
	{ "chroot", CONF_TEXT, AT(chroot_path), .take = taking_chroot, .needs_restart = true },
	{ "pin-workers", CONF_CHOICE, AT(has_pinned_workers), .choices = conf_off_on,
	  .preset = "off" },
	NUMBER("tcp-max-clients", tcp_max_clients, 1, 10000, "200"),
	NUMBER("tcp-max-clients-per-network", tcp_max_clients_per_network, 0, 10000, "50"),
	SECONDS("tcp-idle-timeout", tcp_idle_timeout_s, 1, 3600, "10s"),
	SECONDS("tcp-query-timeout", tcp_query_timeout_s, 1, 3600, "3s"),
	/* 512 is the least that RFC 6891 section 6.2.5 knows; DNS flag day 2020: 1232 fits every
	   path unfragmented. */
	NUMBER("udp-max-payload", udp_max_payload, 512, SETTINGS_PAYLOAD_MAX, "1232"),
	CONF_LOG_LEVEL(struct settings),
	SECONDS("drain-timeout", drain_timeout_s, 0, 3600, "5s"),
	SECONDS("verify-interval", verify_interval_s, 0, 86400, "30s"),
	NUMBER("transfer-max", transfer_max, 0, 1000, "20"),
	SECONDS("transfer-timeout", transfer_timeout_s, 1, 86400, "15m"),
	SECONDS("transfer-idle-timeout", transfer_idle_timeout_s, 1, 3600, "30s"),
	NUMBER("top-size", top_size, 0, TALKERS_PLACES_MAX, "4096"),
	NUMBER("top-prefix-ipv4", top_ipv4_length, 8, 32, "24"),
	NUMBER("top-prefix-ipv6", top_ipv6_length, 16, TALKERS_IPV6_LENGTH_MAX, "56"),
	NUMBER("frequent-ranges", frequent_ranges, 0, FREQUENT_RANGES_MAX, "1024"),
	{ "cookies", CONF_CHOICE, AT(has_cookies), .choices = conf_off_on, .preset = "on" },
	{ "cookie-secret", CONF_TEXT, AT(cookies), .max = COOKIE_SECRET_SIZE * 2, .is_list = true,
	  .is_secret = true, .take = taking_cookie },
	NUMBER("rate-limit", rate_limit, 0, RATELIMIT_RATE_MAX, "1000"),
	NUMBER("rate-limit-slip", rate_limit_slip, 0, 100, "1"),
	NUMBER("rate-limit-networks", rate_limit_networks, 4, RATELIMIT_NETWORKS_MAX, "65536"),
	PREFIXES("rate-limit-allow", AT(rate_limit_allow)),
	{ "identity", CONF_TEXT, AT(identity), .take = taking_identity },
	{ "version", CONF_TEXT, AT(version), .take = taking_version },
	{ "nsid", CONF_TEXT, AT(nsid), .take = taking_identity },
};

static const struct conf_item dnstap_items[] = {
	{ "socket", CONF_TEXT, AT(dnstap), .max = SETTINGS_CONTROL_MAX, .take = taking_log },
	{ "file", CONF_TEXT, AT(dnstap), .max = PATH_MAX - 1, .take = taking_log },
	NUMBER("sample", dnstap.every, 1, 1000000000, "1"),
	{ "messages", CONF_CHOICE, AT(dnstap), .choices = messages, .preset = "both",
	  .take = taking_messages },
	{ "zone", CONF_NAME, AT(dnstap), .is_list = true, .take = taking_log_zone },
	{ "identity", CONF_TEXT, AT(dnstap.identity), .take = taking_identity },
	{ "version", CONF_TEXT, AT(dnstap.version), .take = taking_version },
};

/* The program is in the kernel, where a reload leaves it. */
static const struct conf_item xdp_items[] = {
	{ "interface", CONF_TEXT, AT(xdp.interfaces), .max = IF_NAMESIZE - 1, .is_list = true,
	  .take = taking_interface, .needs_restart = true },
	{ "mode", CONF_CHOICE, AT(xdp.mode), .choices = modes, .preset = "auto",
	  .needs_restart = true },
	/* Below 4 GiB, since kernels before 6.0 multiply in 32 bits. */
	{ "memory", CONF_SIZE, AT(xdp.memory_size), .min = 1 << 20, .max = (int64_t)3 << 30,
	  .preset = "256M", .needs_restart = true },
	{ "keep", CONF_SECONDS, AT(xdp.keep_s), .max = 3600, .preset = "0s",
	  .needs_restart = true },
};

static const struct conf_item key_items[] = {
	{ "id", CONF_NAME, .take = taking_key },
	{ "algorithm", CONF_CHOICE, IN(key, algorithm), .choices = tsig_algorithms,
	  .preset = "hmac-sha256" },
	{ "secret", CONF_TEXT, IN(key, secret), .max = SETTINGS_SECRET_MAX, .is_secret = true,
	  .take = taking_text },
};

static const struct conf_item secondary_items[] = {
	{ "id", CONF_TEXT, .max = SETTINGS_ID_MAX, .take = taking_secondary },
	{ "address", CONF_ADDRESS, .min = 1, .default_port = 53, .is_list = true,
	  .take = taking_address },
	PREFIXES("allow", IN(secondary, allow)),
	{ "key", CONF_NAME, IN(secondary, key_name), .take = taking_name },
};

static const struct conf_item access_items[] = {
	{ "id", CONF_TEXT, .max = SETTINGS_ID_MAX, .take = taking_rule },
	{ "action", CONF_CHOICE, IN(rule, action), .choices = actions, .preset = "allow" },
	PREFIXES("address", IN(rule, addresses)),
	{ "key", CONF_NAME, IN(rule, key_name), .take = taking_name },
};

static const struct conf_item zone_items[] = {
	{ "domain", CONF_NAME, .take = taking_zone },
	{ "store", CONF_TEXT, .max = PATH_MAX - 1, IN(zone, store), .take = taking_store },
	{ "classic", CONF_NAME, .is_list = true, .take = taking_classic },
	{ "also", CONF_NAME, .is_list = true, .take = taking_also },
	{ "secondary", CONF_TEXT, IN(zone, secondaries), .max = SETTINGS_ID_MAX, .is_list = true,
	  .take = taking_link },
	{ "access", CONF_TEXT, IN(zone, rules), .max = SETTINGS_ID_MAX, .is_list = true,
	  .take = taking_link },
	{ "neighbours", CONF_NUMBER, IN(zone, neighbours), .max = SETTINGS_NEIGHBOURS_MAX,
	  .preset = "4" },
};

/* The last of each array: what entries are begun with adds one. */
#define FIND(name, array, count)                                                                   \
	static void *name(void *context)                                                           \
	{                                                                                          \
		struct settings *settings = context;                                               \
		return &settings->array[settings->count - 1];                                      \
	}
FIND(find_key, keys, key_count)
FIND(find_secondary, secondaries, secondary_count)
FIND(find_rule, rules, rule_count)
FIND(find_zone, zones, zone_count)

static const struct conf_section sections[] = {
	{ "server", CONF_ITEMS(server_items) },
	{ "dnstap", CONF_ITEMS(dnstap_items) },
	{ "xdp", CONF_ITEMS(xdp_items) },
	{ "key", CONF_ITEMS(key_items), .find_entry = find_key },
	{ "secondary", CONF_ITEMS(secondary_items), .find_entry = find_secondary },
	{ "access", CONF_ITEMS(access_items), .find_entry = find_rule },
	{ "zone", CONF_ITEMS(zone_items), .find_entry = find_zone },
};

const struct conf_table settings_table = { CONF_SECTIONS(sections) };

/* ---- life ---- */

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
	free(secondary->allow.all);
	free(secondary->key_name.text);
}

static void rule_deinit(struct settings_rule *rule)
{
	free(rule->id);
	free(rule->addresses.all);
	free(rule->key_name.text);
}

static void links_deinit(struct settings_links *links)
{
	for (size_t i = 0; i < links->count; i++)
		free(links->ids[i]);
	free(links->ids);
	free(links->indices);
}

static void zone_deinit(struct settings_zone *zone)
{
	links_deinit(&zone->secondaries);
	links_deinit(&zone->rules);
	free(zone->domain.text);
	for (size_t i = 0; i < zone->other_count; i++)
		free(zone->others[i].name.text);
	free(zone->others);
	free(zone->store);
}

void settings_deinit(struct settings *settings)
{
	for (size_t i = 0; i < settings->dnstap.zone_count; i++)
		free(settings->dnstap.zones[i].text);
	free(settings->dnstap.zones);
	for (size_t i = 0; i < settings->zone_count; i++)
		zone_deinit(&settings->zones[i]);
	for (size_t i = 0; i < settings->secondary_count; i++)
		secondary_deinit(&settings->secondaries[i]);
	for (size_t i = 0; i < settings->key_count; i++)
		key_deinit(&settings->keys[i]);
	for (size_t i = 0; i < settings->rule_count; i++)
		rule_deinit(&settings->rules[i]);
	free(settings->rate_limit_allow.all);
	free(settings->rules);
	free(settings->zones);
	free(settings->secondaries);
	free(settings->keys);
	free(settings->tsig_keys);
	memset(settings, 0, sizeof(*settings));
}

/* ---- reading ---- */

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
	memset(settings, 0, sizeof(*settings));
	settings->directory = directory;
	int ret = conf_parse(text, text_size, &settings_table, settings, reterr_error);
	settings->directory = NULL;
	return ret == 0 ? taking_finish(settings, reterr_error) : ret;
}

int settings_read(struct settings *settings, const char *path, struct conf_error *reterr_error)
{
	char directory[PATH_MAX];
	char *text = NULL;
	size_t size = 0;
	struct stat status;
	memset(settings, 0, sizeof(*settings));
	int ret = find_directory(path, directory);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", strerror(-ret));
	ret = conf_load(path, &text, &size, reterr_error);
	if (ret != 0)
		return ret;
	ret = settings_parse(settings, text, size, directory, reterr_error);
	free(text);
	settings->is_exposed = settings->key_count + settings->cookies.count > 0 &&
			       stat(path, &status) == 0 && (status.st_mode & S_IROTH) != 0;
	return ret;
}

const char *settings_store_path(const struct settings *settings, size_t index)
{
	const char *path = settings->zones[index].store;
	size_t size = strlen(settings->chroot_path);
	return strncmp(path, settings->chroot_path, size) == 0 && path[size] == '/' ? path + size
										    : path;
}

bool settings_prefixes_have(const struct settings_prefixes *prefixes, struct dnsblv6_addr client)
{
	bool is_ipv4 = dnsblv6_addr_is_ipv4(client);
	for (size_t i = 0; i < prefixes->count; i++) {
		struct dnsblv6_prefix prefix = prefixes->all[i];
		if (dnsblv6_prefix_is_ipv4(prefix) == is_ipv4 &&
		    dnsblv6_prefix_contains(prefix, client))
			return true;
	}
	return false;
}

/* Does the section say anything but defaults, and not where to? */
static bool is_lost(const struct settings_dnstap *log)
{
	bool is_usual = log->every == 1 && log->has_queries && log->has_responses &&
			log->zone_count == 0 && log->identity[0] == '\0' && log->version[0] == '\0';
	return log->path[0] == '\0' && !is_usual;
}

void settings_log_warnings(const char *path, const struct settings *settings)
{
	if (is_lost(&settings->dnstap))
		log_warning(path, "query log without socket or file, nothing is logged");
	if (settings->is_exposed)
		log_warning(path, "configuration has secrets and everybody may read it");
}
