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

const char *taking_name(void *member, const struct conf_value *value)
{
	struct settings_name *name = member;
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

static bool zone_has_name(const struct settings_zone *zone, const struct conf_value *value)
{
	bool has_it = has_name(&zone->domain, value);
	for (size_t i = 0; !has_it && i < zone->other_count; i++)
		has_it = has_name(&zone->others[i].name, value);
	return has_it;
}

static const char *take_zone_name(struct settings_name *name, const struct conf_value *value)
{
	const struct settings *settings = value->context;
	for (size_t i = 0; i < settings->zone_count; i++) {
		if (zone_has_name(&settings->zones[i], value))
			return "another zone has this name";
	}
	return taking_name(name, value);
}

static const char *take_face(struct settings_zone *zone, const struct conf_value *value,
			     bool is_classic)
{
	struct settings_face *face = taking_add(&zone->others, &zone->other_count, sizeof(*face));
	if (face == NULL)
		return taking_no_memory;
	face->is_classic = is_classic;
	return take_zone_name(&face->name, value);
}

const char *taking_classic(void *member, const struct conf_value *value)
{
	return take_face(member, value, true);
}

const char *taking_also(void *member, const struct conf_value *value)
{
	return take_face(member, value, false);
}

const char *taking_text(void *member, const struct conf_value *value)
{
	char **text = member;
	*text = strdup(value->text);
	return *text != NULL ? NULL : taking_no_memory;
}

const char *taking_key(void *data, const struct conf_value *value)
{
	struct settings *settings = data;
	for (size_t i = 0; i < settings->key_count; i++) {
		if (has_name(&settings->keys[i].name, value))
			return "another key has this name";
	}
	struct settings_key *key = taking_add(&settings->keys, &settings->key_count, sizeof(*key));
	if (key == NULL)
		return taking_no_memory;
	key->line = value->line;
	return taking_name(&key->name, value);
}

/* Index of the entry with that id, which is its first member; count when there is none. */
static size_t find_id(const void *entries, size_t count, size_t size, const char *id)
{
	for (size_t i = 0; i < count; i++) {
		const char *const *entry = (const void *)((const char *)entries + i * size);
		if (strcmp(*entry, id) == 0)
			return i;
	}
	return count;
}

const char *taking_secondary(void *data, const struct conf_value *value)
{
	struct settings *settings = data;
	struct settings_secondary *secondary = NULL;
	if (find_id(settings->secondaries, settings->secondary_count, sizeof(*secondary),
		    value->text) < settings->secondary_count)
		return "another secondary has this id";
	secondary =
		taking_add(&settings->secondaries, &settings->secondary_count, sizeof(*secondary));
	if (secondary == NULL)
		return taking_no_memory;
	secondary->line = value->line;
	return taking_text(&secondary->id, value);
}

const char *taking_address(void *member, const struct conf_value *value)
{
	struct settings_secondary *secondary = member;
	struct sockaddr_storage *address =
		taking_add(&secondary->addresses, &secondary->address_count, sizeof(*address));
	if (address == NULL)
		return taking_no_memory;
	*address = value->address;
	return NULL;
}

const char *taking_rule(void *data, const struct conf_value *value)
{
	struct settings *settings = data;
	struct settings_rule *rule = NULL;
	if (find_id(settings->rules, settings->rule_count, sizeof(*rule), value->text) <
	    settings->rule_count)
		return "another rule has this id";
	rule = taking_add(&settings->rules, &settings->rule_count, sizeof(*rule));
	if (rule == NULL)
		return taking_no_memory;
	rule->line = value->line;
	return taking_text(&rule->id, value);
}

/* Which secondary or rule that is, is found when all of them have been read. */
const char *taking_link(void *member, const struct conf_value *value)
{
	struct settings_links *links = member;
	if (find_id(links->ids, links->count, sizeof(*links->ids), value->text) < links->count)
		return "this zone has this id already";
	char **id = taking_add(&links->ids, &links->count, sizeof(*id));
	return id != NULL ? taking_text(id, value) : taking_no_memory;
}

const char *taking_store(void *member, const struct conf_value *value)
{
	const struct settings *settings = value->context;
	char absolute[PATH_MAX];
	struct conf_item item = { .size = sizeof(absolute) };
	struct conf_value path = *value;
	path.item = &item;
	path.text = value->text;
	const char *reason = taking_path(absolute, &path);
	if (reason != NULL)
		return reason;
	/* LMDB: never the same file twice in one process. */
	for (size_t i = 0; i < settings->zone_count; i++) {
		const char *other = settings->zones[i].store;
		if (other != NULL && strcmp(other, absolute) == 0)
			return "another zone has this store";
	}
	path.text = absolute;
	return taking_text(member, &path);
}

const char *taking_zone(void *data, const struct conf_value *value)
{
	struct settings *settings = data;
	struct settings_zone *zone =
		taking_add(&settings->zones, &settings->zone_count, sizeof(*zone));
	if (zone == NULL)
		return taking_no_memory;
	zone->line = value->line;
	return take_zone_name(&zone->domain, value);
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
		if (secondary->address_count + secondary->allow.count == 0)
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

/* Indices of entries of size bytes; item is what they are called in the zone. */
static int finish_links(struct settings_links *links, const void *entries, size_t count,
			size_t size, size_t line, const char *item, struct conf_error *error)
{
	links->indices = calloc(links->count + 1, sizeof(*links->indices));
	if (links->indices == NULL)
		return refuse(error, 0, "", "", taking_no_memory);
	for (size_t i = 0; i < links->count; i++) {
		links->indices[i] = find_id(entries, count, size, links->ids[i]);
		if (links->indices[i] == count)
			return refuse(error, line, item, links->ids[i],
				      strcmp(item, "access") == 0
					      ? "there is no rule of this id"
					      : "there is no secondary of this id");
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
	int ret = finish_links(&zone->secondaries, settings->secondaries, settings->secondary_count,
			       sizeof(*settings->secondaries), zone->line, "secondary", error);
	return ret != 0 ? ret
			: finish_links(&zone->rules, settings->rules, settings->rule_count,
				       sizeof(*settings->rules), zone->line, "access", error);
}

int taking_finish(struct settings *settings, struct conf_error *error)
{
	int ret = finish_keys(settings, error);
	if (ret == 0)
		ret = finish_secondaries(settings, error);
	if (ret == 0)
		ret = finish_rules(settings, error);
	for (size_t i = 0; i < settings->zone_count && ret == 0; i++)
		ret = finish_zone(settings, &settings->zones[i], error);
	return ret;
}
