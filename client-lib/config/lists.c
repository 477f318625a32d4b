/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config/lists.h"

#include <stdio.h>
#include <string.h>

#include "client-lib/dnsblv6.h"
#include "client-lib/config/servers.h"
#include "client-lib/config/sites.h"
#include "lib/format/address.h"

/* ---- zones ---- */

unsigned lists_find_zone(const struct config *config, const char *text)
{
	unsigned zone = 0;

	while (zone < config->zone_count && strcmp(config->zones[zone].text, text) != 0)
		zone++;
	return zone;
}

uint64_t lists_find_entries(const struct config *config, struct word name)
{
	char text[CONFIG_TEXT_MAX];
	struct dnsblv6_labels labels;
	bool is_name = sites_parse_name(name.text, name.size, &labels, text) == NULL;
	uint64_t found = 0;

	for (unsigned i = 0; i < config->entry_count; i++) {
		const struct config_entry *entry = &config->entries[i];

		if ((is_name && strcmp(config->zones[entry->zone].text, text) == 0) ||
		    words_is(name, entry->label))
			found |= UINT64_C(1) << i;
	}
	return found;
}

/* Each once, as long as there is room. */
static void add_label(struct config_zone *zone, const char *label)
{
	const size_t used = strlen(zone->labels);
	struct word word;

	for (const char *rest = zone->labels; (word = words_next(&rest)).size > 0;) {
		if (words_is(word, label))
			return;
	}
	if (label[0] != '\0' && used + 1 + strlen(label) < sizeof(zone->labels))
		snprintf(zone->labels + used, sizeof(zone->labels) - used, "%s%s",
			 used > 0 ? "," : "", label);
}

static void add_entry(struct config *config, const struct sites_entry *site)
{
	const unsigned index = lists_find_zone(config, site->text);

	if (index == config->zone_count) {
		struct config_zone *zone = &config->zones[config->zone_count++];

		*zone = (struct config_zone){ .name = site->name };
		memcpy(zone->text, site->text, sizeof(zone->text));
	}
	struct config_entry *entry = &config->entries[config->entry_count++];

	*entry = (struct config_entry){ (uint8_t)index, site->weight, site->filter, "" };
	memcpy(entry->label, site->label, sizeof(entry->label));
	add_label(&config->zones[index], site->label);
}

const char *lists_set_zones(struct config *config, const char *value, struct word *ret_word)
{
	static const char permitted[] =
		"permitted are 1 to 64 entries NAME[=FILTER[=LABEL]][*WEIGHT]";
	struct sites_entry site;
	struct word word;
	unsigned count = 0;

	/* Nothing is changed before all of it is known to be good. */
	for (const char *rest = value; (word = words_next(&rest)).size > 0;) {
		const char *reason = sites_parse(word.text, word.size, &site);

		*ret_word = word;
		if (reason != NULL)
			return reason;
		if (++count > CONFIG_ENTRIES_MAX)
			return permitted;
	}
	if (count == 0)
		return permitted;
	config->entry_count = config->zone_count = 0;
	for (const char *rest = value; (word = words_next(&rest)).size > 0;) {
		if (sites_parse(word.text, word.size, &site) == NULL)
			add_entry(config, &site);
	}
	return NULL;
}

/* ---- what may be set for one zone ---- */

/* One of the options. */
struct trait {
	const char *const *words; /* in the order of its enum; NULL: lists_parse_point() */
	const char *permitted;
};

static const char *const mode_words[] = { "auto", "bitmap", "classic", NULL };
static const char *const failure_words[] = { "open", "closed", "defer", NULL };
static const char *const secure_words[] = { "auto", "yes", "no", NULL };
static const char *const kind_words[] = { "addresses", "names", "sites", "hashes", NULL };

static const struct trait traits[CONFIG_TRAITS] = {
	[CONFIG_MODE] = { mode_words,
			  "permitted are auto, bitmap and classic, and with NAME= before them" },
	[CONFIG_FAILURE] = { failure_words,
			     "permitted are open, closed and defer, and with NAME= before them" },
	[CONFIG_SECURE] = { secure_words,
			    "permitted are auto, yes and no, and with NAME= before them" },
	[CONFIG_KIND] = { kind_words, "permitted are addresses, names, sites and hashes, and with "
				      "NAME= before them" },
	[CONFIG_POINT] = { NULL, "permitted are a name, an IPv4 address and none, and with NAME= "
				 "before them" },
};

bool lists_parse_point(const char *text, size_t size, struct dnsblv6_labels *ret_point)
{
	char copy[CONFIG_TEXT_MAX];
	struct dnsblv6_ip ip;

	if (size == 0 || size >= sizeof(copy))
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (dnsblv6_ip_parse(copy, &ip) < 0)
		return sites_parse_labels(text, size, ret_point, copy) == NULL;
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip.bytes);

	if (!dnsblv6_addr_is_ipv4(addr))
		return false;
	dnsblv6_name_make_classic(addr, ret_point);
	return true;
}

/* WORD, into what *policy has of the option. */
static bool parse_trait(struct word word, enum config_trait trait, struct config_policy *policy)
{
	policy->has[trait] = true;
	if (traits[trait].words != NULL) {
		policy->choices[trait] = words_find(word, traits[trait].words);
		return policy->choices[trait] >= 0;
	}
	policy->point.size = 0;
	return words_is(word, "none") || lists_parse_point(word.text, word.size, &policy->point);
}

/* WORD or NAME=WORD: *ret_policy has that name, or "", and nothing but this option. */
static const char *parse_policy(struct word word, enum config_trait trait,
				struct config_policy *ret_policy)
{
	const char *equals = memchr(word.text, '=', word.size);
	struct dnsblv6_labels labels;
	struct word value = word;

	*ret_policy = (struct config_policy){ .text = "" };
	if (equals != NULL) {
		value.text = equals + 1;
		value.size = (size_t)(word.text + word.size - value.text);
	}
	if (!parse_trait(value, trait, ret_policy))
		return traits[trait].permitted;
	if (equals == NULL)
		return NULL;
	return sites_parse_name(word.text, (size_t)(equals - word.text), &labels, ret_policy->text);
}

unsigned lists_find_policy(const struct config *config, const char *text)
{
	unsigned index = 0;

	while (index < config->policy_count && strcmp(config->policies[index].text, text) != 0)
		index++;
	return index;
}

static void merge_policy(struct config *config, enum config_trait trait,
			 const struct config_policy *added)
{
	const unsigned index = lists_find_policy(config, added->text);
	struct config_policy *policy = &config->policies[index];

	if (index == config->policy_count) {
		*policy = *added;
		config->policy_count++;
		return;
	}
	policy->has[trait] = true;
	policy->choices[trait] = added->choices[trait];
	if (trait == CONFIG_POINT)
		policy->point = added->point;
}

const char *lists_set_trait(struct config *config, enum config_trait trait, const char *value,
			    struct word *ret_word)
{
	struct config_policy policy;
	struct word word;
	unsigned words = 0, added = 0;

	for (const char *rest = value; (word = words_next(&rest)).size > 0; words++) {
		const char *reason = parse_policy(word, trait, &policy);

		*ret_word = word;
		if (reason != NULL)
			return reason;
		if (lists_find_policy(config, policy.text) == config->policy_count &&
		    config->policy_count + ++added > 1 + CONFIG_ZONES_MAX)
			return "there are at most 64 zones";
	}
	if (words == 0)
		return traits[trait].permitted;
	for (const char *rest = value; (word = words_next(&rest)).size > 0;) {
		if (parse_policy(word, trait, &policy) == NULL)
			merge_policy(config, trait, &policy);
	}
	return NULL;
}

/* ---- servers ---- */

#define SERVER_PERMITS "permitted are up to 8 ADDRESS[@PORT] of hosts, IPv6 also with %INTERFACE"

/* ret_list has CONFIG_SERVERS_MAX places; it and *ret_count are written on success only. */
static bool parse_servers(const char *value, struct sockaddr_in6 *ret_list, unsigned *ret_count,
			  struct word *ret_word)
{
	struct sockaddr_in6 list[CONFIG_SERVERS_MAX];
	unsigned count = 0;
	struct word word;

	while ((word = words_next(&value)).size > 0) {
		*ret_word = word;
		if (count == CONFIG_SERVERS_MAX ||
		    !servers_parse_with_port(word.text, word.size, &list[count]))
			return false;
		count++;
	}
	memcpy(ret_list, list, count * sizeof(list[0]));
	*ret_count = count;
	return true;
}

const char *lists_set_servers(struct config *config, const char *value, struct word *ret_word)
{
	struct sockaddr_in6 list[CONFIG_SERVERS_MAX];
	unsigned count;

	if (!parse_servers(value, list, &count, ret_word))
		return SERVER_PERMITS;
	for (unsigned i = 0; i < count; i++)
		config->servers[i] = (struct config_server){ .address = list[i] };
	config->server_count = count;
	config->has_file_servers = false;
	return NULL;
}

const char *lists_set_trusted(struct config *config, const char *value, struct word *ret_word)
{
	const bool is_none = strcmp(value, "none") == 0;

	if (!parse_servers(is_none ? "" : value, config->trusted, &config->trusted_count, ret_word))
		return SERVER_PERMITS ", or none";
	config->trusts_no_server = is_none;
	return NULL;
}
