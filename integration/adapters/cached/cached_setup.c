/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/cached/cached_setup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The library's spelling: that in which clients send it. */
static const char *take_domain(void *data, const struct conf_value *value)
{
	struct cached_setup *setup = data;
	const char *text = value->text;
	size_t size = strlen(text);
	if (size > 1 && text[size - 1] == '.')
		size--;
	if (setup->zone_count == SETUP_ZONES_MAX)
		return "there are 64 zones at most";
	/* Of the library's own syntax for entries of "zones". */
	if (size > SETUP_ZONE_MAX || strpbrk(text, "=*[], \t\\") != NULL)
		return "permitted is the name of a zone alone; filters and weights are its "
		       "clients' business";
	struct setup_zone *zone = &setup->zones[setup->zone_count];
	for (size_t i = 0; i < size; i++)
		zone->name[i] = (char)tolower((unsigned char)text[i]);
	zone->name[size] = '\0';
	zone->name_size = size;
	zone->label[0] = '\0';
	zone->mode = NULL;
	if (cached_setup_find_zone(setup, zone->name, size) >= 0)
		return "zone is given twice";
	setup->zone_count++;
	return handle_set(&setup->handle, "zones", zone->name);
}

/* As the library has labels, and no other part of an entry. */
static const char *take_label(void *member, const struct conf_value *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	size_t size = strlen(value->text);
	if (strspn(value->text, letters) != size)
		return "permitted are letters, digits, \"-\", \"_\" and dots";
	memcpy(member, value->text, size + 1);
	return NULL;
}

static const char *take_mode(void *member, const struct conf_value *value)
{
	*(const char **)member = value->item->choices[value->number];
	return NULL;
}

static void *find_zone(void *context)
{
	struct cached_setup *setup = context;
	return &setup->zones[setup->zone_count - 1];
}

static const char *const modes[] = { "auto", "bitmap", "classic", NULL };

static const struct conf_item cached_items[] = {
	{ "directory", CONF_PATH, CONF_AT(struct cached_setup, directory),
	  .preset = SETUP_DIRECTORY },
	OWNER_USER("user", struct cached_setup, owner),
	OWNER_SOCKET_GROUP(struct cached_setup, owner),
	OWNER_SOCKET_MODE(struct cached_setup, owner),
	{ "clients", CONF_NUMBER, CONF_AT(struct cached_setup, clients_max), .min = 1, .max = 65536,
	  .preset = "1024" },
	PROGRAM_METRICS(struct cached_setup),
	CONF_LOG_LEVEL(struct cached_setup),
};

static const struct conf_item zone_items[] = {
	{ "domain", CONF_NAME, .take = take_domain },
	{ "label", CONF_TEXT, CONF_AT(struct setup_zone, label), .max = SETUP_LABEL_MAX,
	  .take = take_label },
	{ "mode", CONF_CHOICE, CONF_AT(struct setup_zone, mode), .choices = modes,
	  .take = take_mode },
};

static const struct conf_section sections[] = {
	{ "cached", CONF_ITEMS(cached_items) },
	{ "zone", CONF_ITEMS(zone_items), .find_entry = find_zone },
	/* Zones are this program's own, and filters and weights its clients'. */
	{ "library", handle_items + HANDLE_ASKING_ITEMS, HANDLE_ITEMS - HANDLE_ASKING_ITEMS,
	  .offset = offsetof(struct cached_setup, handle) },
};

const struct conf_table cached_setup_table = { CONF_SECTIONS(sections) };

/* What is the library's to know, but is not in its section. */
static const char *finish(struct cached_setup *setup)
{
	char names[SETUP_ZONES_MAX * (SETUP_ZONE_MAX + sizeof(" ==") + SETUP_LABEL_MAX)] = "";
	size_t size = 0;
	if (setup->zone_count == 0)
		return "zone: none is given, each with its \"domain\"";
	for (unsigned i = 0; i < setup->zone_count; i++)
		size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%s%s%s",
					 i > 0 ? " " : "", setup->zones[i].name,
					 setup->zones[i].label[0] != '\0' ? "==" : "",
					 setup->zones[i].label);
	const char *reason = handle_set(&setup->handle, "zones", names);
	for (unsigned i = 0; i < setup->zone_count && reason == NULL; i++) {
		const struct setup_zone *zone = &setup->zones[i];
		char mode[SETUP_ZONE_MAX + 16];
		snprintf(mode, sizeof(mode), "%s=%s", zone->name, zone->mode);
		if (zone->mode != NULL)
			reason = handle_set(&setup->handle, "mode", mode);
	}
	if (reason == NULL)
		reason = handle_set(&setup->handle, "shared", setup->directory);
	if (reason == NULL)
		reason = handle_set(&setup->handle, "scope",
				    "all"); /* clients have one of their own */
	return reason != NULL ? reason : handle_set(&setup->handle, "role", "writer");
}

int cached_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error)
{
	struct cached_setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	int ret = program_parse(text, text_size, &cached_setup_table, setup, &setup->handle, NULL,
				reterr_error);
	if (ret != 0)
		return ret;
	const char *reason = finish(setup);
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	return handle_finish(&setup->handle, reterr_error);
}

void cached_setup_deinit(void *data)
{
	struct cached_setup *setup = data;
	handle_deinit(&setup->handle);
}

int cached_setup_find_zone(const struct cached_setup *setup, const char *name, size_t name_size)
{
	for (unsigned i = 0; i < setup->zone_count; i++) {
		const struct setup_zone *zone = &setup->zones[i];
		if (zone->name_size == name_size && strncasecmp(zone->name, name, name_size) == 0)
			return (int)i;
	}
	return -ENOENT;
}
