/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_alias.h"

#include "integration/mail/base/users/users_address.h"
#include "integration/mail/base/users/users_item.h"

#include <string.h>

#define SIZE_SIZE 2

static const char name[] = "to=";

/* 64 octets in quotes, "@", a domain of 255, and a comma. */
_Static_assert(sizeof(name) + USERS_ALIAS_TARGETS_MAX * (2 * 64 + 2 + 1 + 255 + 1) <=
		       USERS_ALIAS_PRINT_MAX,
	       "a word has room for all targets");

/* ---- targets ---- */

bool users_alias_next(struct store_bytes *targets, struct store_bytes *ret_target)
{
	struct bytes_input input = { targets->data, targets->size, false };
	const size_t size = (size_t)bytes_take(&input, SIZE_SIZE);
	const uint8_t *bytes = bytes_take_string(&input, size);
	if (bytes == NULL || size == 0 || size > USERS_KEY_MAX - 1)
		return false;
	*ret_target = (struct store_bytes){ bytes, size };
	*targets = (struct store_bytes){ input.data, input.size };
	return true;
}

static bool has(const struct users_alias *alias, const void *target, size_t size)
{
	struct store_bytes rest = { alias->targets, alias->size };
	struct store_bytes one;
	while (users_alias_next(&rest, &one)) {
		if (one.size == size && memcmp(one.data, target, size) == 0)
			return true;
	}
	return false;
}

static void add(struct users_alias *alias, const void *target, size_t size)
{
	uint8_t *out = alias->targets + alias->size;
	bytes_put(&out, size, SIZE_SIZE);
	bytes_put_string(&out, target, size);
	alias->size = (size_t)(out - alias->targets);
	alias->count++;
}

/* ---- the word ---- */

unsigned users_alias_bit(const char *word, size_t size)
{
	const bool is_it = size >= strlen(name) && memcmp(word, name, strlen(name)) == 0;
	return is_it ? 1u << USERS_TAG_TO : 0;
}

/* Up to a comma outside quotes. Its size. */
static size_t target_size(const char *text, size_t size)
{
	bool is_quoted = false;
	size_t used = 0;
	for (; used < size && (is_quoted || text[used] != ','); used++) {
		if (text[used] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && text[used] == '\\' && used + 1 < size)
			used++;
	}
	return used;
}

static int parse_target(const char *text, size_t size, const struct users_facts *facts,
			struct users_alias *alias)
{
	struct users_key key;
	if (size == 0)
		return USERS_ETARGETS;
	const int ret = users_address_parse(text, size, facts, &key);
	if (ret != STORE_OK)
		return ret;
	if (key.bytes[0] != USERS_ADDRESS)
		return USERS_ETARGETS;
	if (has(alias, key.bytes + 1, key.size - 1))
		return STORE_OK;
	if (alias->count == USERS_ALIAS_TARGETS_MAX)
		return USERS_ETARGETS;
	add(alias, key.bytes + 1, key.size - 1);
	return STORE_OK;
}

int users_alias_parse(const char *word, size_t size, const struct users_facts *facts,
		      struct users_alias *ret_alias)
{
	const char *text = word + strlen(name);
	size_t left = size - strlen(name);
	int ret = users_address_is_utf8(word, size) ? STORE_OK : USERS_EUTF8;
	ret_alias->count = 0;
	ret_alias->size = 0;
	/* A comma at the end has an address behind it that is none. */
	for (bool has_more = true; ret == STORE_OK && has_more;) {
		const size_t used = target_size(text, left);
		has_more = used < left;
		ret = parse_target(text, used, facts, ret_alias);
		text += used + (has_more ? 1 : 0);
		left -= used + (has_more ? 1 : 0);
	}
	if (ret != STORE_OK)
		ret_alias->count = ret_alias->size = 0;
	return ret;
}

size_t users_alias_print(const struct users_alias *alias, char *ret_text)
{
	struct store_bytes rest = { alias->targets, alias->size };
	struct store_bytes one;
	if (alias->count == 0)
		return 0;
	size_t used = (size_t)(stpcpy(ret_text, name) - ret_text);
	for (bool is_first = true; users_alias_next(&rest, &one); is_first = false) {
		if (!is_first)
			ret_text[used++] = ',';
		used += users_address_print(one.data, one.size, false, ret_text + used);
	}
	return used;
}

/* ---- the item ---- */

size_t users_alias_encode(const struct users_alias *alias, uint8_t *ret_bytes)
{
	uint8_t *out = ret_bytes;
	if (alias->count > 0)
		users_item_put(&out, USERS_TAG_TO, alias->targets, alias->size);
	return (size_t)(out - ret_bytes);
}

int users_alias_find(struct store_bytes value, struct store_bytes *ret_targets)
{
	struct bytes_input input = { value.data, value.size, false };
	struct users_item item = { 0 };
	struct store_bytes targets = { NULL, 0 };
	int ret;
	while ((ret = users_item_next(&input, &item)) == STORE_OK) {
		if (item.tag == USERS_TAG_TO && item.size == 0)
			return STORE_ECORRUPT;
		if (item.tag == USERS_TAG_TO)
			targets = (struct store_bytes){ item.bytes, item.size };
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_targets = targets;
	return STORE_OK;
}

/* As a list could have it, and so prints as what is parsed. */
static bool is_target(struct store_bytes target)
{
	static const struct users_facts facts = { .folds_case = false };
	char text[USERS_ADDRESS_PRINT_MAX];
	struct users_key key;
	const size_t size = users_address_print(target.data, target.size, false, text);
	return size > 0 && users_address_is_utf8(text, size) &&
	       users_address_parse(text, size, &facts, &key) == STORE_OK &&
	       key.size == target.size + 1 && memcmp(key.bytes + 1, target.data, target.size) == 0;
}

int users_alias_decode(struct store_bytes value, struct users_alias *ret_alias)
{
	struct store_bytes rest;
	struct store_bytes one;
	int ret = users_alias_find(value, &rest);
	if (ret != STORE_OK)
		return ret;
	ret_alias->count = 0;
	ret_alias->size = 0;
	while (rest.size > 0) {
		if (!users_alias_next(&rest, &one) || !is_target(one) ||
		    ret_alias->count == USERS_ALIAS_TARGETS_MAX ||
		    has(ret_alias, one.data, one.size))
			return STORE_ECORRUPT;
		add(ret_alias, one.data, one.size);
	}
	return STORE_OK;
}
