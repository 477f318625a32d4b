/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "client-lib/cache/cache.h"
#include "client-lib/config/lists.h"
#include "client-lib/config/servers.h"
#include "client-lib/config/sites.h"
#include "client-lib/config/words.h"
#include "lib/format/ascii.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define LOCALHOST   "127.0.0.1" /* where libc asks, too, without a server */

struct unit {
	const char *name;
	uint64_t factor;
};

/* A row: key and set(), and of the rest what that takes. */
struct option {
	const char *key;
	int (*set)(struct config *config, const struct option *option, const char *value,
		   char *ret_error);
	size_t offset; /* of the member */
	const char *permitted;
	uint64_t min, max;
	bool takes_zero; /* although it is less than min */
	const struct unit *units;
	const char *words[3]; /* for false, for true, and NULL */
	/* Of a list; NULL: trait is what it may set for one zone, too. */
	const char *(*set_words)(struct config *config, const char *value, struct word *ret_word);
	enum config_trait trait;
};

static void *member_of(struct config *config, const struct option *option)
{
	return (char *)config + option->offset;
}

/* ---- refusals ---- */

static int refuse_value(const struct option *option, const char *value, char *ret_error)
{
	return words_refuse(option->key, words_whole(value), option->permitted, ret_error);
}

/* ---- numbers ---- */

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit bytes_units[] = { { "", 1 },
					   { "K", UINT64_C(1) << 10 },
					   { "M", UINT64_C(1) << 20 },
					   { "G", UINT64_C(1) << 30 },
					   { NULL, 0 } };
static const struct unit seconds_units[] = { { "", 1 },	    { "s", 1 },	    { "m", 60 },
					     { "h", 3600 }, { "d", 86400 }, { NULL, 0 } };
static const struct unit ms_units[] = { { "", 1 }, { "ms", 1 }, { "s", 1000 }, { NULL, 0 } };
static const struct unit percent_units[] = { { "", 1 }, { "%", 1 }, { NULL, 0 } };

static bool parse_number(const char *text, const struct unit *units, uint64_t max,
			 uint64_t *ret_number)
{
	const int64_t number = ascii_take_number(&text, NULL, (int64_t)max);

	if (number < 0)
		return false;
	while (units->name != NULL && strcmp(text, units->name) != 0)
		units++;
	if (units->name == NULL || (uint64_t)number > max / units->factor)
		return false;
	*ret_number = (uint64_t)number * units->factor;
	return true;
}

static bool read_number(const struct option *option, const char *value, uint64_t *ret_number)
{
	return parse_number(value, option->units, option->max, ret_number) &&
	       (*ret_number >= option->min || (*ret_number == 0 && option->takes_zero));
}

static int set_number(struct config *config, const struct option *option, const char *value,
		      char *ret_error)
{
	uint64_t number;

	if (!read_number(option, value, &number))
		return refuse_value(option, value, ret_error);
	*(uint32_t *)member_of(config, option) = (uint32_t)number;
	return 0;
}

/* As set_number(), of a member with 64 bits. */
static int set_size(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	uint64_t number;

	if (!read_number(option, value, &number))
		return refuse_value(option, value, ret_error);
	*(uint64_t *)member_of(config, option) = number;
	return 0;
}

/* ---- words and paths ---- */

static int set_word(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	const int found = words_find(words_whole(value), option->words);

	if (found < 0)
		return refuse_value(option, value, ret_error);
	*(bool *)member_of(config, option) = found == 1;
	return 0;
}

/* Absolute, since the caller may change its directory; min 0: or none at all. */
static int set_path(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	const size_t size = strlen(value);

	if (size < option->min || size > option->max || (size > 0 && value[0] != '/'))
		return refuse_value(option, value, ret_error);
	memcpy(member_of(config, option), value, size + 1);
	return 0;
}

/* ---- lists ---- */

static int set_list(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	struct word word = words_whole(value);
	const char *reason = option->set_words != NULL
				     ? option->set_words(config, value, &word)
				     : lists_set_trait(config, option->trait, value, &word);

	return reason == NULL ? 0 : words_refuse(option->key, word, reason, ret_error);
}

/* ---- the table ---- */

#define MEMBER(name) offsetof(struct config, name)

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, WEEK = 604800 };
#define SECONDS ", with s, m, h or d"
#define NUMBER(member, least, most, unit)                                                          \
	MEMBER(member), .min = (least), .max = (most), .units = (unit)

static const struct option options[] = {
	{ "zones", set_list, .set_words = lists_set_zones },
	{ "threshold", set_number,
	  NUMBER(threshold, 1, CONFIG_ENTRIES_MAX *SITES_WEIGHT_MAX, no_units),
	  .permitted = "permitted is 1 to 64000000" },
	{ "scope", set_word, MEMBER(asks_private), "permitted are global and all",
	  .words = { "global", "all" } },
	{ "servers", set_list, .set_words = lists_set_servers },
	{ "trusted", set_list, .set_words = lists_set_trusted },
	{ "on-failure", set_list, .trait = CONFIG_FAILURE },
	{ "mode", set_list, .trait = CONFIG_MODE },
	{ "secure", set_list, .trait = CONFIG_SECURE },
	{ "cache-size", set_size,
	  NUMBER(cache_size, CACHE_SIZE_MIN, UINT64_C(64) << 30, bytes_units),
	  .permitted = "permitted is 8K to 64G, in bytes or with K, M or G" },
	{ "shared", set_path, MEMBER(shared),
	  "permitted is an absolute path of at most 90 bytes, or nothing",
	  .max = CONFIG_SHARED_MAX },
	{ "role", set_word, MEMBER(shared_writer), "permitted are client and writer",
	  .words = { "client", "writer" } },
	{ "min-ttl", set_number, NUMBER(min_ttl_s, 1, HOUR, seconds_units),
	  .permitted = "permitted is 1 to 3600 seconds" SECONDS },
	{ "max-ttl", set_number, NUMBER(max_ttl_s, 1, WEEK, seconds_units),
	  .permitted = "permitted is 1 to 604800 seconds" SECONDS },
	{ "max-negative-ttl", set_number, NUMBER(max_negative_ttl_s, 1, WEEK, seconds_units),
	  .permitted = "permitted is 1 to 604800 seconds" SECONDS },
	{ "failure-ttl", set_number, NUMBER(failure_ttl_s, 5, 30, seconds_units),
	  .permitted = "permitted is 5 to 30 seconds" SECONDS },
	{ "max-stale", set_number, NUMBER(max_stale_s, 0, WEEK, seconds_units),
	  .permitted = "permitted is 0 to 604800 seconds" SECONDS },
	{ "prefetch", set_number, NUMBER(prefetch_percent, 0, 90, percent_units),
	  .permitted = "permitted is 0 to 90 percent" },
	{ "probe-interval", set_number, NUMBER(probe_interval_s, MINUTE, WEEK, seconds_units),
	  .takes_zero = true, .permitted = "permitted is 60 to 604800 seconds" SECONDS ", or 0" },
	{ "max-requests", set_number, NUMBER(max_requests, 1, 65536, no_units),
	  .permitted = "permitted is 1 to 65536" },
	{ "max-sockets", set_number,
	  NUMBER(max_sockets, CONFIG_SOCKETS_MIN, CONFIG_SOCKETS_MAX, no_units),
	  .permitted = "permitted is 4 to 16384" },
	{ "attempt-timeout", set_number, NUMBER(attempt_timeout_ms, 20, 30000, ms_units),
	  .permitted = "permitted is 20 to 30000 milliseconds, with ms or s" },
	{ "mixed-case", set_word, MEMBER(mixed_case), "permitted are yes and no",
	  .words = { "no", "yes" } },
	{ "ranges", set_word, MEMBER(use_ranges), "permitted are yes and no",
	  .words = { "no", "yes" } },
	{ "resolv-conf", set_path, MEMBER(resolv_conf),
	  "permitted is an absolute path of at most 255 bytes", .min = 1,
	  .max = CONFIG_TEXT_MAX - 1 },
	{ "kind", set_list, .trait = CONFIG_KIND },
	{ "test-point", set_list, .trait = CONFIG_POINT },
};
enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) };

const char *config_key(unsigned index)
{
	return index < OPTION_COUNT ? options[index].key : NULL;
}

int config_set(struct config *config, const char *key, const char *value, char *ret_error)
{
	for (unsigned i = 0; i < OPTION_COUNT; i++) {
		if (strcmp(options[i].key, key) == 0)
			return options[i].set(config, &options[i], value, ret_error);
	}
	return words_refuse("option", words_whole(key),
			    "there is no such key, libdnsblv6(3) has them all", ret_error);
}

void config_init(struct config *config)
{
	*config = (struct config){
		.threshold = 1,
		.cache_size = UINT64_C(4) << 20,
		.min_ttl_s = 5,
		.max_ttl_s = DAY,
		.max_negative_ttl_s = HOUR,
		.failure_ttl_s = 10,
		.max_stale_s = 3 * HOUR,
		.prefetch_percent = 10,
		.probe_interval_s = 60 * MINUTE,
		.max_requests = 4096,
		.attempt_timeout_ms = 500,
		.use_ranges = true,
		.resolv_conf = RESOLV_CONF,
		.policy_count = 1, /* the one for all zones */
	};
}

/* ---- what belongs together ---- */

static int check_ttl(const char *key, uint32_t max_ttl_s, uint32_t min_ttl_s, char *ret_error)
{
	if (max_ttl_s >= min_ttl_s)
		return 0;
	(void)snprintf(ret_error, CONFIG_ERROR_MAX, "%s \"%" PRIu32 "\": below min-ttl, %" PRIu32,
		       key, max_ttl_s, min_ttl_s);
	return -EINVAL;
}

/* The first option that was set for a zone. */
static const char *policy_key(const struct config_policy *policy)
{
	const struct option *option = options;
	unsigned trait = 0;

	while (!policy->has[trait])
		trait++;
	while (option->set != set_list || option->set_words != NULL || option->trait != trait)
		option++;
	return option->key;
}

static int check(const struct config *config, char *ret_error)
{
	int ret = check_ttl("max-ttl", config->max_ttl_s, config->min_ttl_s, ret_error);

	if (ret == 0)
		ret = check_ttl("max-negative-ttl", config->max_negative_ttl_s, config->min_ttl_s,
				ret_error);
	if (ret != 0)
		return ret;
	if (config->zone_count == 0)
		return words_refuse("zones", words_whole(""), "there is nothing to ask", ret_error);
	if (config->shared_writer && config->shared[0] == '\0')
		return words_refuse("role", words_whole("writer"),
				    "\"shared\" does not say where to write", ret_error);
	for (unsigned i = 1; i < config->policy_count; i++) {
		const struct config_policy *policy = &config->policies[i];

		if (lists_find_zone(config, policy->text) == config->zone_count)
			return words_refuse(policy_key(policy), words_whole(policy->text),
					    "\"zones\" does not have it", ret_error);
	}
	return 0;
}

/* Without a limit, or with one that is not known, UINT64_MAX. */
static uint64_t find_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return (uint64_t)limit.rlim_cur; /* FreeBSD's is signed */
}

/* The program has descriptors of its own to open: a quarter of all. */
static uint32_t choose_sockets(uint64_t limit)
{
	const uint64_t quarter = limit / 4;

	if (quarter >= CONFIG_SOCKETS + CONFIG_FDS)
		return CONFIG_SOCKETS;
	return quarter > CONFIG_SOCKETS_MIN + CONFIG_FDS ? (uint32_t)(quarter - CONFIG_FDS)
							 : CONFIG_SOCKETS_MIN;
}

static int set_sockets(struct config *config, char *ret_error)
{
	const uint64_t limit = find_descriptor_limit();
	char value[sizeof("4294967295")];

	if (config->max_sockets == 0)
		config->max_sockets = choose_sockets(limit);
	if (config->max_sockets + CONFIG_FDS < limit)
		return 0;
	snprintf(value, sizeof(value), "%" PRIu32, config->max_sockets);
	return words_refuse("max-sockets", words_whole(value),
			    "RLIMIT_NOFILE does not let this process open as many", ret_error);
}

/* What counts for the zone: what was set for it, or for all. */
static const struct config_policy *
find_policy(const struct config *config, const struct config_zone *zone, enum config_trait trait)
{
	const unsigned index = lists_find_policy(config, zone->text);

	if (index < config->policy_count && config->policies[index].has[trait])
		return &config->policies[index];
	return &config->policies[0];
}

/* What lists are to have, RFC 5782 parts 5 and 2.4. There is nothing of the kind for hashes. */
static void set_point(const struct config *config, struct config_zone *zone)
{
	static const char *const usual[CONFIG_KINDS] = {
		[CONFIG_ADDRESSES] = "127.0.0.2",
		[CONFIG_NAMES] = "test",
		[CONFIG_SITES] = "127.0.0.2",
		[CONFIG_HASHES] = "",
	};
	const struct config_policy *policy = find_policy(config, zone, CONFIG_POINT);

	if (policy->has[CONFIG_POINT])
		zone->point = policy->point;
	else if (!lists_parse_point(usual[zone->kind], strlen(usual[zone->kind]), &zone->point))
		zone->point.size = 0;
}

static void set_zone_policies(struct config *config)
{
	for (unsigned i = 0; i < config->zone_count; i++) {
		struct config_zone *zone = &config->zones[i];

		zone->mode = (enum config_mode)find_policy(config, zone, CONFIG_MODE)
				     ->choices[CONFIG_MODE];
		zone->on_failure = (enum config_failure)find_policy(config, zone, CONFIG_FAILURE)
					   ->choices[CONFIG_FAILURE];
		zone->secure = (enum config_secure)find_policy(config, zone, CONFIG_SECURE)
				       ->choices[CONFIG_SECURE];
		zone->kind = (enum config_kind)find_policy(config, zone, CONFIG_KIND)
				     ->choices[CONFIG_KIND];
		if (zone->kind != CONFIG_ADDRESSES)
			zone->mode = CONFIG_CLASSIC; /* there are bitmaps of addresses alone */
		set_point(config, zone);
	}
}

static void set_topics(struct config *config)
{
	uint64_t kinds[CONFIG_KINDS] = { 0 };

	for (unsigned i = 0; i < config->entry_count; i++)
		kinds[config->zones[config->entries[i].zone].kind] |= UINT64_C(1) << i;
	config->asked[CONFIG_ADDRESS] = kinds[CONFIG_ADDRESSES];
	config->asked[CONFIG_NAME] = kinds[CONFIG_NAMES] | kinds[CONFIG_SITES];
	config->asked[CONFIG_SITE] = kinds[CONFIG_SITES];
	memcpy(config->askable, config->asked, sizeof(config->askable));
	config->askable[CONFIG_NAME] |= kinds[CONFIG_HASHES];
}

static void take_servers(struct config *config, const struct servers *servers)
{
	config->server_count = servers->count;
	memcpy(config->servers, servers->list, servers->count * sizeof(servers->list[0]));
}

/* What cannot be read now, as without a descriptor, is tried again at the next look. */
static void read_servers(struct config *config, struct servers *ret_servers)
{
	if (!servers_read(config->resolv_conf, ret_servers))
		config->resolv_stamp = (struct config_stamp){ 0 };
}

/* Does resolv.conf say that they are to be believed? */
static bool find_servers(struct config *config)
{
	struct servers servers;

	if (config->server_count > 0 && !config->has_file_servers)
		return false;
	config->has_file_servers = true;
	servers_has_changed(config->resolv_conf, &config->resolv_stamp);
	read_servers(config, &servers);
	config->lacks_servers = servers.count == 0 && strcmp(config->resolv_conf, RESOLV_CONF) != 0;
	if (servers.count == 0 &&
	    servers_parse(LOCALHOST, strlen(LOCALHOST), &servers.list[0].address))
		servers.count = 1;
	take_servers(config, &servers);
	return servers.trusts_ad;
}

/* An address with any port. */
static bool is_named(const struct config *config, const struct sockaddr_in6 *address)
{
	for (unsigned i = 0; i < config->trusted_count; i++) {
		if (memcmp(&config->trusted[i].sin6_addr, &address->sin6_addr,
			   sizeof(address->sin6_addr)) == 0 &&
		    config->trusted[i].sin6_scope_id == address->sin6_scope_id)
			return true;
	}
	return false;
}

static void set_trust(struct config *config, bool trusts_ad)
{
	for (unsigned i = 0; i < config->server_count; i++) {
		struct config_server *server = &config->servers[i];

		server->is_trusted = !config->trusts_no_server &&
				     (trusts_ad || servers_is_loopback(&server->address) ||
				      is_named(config, &server->address));
	}
}

bool config_trusts_servers(const struct config *config)
{
	if (config->resolver != NULL)
		return true; /* it says of each answer whether it was validated */
	for (unsigned i = 0; i < config->server_count; i++) {
		if (!config->servers[i].is_trusted)
			return false;
	}
	return true;
}

static bool is_same(const struct config_server *a, const struct config_server *b)
{
	return memcmp(&a->address, &b->address, sizeof(a->address)) == 0 &&
	       a->is_trusted == b->is_trusted;
}

bool config_renew_servers(struct config *config)
{
	struct config_server was[CONFIG_SERVERS_MAX];
	unsigned was_count = config->server_count;
	struct servers servers;

	if (!config->has_file_servers ||
	    !servers_has_changed(config->resolv_conf, &config->resolv_stamp))
		return false;
	read_servers(config, &servers);
	if (servers.count == 0)
		return false;
	memcpy(was, config->servers, sizeof(was));
	take_servers(config, &servers);
	set_trust(config, servers.trusts_ad);
	if (config->server_count != was_count)
		return true;
	for (unsigned i = 0; i < was_count; i++) {
		if (!is_same(config->servers + i, was + i))
			return true;
	}
	return false;
}

/* Answers that have to be validated must be able to come from somewhere. */
static int check_secure(const struct config *config, char *ret_error)
{
	bool has_trust = config->resolver != NULL || config->shared[0] != '\0';

	for (unsigned i = 0; i < config->server_count; i++)
		has_trust = has_trust || config->servers[i].is_trusted;
	for (unsigned i = 0; i < config->zone_count && !has_trust; i++) {
		if (config->zones[i].secure == CONFIG_SECURE_YES)
			return words_refuse("secure", words_whole("yes"),
					    "there is no server whose AD is believed, see trusted",
					    ret_error);
	}
	return 0;
}

const uint8_t config_errors[CONFIG_KINDS][4] = {
	[CONFIG_NAMES] = { 127, 0, 1, 255 },
	[CONFIG_SITES] = { 127, 0, 0, 1 },
};

/* In 127.0.0.0/8. */
static bool fits_only(const struct config_filter *filter, const uint8_t *a)
{
	for (unsigned i = 1; i < 4; i++) {
		uint64_t only[4] = { 0 };

		only[a[i] / 64] = UINT64_C(1) << a[i] % 64;
		if (memcmp(filter->octets[i], only, sizeof(only)) != 0)
			return false;
	}
	return filter->is_set;
}

/* Errors are no listings whatever the filter: an entry that waits for one would never count. */
static int check_filters(const struct config *config, char *ret_error)
{
	for (unsigned i = 0; i < config->entry_count; i++) {
		const struct config_entry *entry = &config->entries[i];
		const struct config_zone *zone = &config->zones[entry->zone];

		if (config_errors[zone->kind][0] != 0 &&
		    fits_only(&entry->filter, config_errors[zone->kind]))
			return words_refuse(
				"zones", words_whole(zone->text),
				"its filter fits nothing but an answer that is an error",
				ret_error);
	}
	return 0;
}

int config_finish(struct config *config, char *ret_error)
{
	int ret = check(config, ret_error);

	if (ret == 0)
		ret = set_sockets(config, ret_error);
	if (ret != 0)
		return ret;
	set_zone_policies(config);
	ret = check_filters(config, ret_error);
	if (ret != 0)
		return ret;
	set_topics(config);
	set_trust(config, find_servers(config));
	return check_secure(config, ret_error);
}

bool config_filter_fits(const struct config_filter *filter, uint32_t a_be32)
{
	uint8_t octets[4];

	memcpy(octets, &a_be32, sizeof(octets));
	if (!filter->is_set)
		return octets[0] == 127 && !(octets[1] == 255 && octets[2] == 255);
	for (unsigned i = 0; i < 4; i++) {
		if ((filter->octets[i][octets[i] / 64] >> (octets[i] % 64) & 1) == 0)
			return false;
	}
	return true;
}
