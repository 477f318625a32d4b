/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * confcheck.c - dnsblv6-zone conf-check: is zones.conf as it should be?
 */

#include "zone-tools/commands/build.h"
#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/zonecall.h"

#include "lib/common/log.h"
#include "lib/common/version.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sysexits.h>

struct confcheck {
	const char *path;
};

static const struct options_bound rows[] = {
	{ ZONECALL_ROW, OPTIONS_AT(struct confcheck, path) },
};

static const struct options_table table = {
	.program = "dnsblv6-zone conf-check",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "[--config FILE]",
	.summary = "Reads zones.conf, says what is wrong with it, and names its zones.",
	OPTIONS_ROWS(rows),
};

/* A setting that does nothing without another one, or beside it. */
static const struct idle {
	const char *name;
	const char *others[2];
	bool is_beside;
	const char *reason;
} idle[] = {
	{ "lifetime", { "key", "keys" }, false, "the zone has neither key nor keys" },
	{ "secondary-wait", { "secondary", "secondary" }, false, "the zone has no secondary" },
	{ "skip-reserved",
	  { "allow-reserved", "allow-reserved" },
	  true,
	  "allow-reserved lists all of it" },
};

static void warn_of_idle(const char *path, const struct zonesconf_zone *zone)
{
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
		size_t index = zonesconf_find_setting(zone, idle[i].name, 0);
		bool has_other = zonesconf_get(zone, idle[i].others[0]) != NULL ||
				 zonesconf_get(zone, idle[i].others[1]) != NULL;
		if (index == zone->settings.count || has_other != idle[i].is_beside)
			continue;
		char place[CONF_ERROR_MAX];
		snprintf(place, sizeof(place), "%s:%zu", path, zone->lines[index]);
		log_warning(place, "setting has no effect, item=%s (%s)", idle[i].name,
			    idle[i].reason);
	}
}

static int recall(void *context)
{
	struct store_settings settings = { 0 };
	int ret = store_settings_read(context, &settings);
	bool lacks = ret == -ENOENT || ret == DNSBLV6_ENOTFOUND ||
		     (ret == DNSBLV6_OK && !store_settings_has(&settings, "classic"));
	store_settings_deinit(&settings);
	return lacks ? EX_CONFIG : EX_OK;
}

/* The name may be what the store remembers, which another command has written. */
static int check_classic(const struct confcheck *check, const struct zonesconf_zone *zone)
{
	struct conf_error error;
	size_t index = zonesconf_find_setting(zone, "classic-store", 0);
	if (index == zone->settings.count || zonesconf_get(zone, "classic") != NULL)
		return EX_OK;
	const char *store = zonesconf_get(zone, "store");
	int status = commands_fence(store, "read", recall, (void *)(uintptr_t)store);
	if (status == EX_CONFIG) {
		zonesconf_refuse(zone, index, "classic-store needs classic, the zone's name",
				 &error);
		conf_log_error(check->path, &error);
	}
	return status;
}

static int check_zone(const struct confcheck *check, const struct zonesconf_zone *zone)
{
	warn_of_idle(check->path, zone);
	int status = check_classic(check, zone);
	if (status == EX_OK)
		printf("%s store=%s\n", zone->domain, zonesconf_get(zone, "store"));
	return status;
}

int confcheck_command(int argc, char **argv)
{
	struct confcheck check = { DNSBLV6_ZONES_CONF };
	struct zonesconf conf = { 0 };
	struct conf_error error;
	options_parse_alone(&table, argc, argv, &check);
	int ret = zonesconf_load(check.path, build_settings(), &conf, &error);
	if (ret != 0)
		conf_log_error(check.path, &error);
	int status = ret == 0 ? EX_OK : EX_CONFIG;
	for (size_t i = 0; status == EX_OK && i < conf.count; i++)
		status = check_zone(&check, &conf.zones[i]);
	zonesconf_deinit(&conf);
	return status;
}
