/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Any text as a configuration: read, or refused with a line, an item and a reason. */

#include "lib/common/conf.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = { "error", "warning", "info", "debug", NULL };

static const struct conf_item server_items[] = {
	{ "listen", CONF_ADDRESS, .default_port = 53, .is_list = true },
	{ "user", CONF_TEXT, .max = 64 },
	{ "workers", CONF_NUMBER, .min = 0, .max = 256 },
	{ "tcp-idle-timeout", CONF_TIME, .min = 1, .max = 3600 },
	{ "log-level", CONF_CHOICE, .choices = words },
};

static const struct conf_item zone_items[] = {
	{ "domain", CONF_NAME, .max = 255 },
	{ "store", CONF_TEXT, .max = 4095 },
	{ "classic", CONF_NAME, .max = 255 },
};

static const struct conf_section sections[] = {
	{ "server", server_items, sizeof(server_items) / sizeof(server_items[0]), false },
	{ "zone", zone_items, sizeof(zone_items) / sizeof(zone_items[0]), true },
};

static const struct conf_table table = { sections, sizeof(sections) / sizeof(sections[0]) };

/* Every value is within what the table permits. */
static const char *take(const struct conf_value *value, void *context)
{
	(void)context;
	if (value->section >= table.section_count || value->line == 0)
		abort();
	const struct conf_item *item = &sections[value->section].items[value->item];
	if ((item->type == CONF_NUMBER || item->type == CONF_TIME) &&
	    (value->number < item->min || value->number > item->max))
		abort();
	if (item->type == CONF_TEXT &&
	    (value->text[0] == '\0' || strlen(value->text) > (size_t)item->max))
		abort();
	if (item->type == CONF_NAME && (value->name_size == 0 || value->name_size > 255))
		abort();
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_error error;
	if (conf_parse((const char *)data, size, &table, take, NULL, &error) != 0 &&
	    (error.reason[0] == '\0' || error.line == 0))
		abort();
	return 0;
}
