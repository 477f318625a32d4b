/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_settings.h"

#include "integration/mail/base/users/users_item.h"
#include "lib/common/values.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_SIZE 8

/* In ascending order of their tags. */
static const struct row {
	enum users_tag tag;
	const char *name; /* with what follows it */
	enum values_unit unit;
	int64_t max;
	size_t member;
	int refusal;
} rows[] = {
	{ USERS_TAG_MESSAGES, "messages=", VALUES_COUNT, USERS_SETTINGS_MESSAGES,
	  offsetof(struct users_settings, messages_max), USERS_EMESSAGES },
	{ USERS_TAG_OCTETS, "octets=", VALUES_BYTES, USERS_SETTINGS_OCTETS,
	  offsetof(struct users_settings, octets_max), USERS_EOCTETS },
	{ USERS_TAG_KEEP, "keep=", VALUES_AGE, USERS_SETTINGS_KEEP_S,
	  offsetof(struct users_settings, keep_s), USERS_EKEEP },
	{ USERS_TAG_NODE, "node=", VALUES_COUNT, USERS_SETTINGS_NODE,
	  offsetof(struct users_settings, node), USERS_ENODE },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

_Static_assert(USERS_SETTINGS_SIZE == ROW_COUNT * (USERS_ITEM_HEAD + NUMBER_SIZE),
	       "a value has room for all rows");

static uint64_t get(const struct users_settings *settings, const struct row *row)
{
	uint64_t number;
	memcpy(&number, (const char *)settings + row->member, sizeof(number));
	return number;
}

static void set(struct users_settings *settings, const struct row *row, uint64_t number)
{
	memcpy((char *)settings + row->member, &number, sizeof(number));
}

bool users_settings_is_any(const struct users_settings *settings)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (get(settings, &rows[i]) != 0)
			return true;
	}
	return false;
}

/* ---- words ---- */

static const struct row *find_word(const char *word, size_t size)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		size_t name_size = strlen(rows[i].name);
		if (size >= name_size && memcmp(word, rows[i].name, name_size) == 0)
			return &rows[i];
	}
	return NULL;
}

static bool parse_number(const struct row *row, const char *text, size_t size, int64_t *ret_number)
{
	char copy[VALUES_NUMBER_MAX];
	if (size == 0 || size >= sizeof(copy) || memchr(text, '\0', size) != NULL)
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	return values_parse_number(copy, row->unit, 0, row->max, ret_number);
}

unsigned users_settings_bit(const char *word, size_t size)
{
	const struct row *row = find_word(word, size);
	return row != NULL ? 1u << row->tag : 0;
}

int users_settings_parse(const char *word, size_t size, struct users_settings *settings)
{
	int64_t number;
	const struct row *row = find_word(word, size);
	if (row == NULL)
		return USERS_ESETTING;
	size_t name_size = strlen(row->name);
	if (!parse_number(row, word + name_size, size - name_size, &number))
		return row->refusal;
	set(settings, row, (uint64_t)number);
	return STORE_OK;
}

size_t users_settings_print(const struct users_settings *settings, char *ret_text)
{
	char number[VALUES_NUMBER_MAX];
	size_t used = 0;
	ret_text[0] = '\0';
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (get(settings, &rows[i]) == 0)
			continue;
		values_print_number(rows[i].unit, (int64_t)get(settings, &rows[i]), number);
		used += (size_t)snprintf(ret_text + used, USERS_SETTINGS_PRINT_MAX - used, "%s%s%s",
					 used > 0 ? " " : "", rows[i].name, number);
	}
	return used;
}

/* ---- items ---- */

/* Those whose tags are from first to behind. */
static size_t encode(const struct users_settings *settings, unsigned first, unsigned behind,
		     uint8_t *ret_bytes)
{
	uint8_t *out = ret_bytes;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		uint8_t number[NUMBER_SIZE];
		uint8_t *end = number;
		if (get(settings, &rows[i]) == 0 || rows[i].tag < first || rows[i].tag >= behind)
			continue;
		bytes_put(&end, get(settings, &rows[i]), NUMBER_SIZE);
		users_item_put(&out, rows[i].tag, number, NUMBER_SIZE);
	}
	return (size_t)(out - ret_bytes);
}

size_t users_settings_encode(const struct users_settings *settings, uint8_t *ret_bytes)
{
	return encode(settings, 0, USERS_TAG_PASSWORD, ret_bytes);
}

size_t users_settings_encode_last(const struct users_settings *settings, uint8_t *ret_bytes)
{
	return encode(settings, USERS_TAG_PASSWORD, USERS_TAG_END, ret_bytes);
}

static const struct row *find_tag(uint8_t tag)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].tag == tag)
			return &rows[i];
	}
	return NULL;
}

/* false: it is not as users_settings_encode() writes it. */
static bool take_number(const struct row *row, const struct users_item *item,
			struct users_settings *settings)
{
	if (item->size != NUMBER_SIZE)
		return false;
	uint64_t number = bytes_get(item->bytes, NUMBER_SIZE);
	set(settings, row, number);
	return number > 0 && number <= (uint64_t)row->max;
}

int users_settings_decode(struct store_bytes value, struct users_settings *ret_settings)
{
	struct bytes_input input = { value.data, value.size, false };
	struct users_item item = { 0 };
	struct users_settings settings = { 0 };
	int ret;
	while ((ret = users_item_next(&input, &item)) == STORE_OK) {
		const struct row *row = find_tag(item.tag);
		if (row != NULL && !take_number(row, &item, &settings))
			return STORE_ECORRUPT;
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_settings = settings;
	return STORE_OK;
}
