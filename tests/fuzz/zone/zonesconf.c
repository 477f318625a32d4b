/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * zonesconf.c - any text as zones.conf: refused with a reason, or zones each of which has a name, a
 * store of its own and lists.
 */
#include "zone-tools/zones/zonesconf.h"

#include <stdint.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct command {
	const char *store;
	const char *key;
	uint64_t ttl;
	bool is_digest;
	unsigned repeated;
};

static const char *take_ns(void *member, const char *text)
{
	++*(unsigned *)member;
	return strchr(text, ' ') != NULL ? "has a blank" : NULL;
}

static const struct options_bound rows[] = {
	{ { 'z', "zone", "NAME", "" }, OPTIONS_AT(struct command, store) },
	{ { 's', "store", "FILE", "" }, OPTIONS_AT(struct command, store) },
	{ { 'k', "key", "FILE", "" }, OPTIONS_AT(struct command, key) },
	{ { 0, "ttl", "SECONDS", "" }, OPTIONS_AT(struct command, ttl), .min = 1, .max = 1000 },
	{ { 0, "zonemd", NULL, "" }, OPTIONS_AT(struct command, is_digest) },
	{ { 'n', "ns", "NAME", "" },
	  OPTIONS_AT(struct command, repeated),
	  .take = take_ns,
	  .is_repeated = true },
	{ { 0, "serial", "NUMBER", "" }, OPTIONS_AT(struct command, ttl), .is_once = true },
};

static const struct options_table table = {
	.program = "fuzz",
	OPTIONS_ROWS(rows),
};

static void init(void *context)
{
	*(struct command *)context = (struct command){ 0 };
}

/* A key wants a TTL, and a zone of a letter is nothing at all. */
static const char *find_conflict(void *context, const char *domain,
				 struct zonesconf_about *ret_about)
{
	static const char *const names[] = { "keys", "key", NULL };
	const struct command *command = context;
	if (strlen(domain) == 2)
		return "too short";
	ret_about->names = names;
	return command->key != NULL && command->ttl == 0 ? "needs ttl" : NULL;
}

static void check_zone(const struct zonesconf *conf, const struct zonesconf_zone *zone)
{
	const struct command *command = zone->context;
	const char *ttl = zonesconf_get(zone, "ttl");
	expect(zonesconf_find(conf, zone->domain) == zone && zone->line > 0);
	expect(zonesconf_get(zone, "store")[0] == '/' && zonesconf_get(zone, "list") != NULL);
	expect(zonesconf_get(zone, "serial") == NULL && zonesconf_get(zone, "zone") == NULL);
	expect(strcmp(command->store, zonesconf_get(zone, "store")) == 0);
	expect((ttl != NULL) == (command->ttl > 0) && command->ttl <= 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct zonesconf_command command = { &table, sizeof(struct command), init,
							  find_conflict };
	struct zonesconf conf = { 0 };
	struct conf_error error = { 0 };
	int ret = zonesconf_parse((const char *)data, size, &command, &conf, &error);
	expect(ret == 0 ? conf.count > 0 : error.reason[0] != '\0');
	for (size_t i = 0; ret == 0 && i < conf.count; i++)
		check_zone(&conf, &conf.zones[i]);
	zonesconf_deinit(&conf);
	return 0;
}
