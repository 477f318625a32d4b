/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any text as the value of an option, and as resolv.conf: the first byte says
 * which. What is refused is told in one line and changes nothing; what is taken
 * is within its bounds, and entries that are written anew are read as the same.
 */

#include "client-lib/config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

static struct config config, before, again; /* large */

static int set(struct config *to, const char *key, const char *value)
{
	char error[CONFIG_ERROR_MAX];
	const int ret = config_set(to, key, value, error);

	if (ret == 0)
		return ret;
	require(ret == -EINVAL, "another status");
	require(memchr(error, '\0', sizeof(error)) != NULL, "an error without end");
	require(strlen(error) < sizeof(error) - 1, "an error that is cut");
	for (const char *at = error; *at != '\0'; at++)
		require(*at >= ' ' && *at < 0x7f, "an error that is not printable");
	require(strncmp(error, key, strlen(key)) == 0, "an error without key");
	return ret;
}

/* The entry in its longest form. */
static void write_entry(const struct config_entry *entry, const char *name, FILE *out)
{
	fprintf(out, "%s", name);
	for (unsigned i = 0; entry->filter.is_set && i < 4; i++) {
		const char *divider = i == 0 ? "=[" : ".[";
		for (unsigned n = 0; n < 256; n++) {
			if ((entry->filter.octets[i][n / 64] >> (n % 64) & 1) == 0)
				continue;
			fprintf(out, "%s%u", divider, n);
			divider = ";";
		}
		fputc(']', out);
	}
	if (entry->label[0] != '\0')
		fprintf(out, "%s=%s", entry->filter.is_set ? "" : "=", entry->label);
	fprintf(out, "*%d", entry->weight);
}

static void check_entry(const struct config_entry *entry)
{
	const struct config_zone *zone = &config.zones[entry->zone];
	char text[8192];

	require(entry->zone < config.zone_count, "an entry without zone");
	FILE *out = fmemopen(text, sizeof(text), "w");
	if (out == NULL)
		abort();
	write_entry(entry, zone->text, out);
	require(fclose(out) == 0, "an entry too long");
	config_init(&again);
	require(set(&again, "zones", text) == 0, "refused the second time");
	require(again.entry_count == 1 && again.entries[0].weight == entry->weight &&
			memcmp(&again.entries[0].filter, &entry->filter, sizeof(entry->filter)) ==
				0 &&
			strcmp(again.entries[0].label, entry->label) == 0 &&
			strcmp(again.zones[0].text, zone->text) == 0 &&
			again.zones[0].name.size == zone->name.size,
		"another entry the second time");
}

static void check_finished(void)
{
	char error[CONFIG_ERROR_MAX];

	if (config_finish(&config, error) != 0)
		return;
	require(config.server_count >= 1 && config.server_count <= CONFIG_SERVERS_MAX,
		"no server, or too many");
	for (unsigned i = 0; i < config.server_count; i++)
		require(config.servers[i].address.sin6_family == AF_INET6 &&
				config.servers[i].address.sin6_port != 0,
			"no address of a server");
	require(config.entry_count <= CONFIG_ENTRIES_MAX && config.zone_count > 0 &&
			config.zone_count <= config.entry_count,
		"too many zones");
	for (unsigned i = 0; i < config.entry_count; i++)
		check_entry(&config.entries[i]);
}

static void try_option(const char *key, const uint8_t *data, size_t size)
{
	char *value = strndup((const char *)data, size);

	if (value == NULL)
		abort();
	before = config;
	if (set(&config, key, value) != 0)
		require(memcmp(&before, &config, sizeof(config)) == 0, "changed, and refused");
	free(value);
	check_finished();
}

static void try_file(const uint8_t *data, size_t size)
{
	char path[64];
	const int fd = memfd_create("resolv.conf", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		require(set(&config, "resolv-conf", path) == 0, "refused its path");
		check_finished();
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	config_init(&config);
	require(set(&config, "zones", "bl.example") == 0, "refused a zone");
	require(set(&config, "resolv-conf", "/dev/null") == 0, "refused a path");
	const char *key = config_key(data[0] - (unsigned)'a'); /* "a" is the first */
	if (key != NULL)
		try_option(key, data + 1, size - 1);
	else
		try_file(data + 1, size - 1);
	return 0;
}
