/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/settings/taking.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/common/log.h"
#include "lib/format/name.h"

/* The sections "key", "secondary", "access" and "zone", which name one another. */

static bool has_name(const struct settings_name *have, const struct conf_value *value)
{
	return have->size == value->name_size && memcmp(have->wire, value->name, have->size) == 0;
}

const char *taking_name(struct settings_name *name, const struct conf_value *value)
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
		return taking_no_memory;
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
	return taking_name(name, value);
}

const char *taking_key(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	if (value->item == KEY_ID) {
		for (size_t i = 0; i < settings->key_count; i++) {
			if (has_name(&settings->keys[i].name, value))
				return "another key has this name";
		}
		struct settings_key *keys =
			taking_grow(settings->keys, settings->key_count, sizeof(*keys));
		if (keys == NULL)
			return taking_no_memory;
		settings->keys = keys;
		keys[settings->key_count].line = value->line;
		return taking_name(&keys[settings->key_count++].name, value);
	}
	struct settings_key *key = &settings->keys[settings->key_count - 1];
	if (value->item == KEY_ALGORITHM) {
		key->algorithm = (int)value->number;
		return NULL;
	}
	key->secret = strdup(value->text);
	return key->secret != NULL ? NULL : taking_no_memory;
}

static const char *take_address(struct settings_secondary *secondary,
				const struct sockaddr_storage *address)
{
	struct sockaddr_storage *addresses =
		taking_grow(secondary->addresses, secondary->address_count, sizeof(*addresses));
	if (addresses == NULL)
		return taking_no_memory;
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
		taking_grow(settings->secondaries, settings->secondary_count, sizeof(*secondaries));
	if (secondaries == NULL)
		return taking_no_memory;
	settings->secondaries = secondaries;
	struct settings_secondary *secondary = &secondaries[settings->secondary_count];
	secondary->line = value->line;
	secondary->id = strdup(value->text);
	if (secondary->id == NULL)
		return taking_no_memory;
	settings->secondary_count++;
	return NULL;
}

const char *taking_secondary(struct taking *taking, const struct conf_value *value)
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
		return taking_prefix(&secondary->allow, &secondary->allow_count, value->text);
	default:
		return taking_name(&secondary->key_name, value);
	}
}

static const char *begin_rule(struct settings *settings, const struct conf_value *value)
{
	for (size_t i = 0; i < settings->rule_count; i++) {
		if (strcmp(settings->rules[i].id, value->text) == 0)
			return "another rule has this id";
	}
	struct settings_rule *rules =
		taking_grow(settings->rules, settings->rule_count, sizeof(*rules));
	if (rules == NULL)
		return taking_no_memory;
	settings->rules = rules;
	struct settings_rule *rule = &rules[settings->rule_count];
	rule->line = value->line;
	rule->id = strdup(value->text);
	if (rule->id == NULL)
		return taking_no_memory;
	settings->rule_count++;
	return NULL;
}

const char *taking_rule(struct settings *settings, const struct conf_value *value)
{
	if (value->item == ACCESS_ID)
		return begin_rule(settings, value);
	struct settings_rule *rule = &settings->rules[settings->rule_count - 1];
	switch (value->item) {
	case ACCESS_ACTION:
		rule->action = (enum settings_action)value->number;
		return NULL;
	case ACCESS_ADDRESS:
		return taking_prefix(&rule->addresses, &rule->address_count, value->text);
	default:
		return taking_name(&rule->key_name, value);
	}
}

/* Which secondary or rule that is, is found when all of them have been read. */
static const char *take_id(char ***ids, size_t *count, const char *id)
{
	for (size_t i = 0; i < *count; i++) {
		if (strcmp((*ids)[i], id) == 0)
			return "this zone has this id already";
	}
	char **grown = taking_grow(*ids, *count, sizeof(*grown));
	if (grown == NULL)
		return taking_no_memory;
	*ids = grown;
	grown[*count] = strdup(id);
	if (grown[*count] == NULL)
		return taking_no_memory;
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
	return zone->store != NULL ? NULL : taking_no_memory;
}

const char *taking_zone(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	if (value->item == ZONE_DOMAIN) {
		struct settings_zone *zones =
			reallocarray(settings->zones, settings->zone_count + 1, sizeof(*zones));
		if (zones == NULL)
			return taking_no_memory;
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

/* ---- when everything has been read ---- */

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
		return refuse(error, 0, "", "", taking_no_memory);
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
						     : taking_no_memory);
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
		return refuse(error, 0, "", "", taking_no_memory);
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
	size_t root_size = strlen(settings->chroot_path);
	if (strncmp(zone->store, settings->chroot_path, root_size) != 0 ||
	    zone->store[root_size] != '/')
		return refuse(error, zone->line, "store", zone->store, "not below \"chroot\"");
	zone->secondaries = calloc(zone->secondary_count + 1, sizeof(*zone->secondaries));
	if (zone->secondaries == NULL)
		return refuse(error, 0, "", "", taking_no_memory);
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

int taking_finish(struct settings *settings, int ret, struct conf_error *error)
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
