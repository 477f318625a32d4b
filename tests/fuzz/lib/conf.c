/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Any text as a configuration: read, or refused with a line, an item and a reason. */

#include "lib/common/conf.h"

#include <string.h>

#include "tests/fuzz/require.h"

struct settings {
	struct sockaddr_storage listen;
	char user[65];
	unsigned workers;
	unsigned timeout_s;
	int log_level;
	char store[4096];
};

static void *find_entry(void *context)
{
	return context;
}

static const char *take_listen(void *member, const struct conf_value *value)
{
	memcpy(member, &value->address, sizeof(value->address));
	expect(value->address.ss_family == AF_INET || value->address.ss_family == AF_INET6);
	return NULL;
}

static const char *take_name(void *member, const struct conf_value *value)
{
	(void)member;
	expect(value->name_size > 0 && value->name_size <= 255);
	return NULL;
}

static const struct conf_item server_items[] = {
	{ "listen", CONF_ADDRESS, CONF_AT(struct settings, listen), .take = take_listen,
	  .default_port = 53, .is_list = true, .preset = "127.0.0.1 ::1" },
	{ "user", CONF_TEXT, CONF_AT(struct settings, user) },
	{ "workers", CONF_NUMBER, CONF_AT(struct settings, workers), .max = 256, .preset = "1" },
	{ "tcp-idle-timeout", CONF_SECONDS, CONF_AT(struct settings, timeout_s), .min = 1,
	  .max = 3600, .preset = "10s" },
	CONF_LOG_LEVEL(struct settings),
};

static const struct conf_item zone_items[] = {
	{ "domain", CONF_NAME, .take = take_name },
	{ "store", CONF_PATH, CONF_AT(struct settings, store) },
	{ "classic", CONF_NAME, .take = take_name },
};

static const struct conf_section sections[] = {
	{ "server", CONF_ITEMS(server_items) },
	{ "zone", CONF_ITEMS(zone_items), .find_entry = find_entry },
};

static const struct conf_table table = { CONF_SECTIONS(sections) };

/* Every value is within what the table permits. */
static void check(const struct settings *settings)
{
	expect(settings->listen.ss_family != AF_UNSPEC);
	expect(settings->workers <= 256);
	expect(settings->timeout_s >= 1 && settings->timeout_s <= 3600);
	expect(settings->log_level >= 0 && settings->log_level <= 3);
	expect(memchr(settings->user, 0, sizeof(settings->user)) != NULL);
	expect(settings->store[0] == '\0' || settings->store[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_error error;
	struct settings settings = { .workers = 0 };
	if (conf_parse((const char *)data, size, &table, &settings, &error) == 0)
		check(&settings);
	else
		expect(error.reason[0] != '\0' && error.line != 0);
	return 0;
}
