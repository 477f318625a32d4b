/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_value.h"

#include "integration/mail/base/users/users_item.h"

void users_value_clear(struct users_value *ret_value)
{
	*ret_value = (struct users_value){ .settings = { 0 } };
}

int users_value_parse(const char *word, size_t size, unsigned *seen, struct users_value *value)
{
	const unsigned setting = users_settings_bit(word, size);
	const unsigned bit = setting != 0 ? setting : users_secret_bit(word, size);
	if (bit == 0)
		return USERS_ESETTING;
	if ((*seen & bit) != 0)
		return USERS_ETWICE;
	int ret = setting != 0 ? users_settings_parse(word, size, &value->settings)
			       : users_secret_parse(word, size, &value->secret);
	if (ret == STORE_OK)
		*seen |= bit;
	return ret;
}

size_t users_value_print(const struct users_value *value, char *ret_text)
{
	size_t size = users_settings_print(&value->settings, ret_text);
	ret_text[size] = ' ';
	const size_t more = users_secret_print(&value->secret, ret_text + size + (size > 0));
	return more > 0 ? size + (size > 0) + more : size;
}

size_t users_value_encode(const struct users_value *value, uint8_t *ret_bytes)
{
	const size_t size = users_settings_encode(&value->settings, ret_bytes);
	return size + users_secret_encode(&value->secret, ret_bytes + size);
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
	struct users_settings settings;
	struct users_secret secret;
	int ret = users_settings_decode(bytes, &settings);
	if (ret == STORE_OK)
		ret = users_secret_decode(bytes, &secret);
	if (ret != STORE_OK)
		return ret;
	*ret_value = (struct users_value){ settings, secret };
	*ret_has_others = has_later_items(bytes);
	return STORE_OK;
}
