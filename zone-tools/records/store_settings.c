/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/store_settings.h"

#include "lib/format/array.h"
#include "zone-tools/keys/signer.h"

#include "lib/format/record.h"
#include "lib/lmdb/reader.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- in memory ---- */

static int add(struct store_settings *settings, const void *name, size_t name_size,
	       const void *value, size_t value_size)
{
	if (!array_reserve(settings->items, settings->count + 1, &settings->capacity))
		return -ENOMEM;
	struct store_setting *item = &settings->items[settings->count];
	item->name = strndup(name, name_size);
	item->value = strndup(value, value_size);
	if (item->name == NULL || item->value == NULL) {
		free(item->name);
		free(item->value);
		return -ENOMEM;
	}
	settings->count++;
	return DNSBLV6_OK;
}

int store_settings_add(struct store_settings *settings, const char *name, const char *value)
{
	return add(settings, name, strlen(name), value, strlen(value));
}

const char *store_settings_get(const struct store_settings *settings, const char *name)
{
	const char *value = NULL;
	for (size_t i = 0; i < settings->count; i++) {
		if (strcmp(settings->items[i].name, name) == 0)
			value = settings->items[i].value;
	}
	return value;
}

bool store_settings_has(const struct store_settings *settings, const char *name)
{
	return store_settings_get(settings, name) != NULL;
}

/* In the place of all of that name. */
static int replace(struct store_settings *settings, const char *name, const char *value)
{
	size_t kept = 0;
	for (size_t i = 0; i < settings->count; i++) {
		struct store_setting item = settings->items[i];
		if (strcmp(item.name, name) != 0) {
			settings->items[kept++] = item;
			continue;
		}
		free(item.name);
		free(item.value);
	}
	settings->count = kept;
	return store_settings_add(settings, name, value);
}

void store_settings_deinit(struct store_settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->items[i].name);
		free(settings->items[i].value);
	}
	free(settings->items);
	memset(settings, 0, sizeof(*settings));
}

/* ---- in a store ---- */

static int decode(struct store_bytes bytes, struct store_settings *settings)
{
	struct dnsblv6_setting setting;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_setting_next(bytes.data, bytes.size, &offset, &setting)) ==
	       DNSBLV6_OK) {
		ret = add(settings, setting.name, setting.name_size, setting.value,
			  setting.value_size);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int read_from(struct reader *reader, struct store_settings *settings)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_SETTINGS,
			     strlen(DNSBLV6_FACT_SETTINGS), &value);
	return ret == STORE_OK ? decode(value, settings) : ret;
}

int store_settings_read(const char *path, struct store_settings *ret_settings)
{
	struct store_settings settings = { 0 };
	struct reader *reader = NULL;
	int ret = reader_start(path, &zone_store, &reader);
	if (ret == STORE_OK)
		ret = read_from(reader, &settings);
	reader_close(reader);
	if (ret == DNSBLV6_OK)
		*ret_settings = settings;
	else
		store_settings_deinit(&settings);
	return ret;
}

static int encode(const struct store_settings *settings, uint8_t *data, size_t *ret_size)
{
	size_t size = 0;
	for (size_t i = 0; i < settings->count; i++) {
		const struct store_setting *item = &settings->items[i];
		struct dnsblv6_setting setting = {
			.name_size = (uint8_t)strlen(item->name),
			.name = (const uint8_t *)item->name,
			.value_size = (uint16_t)strlen(item->value),
			.value = (const uint8_t *)item->value,
		};
		size_t room = STORE_SETTINGS_SIZE_MAX - size;
		size_t wanted =
			(size_t)DNSBLV6_SETTING_HEAD_SIZE + setting.name_size + setting.value_size;
		if (strlen(item->name) > UINT8_MAX || strlen(item->value) > UINT16_MAX ||
		    wanted > room)
			return DNSBLV6_ESPACE;
		size += dnsblv6_setting_encode(&setting, data + size);
	}
	*ret_size = size;
	return DNSBLV6_OK;
}

int store_settings_write(struct writer *writer, const struct store_settings *settings)
{
	size_t size;
	uint8_t *data = malloc(STORE_SETTINGS_SIZE_MAX);
	if (data == NULL)
		return -ENOMEM;
	int ret = encode(settings, data, &size);
	if (ret == DNSBLV6_OK)
		ret = writer_put(writer, STORE_FACTS, DNSBLV6_FACT_SETTINGS,
				 strlen(DNSBLV6_FACT_SETTINGS), data, size);
	free(data);
	return ret;
}

/* ---- the lifetime ---- */

static int load(struct writer *writer, struct store_settings *ret_settings)
{
	struct store_bytes value;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_SETTINGS,
			     strlen(DNSBLV6_FACT_SETTINGS), &value);
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	return ret == DNSBLV6_OK ? decode(value, ret_settings) : ret;
}

static uint32_t lifetime_of(const struct store_settings *settings)
{
	const char *text = store_settings_get(settings, "lifetime");
	unsigned long number = text == NULL ? 0 : strtoul(text, NULL, 10);
	bool is_sound = number >= SIGNER_LIFETIME_MIN_S && number <= SIGNER_LIFETIME_MAX_S;
	return is_sound ? (uint32_t)number : SIGNER_LIFETIME_S;
}

int store_settings_recall_lifetime(struct writer *writer, uint32_t given_s,
				   uint32_t *ret_lifetime_s)
{
	struct store_settings settings = { 0 };
	int ret = load(writer, &settings);
	if (ret == DNSBLV6_OK)
		*ret_lifetime_s = given_s != 0 ? given_s : lifetime_of(&settings);
	store_settings_deinit(&settings);
	return ret;
}

int store_settings_remember_lifetime(struct writer *writer, uint32_t given_s)
{
	char text[16];
	struct store_settings settings = { 0 };
	if (given_s == 0)
		return DNSBLV6_OK;
	snprintf(text, sizeof(text), "%" PRIu32, given_s);
	int ret = load(writer, &settings);
	if (ret == DNSBLV6_OK)
		ret = replace(&settings, "lifetime", text);
	if (ret == DNSBLV6_OK)
		ret = store_settings_write(writer, &settings);
	store_settings_deinit(&settings);
	return ret;
}
