/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lists.h"

#include <string.h>

#include "client-lib/servers.h"
#include "client-lib/sites.h"

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

/* ---- mode and on-failure ---- */

/* One of the two options. */
struct choices {
	const char *const *words;
	const char *permitted;
	void (*put)(struct config_policy *policy, int choice);
};

static void put_mode(struct config_policy *policy, int choice)
{
	policy->has_mode = true;
	policy->mode = (enum config_mode)choice;
}

static void put_failure(struct config_policy *policy, int choice)
{
	policy->has_failure = true;
	policy->on_failure = (enum config_failure)choice;
}

/* WORD or NAME=WORD: which WORD it is, and the name or "". */
static const char *parse_choice(struct word word, const struct choices *choices, int *ret_choice,
				char *ret_text)
{
	const char *equals = memchr(word.text, '=', word.size);
	struct dnsblv6_labels labels;
	struct word choice = word;

	ret_text[0] = '\0';
	if (equals != NULL) {
		choice.text = equals + 1;
		choice.size = (size_t)(word.text + word.size - choice.text);
	}
	*ret_choice = words_find(choice, choices->words);
	if (*ret_choice < 0)
		return choices->permitted;
	if (equals == NULL)
		return NULL;
	return sites_parse_name(word.text, (size_t)(equals - word.text), &labels, ret_text);
}

unsigned lists_find_policy(const struct config *config, const char *text)
{
	unsigned index = 0;

	while (index < config->policy_count && strcmp(config->policies[index].text, text) != 0)
		index++;
	return index;
}

static struct config_policy *get_policy(struct config *config, const char *text)
{
	const unsigned index = lists_find_policy(config, text);
	struct config_policy *policy = &config->policies[index];

	if (index == config->policy_count) {
		*policy = (struct config_policy){ .has_mode = false };
		memcpy(policy->text, text, strlen(text) + 1);
		config->policy_count++;
	}
	return policy;
}

static const char *set_choices(struct config *config, const struct choices *choices,
			       const char *value, struct word *ret_word)
{
	char text[CONFIG_TEXT_MAX];
	struct word word;
	unsigned words = 0, added = 0;
	int choice;

	for (const char *rest = value; (word = words_next(&rest)).size > 0; words++) {
		const char *reason = parse_choice(word, choices, &choice, text);

		*ret_word = word;
		if (reason != NULL)
			return reason;
		if (lists_find_policy(config, text) == config->policy_count &&
		    config->policy_count + ++added > 1 + CONFIG_ZONES_MAX)
			return "there are at most 64 zones";
	}
	if (words == 0)
		return choices->permitted;
	for (const char *rest = value; (word = words_next(&rest)).size > 0;) {
		if (parse_choice(word, choices, &choice, text) == NULL)
			choices->put(get_policy(config, text), choice);
	}
	return NULL;
}

const char *lists_set_modes(struct config *config, const char *value, struct word *ret_word)
{
	/* In the order of enum config_mode. */
	static const char *const words[] = { "auto", "bitmap", "classic", NULL };
	static const struct choices choices = {
		words, "permitted are auto, bitmap and classic, and with NAME= before them",
		put_mode
	};

	return set_choices(config, &choices, value, ret_word);
}

const char *lists_set_failures(struct config *config, const char *value, struct word *ret_word)
{
	/* In the order of enum config_failure. */
	static const char *const words[] = { "open", "closed", "defer", NULL };
	static const struct choices choices = {
		words, "permitted are open, closed and defer, and with NAME= before them",
		put_failure
	};

	return set_choices(config, &choices, value, ret_word);
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
	return NULL;
}

const char *lists_set_trusted(struct config *config, const char *value, struct word *ret_word)
{
	const bool is_none = strcmp(value, "none") == 0;

	if (!parse_servers(is_none ? "" : value, config->trusted, &config->trusted_count, ret_word))
		return SERVER_PERMITS ", or none";
	config->trusts_nobody = is_none;
	return NULL;
}
