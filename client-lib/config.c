/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client-lib/cache.h"
#include "client-lib/servers.h"
#include "client-lib/sites.h"

#define LOCALHOST "127.0.0.1" /* where libc asks, too, without a server */

enum { WORD_CUT = 48 }; /* characters of a refused word that are shown */

/* Part of a value. */
struct word {
	const char *text;
	size_t size;
};

struct unit {
	const char *name;
	uint64_t factor;
};

struct option {
	const char *key;
	int (*set)(struct config *config, const struct option *option, const char *value,
		   char *ret_error);
	size_t offset; /* of the member, for all but lists */
	uint64_t min, max;
	const struct unit *units;
	const char *permitted;
};

/* ---- refusals ---- */

/* Printable ASCII between quotes, cut. */
static void quote(struct word word, char *ret_text)
{
	char *out = ret_text;
	size_t i;

	*out++ = '"';
	for (i = 0; i < word.size && out < ret_text + WORD_CUT; i++) {
		const unsigned char c = (unsigned char)word.text[i];

		if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
			*out++ = (char)c;
		else
			out += snprintf(out, 5, "\\x%02x", c);
	}
	(void)snprintf(out, 5, "%s\"", i < word.size ? "..." : "");
}

static int refuse(const char *key, struct word word, const char *reason, char *ret_error)
{
	char text[WORD_CUT + 10];

	quote(word, text);
	(void)snprintf(ret_error, CONFIG_ERROR_MAX, "%s %s: %s", key, text, reason);
	return -EINVAL;
}

static int refuse_value(const struct option *option, const char *value, char *ret_error)
{
	return refuse(option->key, (struct word){ value, strlen(value) }, option->permitted,
		      ret_error);
}

/* ---- words ---- */

static bool is_divider(char c)
{
	return c == ' ' || c == ',' || c == '\t' || c == '\r' || c == '\n';
}

/* The next word of *value, which moves behind it; an empty one when none is left. */
static struct word next_word(const char **value)
{
	const char *at = *value;
	struct word word;

	while (is_divider(*at))
		at++;
	word = (struct word){ at, 0 };
	while (at[word.size] != '\0' && !is_divider(at[word.size]))
		word.size++;
	*value = at + word.size;
	return word;
}

static bool is_word(struct word word, const char *text)
{
	return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

/* Index in names (NULL behind the last), or -1. */
static int find_word(struct word word, const char *const *names)
{
	for (int i = 0; names[i] != NULL; i++) {
		if (is_word(word, names[i]))
			return i;
	}
	return -1;
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
	const size_t digits = strspn(text, "0123456789");
	uint64_t number = 0;

	if (digits == 0)
		return false;
	for (size_t i = 0; i < digits; i++) {
		number = number * 10 + (uint64_t)(text[i] - '0');
		if (number > max)
			return false;
	}
	while (units->name != NULL && strcmp(text + digits, units->name) != 0)
		units++;
	if (units->name == NULL || number > max / units->factor)
		return false;
	*ret_number = number * units->factor;
	return true;
}

static int set_number(struct config *config, const struct option *option, const char *value,
		      char *ret_error)
{
	uint64_t number;

	if (!parse_number(value, option->units, option->max, &number) || number < option->min)
		return refuse_value(option, value, ret_error);
	*(uint32_t *)(void *)((char *)config + option->offset) = (uint32_t)number;
	return 0;
}

/* As set_number(), but 0 is permitted too. */
static int set_number_or_zero(struct config *config, const struct option *option, const char *value,
			      char *ret_error)
{
	struct option any = *option;
	uint64_t number;

	if (parse_number(value, option->units, option->max, &number) && number == 0)
		any.min = 0;
	return set_number(config, &any, value, ret_error);
}

static int set_size(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	uint64_t number;

	if (!parse_number(value, option->units, option->max, &number) || number < option->min)
		return refuse_value(option, value, ret_error);
	config->cache_size = number;
	return 0;
}

/* ---- words and paths ---- */

static int set_bool(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	static const char *const words[] = { "no", "yes", NULL };
	const int found = find_word((struct word){ value, strlen(value) }, words);

	if (found < 0)
		return refuse_value(option, value, ret_error);
	*(bool *)((char *)config + option->offset) = found == 1;
	return 0;
}

static int set_role(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	static const char *const words[] = { "client", "writer", NULL };
	const int found = find_word((struct word){ value, strlen(value) }, words);

	if (found < 0)
		return refuse_value(option, value, ret_error);
	config->shared_writer = found == 1;
	return 0;
}

/* Absolute, since the caller may change its directory; min 0: or none at all. */
static int set_path(struct config *config, const struct option *option, const char *value,
		    char *ret_error)
{
	const size_t size = strlen(value);

	if (size < option->min || size > option->max || (size > 0 && value[0] != '/'))
		return refuse_value(option, value, ret_error);
	memcpy((char *)config + option->offset, value, size + 1);
	return 0;
}

/* ---- zones ---- */

static unsigned find_zone(const struct config *config, const char *text)
{
	unsigned zone = 0;

	while (zone < config->zone_count && strcmp(config->zones[zone].text, text) != 0)
		zone++;
	return zone;
}

static void add_entry(struct config *config, const struct sites_entry *site)
{
	const unsigned index = find_zone(config, site->text);

	if (index == config->zone_count) {
		struct config_zone *zone = &config->zones[config->zone_count++];

		*zone = (struct config_zone){ .name = site->name };
		memcpy(zone->text, site->text, sizeof(zone->text));
	}
	config->entries[config->entry_count++] =
		(struct config_entry){ (uint8_t)index, site->weight, site->filter };
}

static int set_zones(struct config *config, const struct option *option, const char *value,
		     char *ret_error)
{
	struct sites_entry site;
	struct word word;
	unsigned count = 0;

	/* Nothing is changed before all of it is known to be good. */
	for (const char *rest = value; (word = next_word(&rest)).size > 0;) {
		const char *reason = sites_parse(word.text, word.size, &site);

		if (reason == NULL && ++count > CONFIG_ENTRIES_MAX)
			reason = option->permitted;
		if (reason != NULL)
			return refuse(option->key, word, reason, ret_error);
	}
	if (count == 0)
		return refuse_value(option, value, ret_error);
	config->entry_count = config->zone_count = 0;
	for (const char *rest = value; (word = next_word(&rest)).size > 0;) {
		if (sites_parse(word.text, word.size, &site) == NULL)
			add_entry(config, &site);
	}
	return 0;
}

/* ---- mode and on-failure ---- */

static const char *const mode_words[] = { "auto", "bitmap", "classic", NULL };
static const char *const failure_words[] = { "open", "closed", "defer", NULL };

/* WORD or NAME=WORD: which of names WORD is, and the name or "". NULL or why not. */
static const char *parse_policy(struct word word, const char *const *names, const char *permitted,
				int *ret_choice, char *ret_text)
{
	const char *equals = memchr(word.text, '=', word.size);
	struct dnsblv6_labels labels;
	struct word choice = word;

	ret_text[0] = '\0';
	if (equals != NULL) {
		choice.text = equals + 1;
		choice.size = (size_t)(word.text + word.size - choice.text);
	}
	*ret_choice = find_word(choice, names);
	if (*ret_choice < 0)
		return permitted;
	if (equals == NULL)
		return NULL;
	return sites_parse_name(word.text, (size_t)(equals - word.text), &labels, ret_text);
}

static unsigned find_policy(const struct config *config, const char *text)
{
	unsigned index = 0;

	while (index < config->policy_count && strcmp(config->policies[index].text, text) != 0)
		index++;
	return index;
}

static void put_policy(struct config *config, const char *text, bool is_mode, int choice)
{
	const unsigned index = find_policy(config, text);
	struct config_policy *policy = &config->policies[index];

	if (index == config->policy_count) {
		*policy = (struct config_policy){ .has_mode = false };
		memcpy(policy->text, text, strlen(text) + 1);
		config->policy_count++;
	}
	if (is_mode) {
		policy->has_mode = true;
		policy->mode = (enum config_mode)choice;
	} else {
		policy->has_failure = true;
		policy->on_failure = (enum config_failure)choice;
	}
}

static int set_policy(struct config *config, const struct option *option, const char *value,
		      char *ret_error)
{
	const bool is_mode = strcmp(option->key, "mode") == 0;
	const char *const *names = is_mode ? mode_words : failure_words;
	char text[CONFIG_TEXT_MAX];
	struct word word;
	unsigned words = 0, added = 0;
	int choice;

	for (const char *rest = value; (word = next_word(&rest)).size > 0; words++) {
		const char *reason = parse_policy(word, names, option->permitted, &choice, text);

		if (reason == NULL && find_policy(config, text) == config->policy_count &&
		    config->policy_count + ++added > 1 + CONFIG_ZONES_MAX)
			reason = "there are at most 64 zones";
		if (reason != NULL)
			return refuse(option->key, word, reason, ret_error);
	}
	if (words == 0)
		return refuse_value(option, value, ret_error);
	for (const char *rest = value; (word = next_word(&rest)).size > 0;) {
		if (parse_policy(word, names, option->permitted, &choice, text) == NULL)
			put_policy(config, text, is_mode, choice);
	}
	return 0;
}

/* ---- servers ---- */

/* ADDRESS[@PORT] */
static bool parse_server(struct word word, struct sockaddr_in6 *ret_address)
{
	const char *at = memchr(word.text, '@', word.size);
	uint64_t port = SERVERS_PORT;
	char digits[8];

	if (at != NULL) {
		const size_t size = (size_t)(word.text + word.size - at - 1);

		if (size >= sizeof(digits))
			return false;
		memcpy(digits, at + 1, size);
		digits[size] = '\0';
		if (!parse_number(digits, no_units, UINT16_MAX, &port) || port == 0)
			return false;
		word.size = (size_t)(at - word.text);
	}
	if (!servers_parse(word.text, word.size, ret_address))
		return false;
	ret_address->sin6_port = htons((uint16_t)port);
	return true;
}

/* Either list; *ret_count of at most CONFIG_SERVERS_MAX addresses are written on success only. */
static int parse_servers(const struct option *option, const char *value,
			 struct sockaddr_in6 *ret_list, unsigned *ret_count, char *ret_error)
{
	struct sockaddr_in6 list[CONFIG_SERVERS_MAX];
	unsigned count = 0;
	struct word word;

	while ((word = next_word(&value)).size > 0) {
		if (count == CONFIG_SERVERS_MAX || !parse_server(word, &list[count]))
			return refuse(option->key, word, option->permitted, ret_error);
		count++;
	}
	memcpy(ret_list, list, count * sizeof(list[0]));
	*ret_count = count;
	return 0;
}

static int set_servers(struct config *config, const struct option *option, const char *value,
		       char *ret_error)
{
	struct sockaddr_in6 list[CONFIG_SERVERS_MAX];
	unsigned count;
	const int ret = parse_servers(option, value, list, &count, ret_error);

	if (ret != 0)
		return ret;
	for (unsigned i = 0; i < count; i++)
		config->servers[i] = (struct config_server){ .address = list[i] };
	config->server_count = count;
	return 0;
}

static int set_trusted(struct config *config, const struct option *option, const char *value,
		       char *ret_error)
{
	if (strcmp(value, "none") == 0) {
		config->trusts_nobody = true;
		config->trusted_count = 0;
		return 0;
	}
	const int ret =
		parse_servers(option, value, config->trusted, &config->trusted_count, ret_error);

	if (ret == 0)
		config->trusts_nobody = false;
	return ret;
}

/* ---- the table ---- */

#define MEMBER(name) offsetof(struct config, name)

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, WEEK = 604800 };
#define SECONDS	       ", with s, m, h or d"
#define SERVER_PERMITS "permitted are up to 8 ADDRESS[@PORT] of hosts, IPv6 also with %INTERFACE"

static const struct option options[] = {
	{ "zones", set_zones, 0, 0, 0, NULL,
	  "permitted are 1 to 64 entries NAME[=FILTER][*WEIGHT]" },
	{ "threshold", set_number, MEMBER(threshold), 1, CONFIG_ENTRIES_MAX *SITES_WEIGHT_MAX,
	  no_units, "permitted is 1 to 64000000" },
	{ "servers", set_servers, 0, 0, 0, NULL, SERVER_PERMITS },
	{ "trusted", set_trusted, 0, 0, 0, NULL, SERVER_PERMITS ", or none" },
	{ "on-failure", set_policy, 0, 0, 0, NULL,
	  "permitted are open, closed and defer, and with NAME= before them" },
	{ "mode", set_policy, 0, 0, 0, NULL,
	  "permitted are auto, bitmap and classic, and with NAME= before them" },
	{ "cache-size", set_size, 0, CACHE_SIZE_MIN, UINT64_C(64) << 30, bytes_units,
	  "permitted is 8K to 64G, in bytes or with K, M or G" },
	{ "shared", set_path, MEMBER(shared), 0, CONFIG_SHARED_MAX, NULL,
	  "permitted is an absolute path of at most 90 bytes, or nothing" },
	{ "role", set_role, 0, 0, 0, NULL, "permitted are client and writer" },
	{ "min-ttl", set_number, MEMBER(min_ttl_s), 1, HOUR, seconds_units,
	  "permitted is 1 to 3600 seconds" SECONDS },
	{ "max-ttl", set_number, MEMBER(max_ttl_s), 1, WEEK, seconds_units,
	  "permitted is 1 to 604800 seconds" SECONDS },
	{ "max-negative-ttl", set_number, MEMBER(max_negative_ttl_s), 1, WEEK, seconds_units,
	  "permitted is 1 to 604800 seconds" SECONDS },
	{ "failure-ttl", set_number, MEMBER(failure_ttl_s), 5, 30, seconds_units,
	  "permitted is 5 to 30 seconds" SECONDS },
	{ "max-stale", set_number, MEMBER(max_stale_s), 0, WEEK, seconds_units,
	  "permitted is 0 to 604800 seconds" SECONDS },
	{ "prefetch", set_number, MEMBER(prefetch_percent), 0, 90, percent_units,
	  "permitted is 0 to 90 percent" },
	{ "probe-interval", set_number_or_zero, MEMBER(probe_interval_s), MINUTE, WEEK,
	  seconds_units, "permitted is 60 to 604800 seconds" SECONDS ", or 0" },
	{ "max-requests", set_number, MEMBER(max_requests), 1, 65536, no_units,
	  "permitted is 1 to 65536" },
	{ "attempt-timeout", set_number, MEMBER(attempt_timeout_ms), 20, 30000, ms_units,
	  "permitted is 20 to 30000 milliseconds, with ms or s" },
	{ "mixed-case", set_bool, MEMBER(mixed_case), 0, 0, NULL, "permitted are yes and no" },
	{ "ranges", set_bool, MEMBER(use_ranges), 0, 0, NULL, "permitted are yes and no" },
	{ "resolv-conf", set_path, MEMBER(resolv_conf), 1, CONFIG_TEXT_MAX - 1, NULL,
	  "permitted is an absolute path of at most 255 bytes" },
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
	return refuse("option", (struct word){ key, strlen(key) },
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
		.probe_interval_s = 15 * MINUTE,
		.max_requests = 4096,
		.attempt_timeout_ms = 500,
		.use_ranges = true,
		.resolv_conf = "/etc/resolv.conf",
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

static int check(const struct config *config, char *ret_error)
{
	int ret = check_ttl("max-ttl", config->max_ttl_s, config->min_ttl_s, ret_error);

	if (ret == 0)
		ret = check_ttl("max-negative-ttl", config->max_negative_ttl_s, config->min_ttl_s,
				ret_error);
	if (ret != 0)
		return ret;
	if (config->zone_count == 0)
		return refuse("zones", (struct word){ "", 0 }, "there is nothing to ask",
			      ret_error);
	if (config->shared_writer && config->shared[0] == '\0')
		return refuse("role", (struct word){ "writer", 6 },
			      "\"shared\" does not say where to write", ret_error);
	for (unsigned i = 1; i < config->policy_count; i++) {
		const struct config_policy *policy = &config->policies[i];

		if (find_zone(config, policy->text) == config->zone_count)
			return refuse(policy->has_mode ? "mode" : "on-failure",
				      (struct word){ policy->text, strlen(policy->text) },
				      "\"zones\" does not have it", ret_error);
	}
	return 0;
}

static void set_zone_policies(struct config *config)
{
	const struct config_policy *all = &config->policies[0];

	for (unsigned i = 0; i < config->zone_count; i++) {
		struct config_zone *zone = &config->zones[i];
		const unsigned index = find_policy(config, zone->text);
		const struct config_policy *own =
			index < config->policy_count ? &config->policies[index] : all;

		zone->mode = own->has_mode ? own->mode : all->mode;
		zone->on_failure = own->has_failure ? own->on_failure : all->on_failure;
	}
}

static void find_servers(struct config *config)
{
	struct servers servers;

	if (config->server_count > 0)
		return;
	servers_read(config->resolv_conf, &servers);
	if (servers.count == 0 &&
	    servers_parse(LOCALHOST, strlen(LOCALHOST), &servers.list[0].address))
		servers.count = 1;
	config->server_count = servers.count;
	for (unsigned i = 0; i < servers.count; i++) {
		config->servers[i] = servers.list[i];
		config->servers[i].is_trusted = servers.trusts_ad;
	}
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

static void set_trust(struct config *config)
{
	for (unsigned i = 0; i < config->server_count; i++) {
		struct config_server *server = &config->servers[i];

		server->is_trusted = !config->trusts_nobody &&
				     (server->is_trusted || servers_is_loopback(&server->address) ||
				      is_named(config, &server->address));
	}
}

int config_finish(struct config *config, char *ret_error)
{
	const int ret = check(config, ret_error);

	if (ret != 0)
		return ret;
	set_zone_policies(config);
	find_servers(config);
	set_trust(config);
	return 0;
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
