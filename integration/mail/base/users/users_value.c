/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_value.h"

#include "integration/mail/base/users/users_item.h"

void users_value_clear(struct users_value *ret_value)
{
	ret_value->settings = (struct users_settings){ 0 };
	ret_value->secret.password[0] = '\0';
	ret_value->secret.scram[0] = '\0';
	ret_value->alias.count = 0;
	ret_value->alias.size = 0;
}

int users_value_parse(const char *word, size_t size, const struct users_facts *facts,
		      unsigned *seen, struct users_value *value)
{
	const unsigned setting = users_settings_bit(word, size);
	const unsigned secret = users_secret_bit(word, size);
	const unsigned bit = setting | secret | users_alias_bit(word, size);
	int ret;
	if (bit == 0)
		return USERS_ESETTING;
	if ((*seen & bit) != 0)
		return USERS_ETWICE;
	if (setting != 0)
		ret = users_settings_parse(word, size, &value->settings);
	else if (secret != 0)
		ret = users_secret_parse(word, size, &value->secret);
	else
		ret = users_alias_parse(word, size, facts, &value->alias);
	if (ret == STORE_OK)
		*seen |= bit;
	return ret;
}

int users_value_check(const struct users_value *value)
{
	const bool has_others =
		users_settings_is_any(&value->settings) || users_secret_is_any(&value->secret);
	return value->alias.count > 0 && has_others ? USERS_EALONE : STORE_OK;
}

/* Behind what is there comes a blank, if anything comes. */
static size_t join(size_t before, size_t more)
{
	return more == 0 ? before : before + (before > 0) + more;
}

size_t users_value_print(const struct users_value *value, char *ret_text)
{
	size_t size = users_settings_print(&value->settings, ret_text);
	ret_text[size] = ' ';
	size = join(size, users_secret_print(&value->secret, ret_text + size + (size > 0)));
	ret_text[size] = ' ';
	return join(size, users_alias_print(&value->alias, ret_text + size + (size > 0)));
}

size_t users_value_encode(const struct users_value *value, uint8_t *ret_bytes)
{
	size_t size = users_settings_encode(&value->settings, ret_bytes);
	size += users_secret_encode(&value->secret, ret_bytes + size);
	size += users_alias_encode(&value->alias, ret_bytes + size);
	return size + users_settings_encode_last(&value->settings, ret_bytes + size);
}

static bool has_later_items(struct store_bytes bytes)
{
	struct bytes_input input = { bytes.data, bytes.size, false };
	struct users_item item = { 0 };
	while (users_item_next(&input, &item) == STORE_OK) {
		if (item.tag >= USERS_TAG_END)
			return true;
	}
	return false;
}

int users_value_decode(struct store_bytes bytes, struct users_value *ret_value,
		       bool *ret_has_others)
{
	int ret = users_settings_decode(bytes, &ret_value->settings);
	if (ret == STORE_OK)
		ret = users_secret_decode(bytes, &ret_value->secret);
	if (ret == STORE_OK)
		ret = users_alias_decode(bytes, &ret_value->alias);
	if (ret == STORE_OK && users_value_check(ret_value) != STORE_OK)
		ret = STORE_ECORRUPT;
	if (ret != STORE_OK)
		return ret;
	*ret_has_others = has_later_items(bytes);
	return STORE_OK;
}
