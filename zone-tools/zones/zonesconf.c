/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/zonesconf.h"

#include "lib/common/log.h"
#include "lib/format/array.h"
#include "lib/format/name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char no_memory[] = "out of memory";

/* ---- zones ---- */

static void deinit_zone(struct zonesconf_zone *zone)
{
	free(zone->domain);
	free(zone->context);
	free(zone->lines);
	store_settings_deinit(&zone->settings);
	store_settings_deinit(&zone->tried);
}

void zonesconf_deinit(struct zonesconf *conf)
{
	for (size_t i = 0; i < conf->count; i++)
		deinit_zone(&conf->zones[i]);
	free(conf->zones);
	*conf = (struct zonesconf){ 0 };
}

static size_t size_without_dot(const char *name)
{
	size_t size = strlen(name);
	return size > 0 && name[size - 1] == '.' ? size - 1 : size;
}

bool zonesconf_is_same_name(const char *one, const char *other)
{
	const size_t size = size_without_dot(one);
	return size == size_without_dot(other) && strncasecmp(one, other, size) == 0;
}

const struct zonesconf_zone *zonesconf_find(const struct zonesconf *conf, const char *name)
{
	for (size_t i = 0; i < conf->count; i++) {
		if (zonesconf_is_same_name(conf->zones[i].domain, name))
			return &conf->zones[i];
	}
	return NULL;
}

const char *zonesconf_get(const struct zonesconf_zone *zone, const char *name)
{
	return store_settings_get(&zone->settings, name);
}

size_t zonesconf_find_setting(const struct zonesconf_zone *zone, const char *name, size_t number)
{
	size_t i = 0;
	for (; i < zone->settings.count; i++) {
		if (strcmp(zone->settings.items[i].name, name) == 0 && number-- == 0)
			break;
	}
	return i;
}

static void *last_zone(void *context)
{
	struct zonesconf *conf = context;
	return conf->count > 0 ? &conf->zones[conf->count - 1] : NULL;
}

static char *format_domain(const struct conf_value *value)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];
	char *domain = malloc(sizeof(text) + 1);
	/* Without the root label. */
	dnsblv6_name_format(value->name, (uint8_t)(value->name_size - 1), text);
	if (domain != NULL)
		snprintf(domain, sizeof(text) + 1, "%s.", text);
	return domain;
}

static const char *take_domain(void *member, const struct conf_value *value)
{
	struct zonesconf *conf = member;
	struct zonesconf_zone zone = { .line = value->line };
	if (value->name_size <= 1)
		return "the root is no blacklist";
	zone.domain = format_domain(value);
	zone.context = calloc(1, conf->command->context_size);
	if (zone.domain != NULL && zonesconf_find(conf, zone.domain) != NULL) {
		deinit_zone(&zone);
		return "zone is given twice";
	}
	if (conf->count == ZONESCONF_ZONES_MAX) {
		deinit_zone(&zone);
		return "more than 1000 zones";
	}
	if (zone.domain == NULL || zone.context == NULL ||
	    !array_reserve(conf->zones, conf->count + 1, &conf->capacity)) {
		deinit_zone(&zone);
		return no_memory;
	}
	conf->command->init(zone.context);
	conf->zones[conf->count++] = zone;
	return NULL;
}

/* ---- settings ---- */

/* A command runs wherever it was started: a relative name would be another file each time. */
static const char *check_file(const char *path)
{
	return path[0] == '/' ? NULL : "permitted is an absolute path";
}

/*
 * The next file of a list, "TYPE:FILE,FILE" or "FILE", of which *rest is what is left; NULL behind
 * the last. Not terminated. As sources.h reads it: a TYPE has no slash.
 */
static const char *next_file(const char **rest, size_t *ret_size)
{
	const char *file = *rest;
	if (*file == '\0')
		return NULL;
	const char *colon = strchr(file, ':');
	const char *slash = strchr(file, '/');
	if (colon != NULL && (slash == NULL || colon < slash))
		file = colon + 1;
	*ret_size = strcspn(file, ",");
	*rest = file + *ret_size + (file[*ret_size] == ',');
	return file;
}

void zonesconf_each_file(const struct zonesconf_zone *zone, const char *name,
			 void (*fn)(void *context, const char *path), void *context)
{
	for (size_t i = 0; i < zone->settings.count; i++) {
		const char *rest = zone->settings.items[i].value;
		const char *file;
		size_t size;
		if (strcmp(zone->settings.items[i].name, name) != 0)
			continue;
		while ((file = next_file(&rest, &size)) != NULL) {
			char path[ZONESCONF_VALUE_MAX + 1];
			snprintf(path, sizeof(path), "%.*s", (int)size, file);
			fn(context, path);
		}
	}
}

static const char *check_list(const char *list)
{
	const char *rest = list;
	const char *file;
	size_t size;
	if (list[strlen(list) - 1] == ',')
		return "ends with a comma";
	while ((file = next_file(&rest, &size)) != NULL) {
		if (size == 0 || *file != '/')
			return "permitted are an absolute path, or TYPE: and absolute paths with "
			       "commas between";
	}
	return NULL;
}

static const char *check_flag(const char *value)
{
	return strcmp(value, "on") == 0 || strcmp(value, "off") == 0 ? NULL
								     : "permitted are on, off";
}

static bool is_store(const char *setting)
{
	return strcmp(setting, "store") == 0 || strcmp(setting, "classic-store") == 0;
}

static const char *find_other_store(const struct zonesconf *conf, const char *store)
{
	for (size_t i = 0; i + 1 < conf->count; i++) {
		const struct store_settings *settings = &conf->zones[i].settings;
		for (size_t j = 0; j < settings->count; j++) {
			if (is_store(settings->items[j].name) &&
			    strcmp(settings->items[j].value, store) == 0)
				return "another zone has this store";
		}
	}
	return NULL;
}

/* The option takes a copy, which it may write to and borrows. ret_reason is static or conf's. */
static const char *try_option(struct zonesconf *conf, struct zonesconf_zone *zone, int row,
			      const char *text)
{
	const struct options_bound *bound = &conf->command->table->bound[row];
	if (bound->row.argument == NULL)
		return check_flag(text);
	const char *reason = NULL;
	if (strcmp(bound->row.argument, "FILE") == 0 || strcmp(bound->row.argument, "DIR") == 0)
		reason = check_file(text);
	if (reason == NULL && is_store(bound->row.name))
		reason = find_other_store(conf, text);
	if (reason != NULL)
		return reason;
	if (store_settings_add(&zone->tried, bound->row.name, text) != 0)
		return no_memory;
	return options_try(conf->command->table, row,
			   zone->tried.items[zone->tried.count - 1].value, zone->context,
			   conf->reason);
}

static const char *add_setting(struct zonesconf_zone *zone, size_t line, const char *name,
			       const char *text)
{
	size_t count = zone->settings.count;
	if (!array_reserve(zone->lines, count + 1, &zone->line_capacity) ||
	    store_settings_add(&zone->settings, name, text) != 0)
		return no_memory;
	zone->lines[count] = line;
	return NULL;
}

/* What is off is not given, and what a store remembers of it does not count. */
static const char *add_flag(struct zonesconf_zone *zone, const struct conf_value *value,
			    bool is_remembered)
{
	if (strcmp(value->text, "off") != 0)
		return add_setting(zone, value->line, value->item->name, "");
	return is_remembered ? add_setting(zone, value->line, ZONESCONF_FORGET, value->item->name)
			     : NULL;
}

static const char *take_setting(void *member, const struct conf_value *value)
{
	struct zonesconf *conf = value->context;
	struct zonesconf_zone *zone = member;
	int row = options_find(conf->command->table, value->item->name);
	const char *reason = row == OPTIONS_END ? check_list(value->text)
						: try_option(conf, zone, row, value->text);
	const struct options_bound *bound =
		row != OPTIONS_END ? &conf->command->table->bound[row] : NULL;
	if (reason != NULL)
		return reason;
	return bound != NULL && bound->row.argument == NULL
		       ? add_flag(zone, value, bound->is_remembered)
		       : add_setting(zone, value->line, value->item->name, value->text);
}

/* ---- the file ---- */

static struct conf_item make_item(const char *name, bool is_list)
{
	return (struct conf_item){ .name = name,
				   .type = CONF_TEXT,
				   .max = ZONESCONF_VALUE_MAX,
				   .is_list = is_list,
				   .take = take_setting };
}

static size_t make_items(const struct options_table *table, struct conf_item *ret_items)
{
	size_t count = 0;
	ret_items[count++] =
		(struct conf_item){ .name = "domain", .type = CONF_NAME, .take = take_domain };
	ret_items[count++] = make_item("list", true);
	for (size_t i = 0; i < table->row_count && count < CONF_ITEMS_MAX; i++) {
		const struct options_bound *row = &table->bound[i];
		if (!row->is_once && strcmp(row->row.name, "zone") != 0)
			ret_items[count++] = make_item(row->row.name, row->is_repeated);
	}
	return count;
}

static int refuse_zone(const struct zonesconf_zone *zone, const char *what, const char *reason,
		       struct conf_error *ret_error)
{
	int ret = conf_refuse(ret_error, -EINVAL, "%s%s", what, reason);
	ret_error->line = zone->line;
	snprintf(ret_error->item, sizeof(ret_error->item), "domain");
	snprintf(ret_error->value, sizeof(ret_error->value), "\"%s\"", zone->domain);
	return ret;
}

int zonesconf_refuse(const struct zonesconf_zone *zone, size_t index, const char *reason,
		     struct conf_error *ret_error)
{
	const struct store_setting *setting = &zone->settings.items[index];
	int ret = conf_refuse(ret_error, -EINVAL, "%s", reason);
	ret_error->line = zone->lines[index];
	snprintf(ret_error->item, sizeof(ret_error->item), "%s", setting->name);
	log_quote(setting->value, strlen(setting->value), ret_error->value);
	return ret;
}

/* What contradicts another setting is refused where it stands. */
static int check_conflicts(const struct zonesconf_command *command,
			   const struct zonesconf_zone *zone, struct conf_error *ret_error)
{
	static const char *const none[] = { NULL };
	struct zonesconf_about about = { none, 0 };
	const char *reason = command->find_conflict(zone->context, zone->domain, &about);
	for (size_t i = 0; reason != NULL && about.names[i] != NULL; i++) {
		size_t index = zonesconf_find_setting(zone, about.names[i], about.number);
		if (index < zone->settings.count)
			return zonesconf_refuse(zone, index, reason, ret_error);
	}
	return reason != NULL ? refuse_zone(zone, "", reason, ret_error) : 0;
}

static int check_zones(const struct zonesconf *conf, struct conf_error *ret_error)
{
	static const char *const needed[] = { "store", "list" };
	for (size_t i = 0; i < conf->count; i++) {
		for (size_t j = 0; j < sizeof(needed) / sizeof(needed[0]); j++) {
			if (zonesconf_get(&conf->zones[i], needed[j]) == NULL)
				return refuse_zone(&conf->zones[i], needed[j], " is missing",
						   ret_error);
		}
		int ret = check_conflicts(conf->command, &conf->zones[i], ret_error);
		if (ret != 0)
			return ret;
	}
	return conf->count > 0 ? 0 : conf_refuse(ret_error, -EINVAL, "no zone in it");
}

int zonesconf_parse(const char *text, size_t size, const struct zonesconf_command *command,
		    struct zonesconf *ret_conf, struct conf_error *reterr_error)
{
	struct conf_item items[CONF_ITEMS_MAX];
	const struct conf_section section = { .name = "zone",
					      .items = items,
					      .item_count = make_items(command->table, items),
					      .find_entry = last_zone };
	const struct conf_table table = { &section, 1 };
	ret_conf->command = command;
	int ret = conf_parse(text, size, &table, ret_conf, reterr_error);
	if (ret == 0)
		ret = check_zones(ret_conf, reterr_error);
	ret_conf->command = NULL;
	return ret;
}

int zonesconf_load(const char *path, const struct zonesconf_command *command,
		   struct zonesconf *ret_conf, struct conf_error *reterr_error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = conf_load(path, &text, &size, reterr_error);
	if (ret == 0)
		ret = zonesconf_parse(text, size, command, ret_conf, reterr_error);
	free(text);
	return ret;
}
