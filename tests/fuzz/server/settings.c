/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Any text as dnsblv6d.conf: refused with a line and a reason, or settings within their limits. */

#include "server/settings/settings.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_address(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

static void check_zones(const struct settings *settings)
{

	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		expect(zone->domain.size > 0 && zone->domain.size <= SETTINGS_NAME_MAX);
		for (size_t j = 0; j < zone->other_count; j++)
			expect(zone->others[j].name.size <= SETTINGS_NAME_MAX);
		expect(zone->store != NULL && zone->store[0] == '/');
		for (size_t k = 0; k < zone->secondaries.count; k++)
			expect(zone->secondaries.indices[k] < settings->secondary_count);
		for (size_t k = 0; k < zone->rules.count; k++)
			expect(zone->rules.indices[k] < settings->rule_count);
	}
}

static void check(const struct settings *settings)
{
	expect(settings->listen.count <= LISTENER_ADDRESS_MAX);
	for (size_t i = 0; i < settings->listen.count; i++)
		expect(is_address(&settings->listen.all[i]));
	expect(settings->workers >= 1 && settings->workers <= SETTINGS_WORKERS_MAX);
	expect(settings->tcp_max_clients >= 1);
	expect(settings->udp_max_payload >= 512 &&
	       settings->udp_max_payload <= SETTINGS_PAYLOAD_MAX);
	expect(settings->cookies.count <= COOKIE_SECRETS_MAX);
	for (size_t i = 0; i < settings->key_count; i++)
		expect(settings->tsig_keys[i] != NULL &&
		       settings->tsig_keys[i] == settings->keys[i].key);
	check_zones(settings);
	expect(conf_find_restart(&settings_table, settings, settings) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[CONF_ERROR_MAX];
	struct conf_error error;
	struct settings settings;
	if (settings_parse(&settings, (const char *)data, size, "/", &error) == 0) {
		check(&settings);
	} else {
		conf_format_error("file", &error, text);
		expect(error.reason[0] != '\0' && strncmp(text, "file", 4) == 0);
	}
	settings_deinit(&settings);
	return 0;
}
