/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A list of recipients, or the value of one. The first byte has the options. What is accepted
 * prints as a line that is accepted and is the same entry with the same words; an address that
 * is accepted has the key that a question for it has, and <postmaster> is an alias.
 */

#include "integration/mail/base/users/users_list.h"

#include <string.h>

#include "tests/fuzz/require.h"

static bool is_same(const struct users_key *one, const struct users_key *other)
{
	return one->size == other->size && memcmp(one->bytes, other->bytes, one->size) == 0;
}

static bool is_same_value(const struct users_value *one, const struct users_value *other)
{
	uint8_t bytes[2][USERS_VALUE_SIZE];
	const size_t size = users_value_encode(one, bytes[0]);
	require(size <= sizeof(bytes[0]), "a value has its size");
	return users_value_encode(other, bytes[1]) == size && memcmp(bytes[0], bytes[1], size) == 0;
}

/* What is behind an address comes back from its bytes. */
static void check_bytes(const struct users_value *value)
{
	uint8_t bytes[USERS_VALUE_SIZE];
	struct users_value again;
	bool has_others;
	const size_t size = users_value_encode(value, bytes);
	require(users_value_decode((struct store_bytes){ bytes, size }, &again, &has_others) ==
				STORE_OK &&
			!has_others,
		"words are a value");
	require(is_same_value(value, &again), "the value is these words");
}

/* And from words. */
static void check_words(const struct users_value *value)
{
	static const struct users_facts facts = { .folds_case = false };
	static const char address[] = { USERS_ADDRESS, 'a', '@', 'b' };
	char line[USERS_LIST_PRINT_MAX];
	struct users_key key;
	struct users_value again;
	size_t size = users_list_print(
		(struct store_bytes){ (const uint8_t *)address, sizeof(address) }, value, line);
	require(users_list_parse(line, size, &facts, &key, &again) == STORE_OK, "they print");
	require(is_same_value(value, &again), "they are the same");
}

/* A question finds what was decoded. */
static void check_targets(struct store_bytes bytes, const struct users_alias *alias)
{
	struct store_bytes rest;
	struct store_bytes target;
	size_t count = 0;
	require(users_alias_find(bytes, &rest) == STORE_OK, "targets are found");
	for (; rest.size > 0; count++)
		require(users_alias_next(&rest, &target), "targets follow each other");
	require(count == alias->count, "each of them");
}

static void check_value(const uint8_t *data, size_t size)
{
	struct users_value value;
	struct users_settings settings;
	struct users_secret secret;
	struct users_alias alias;
	const struct store_bytes bytes = { data, size };
	bool has_others;
	if (users_value_decode(bytes, &value, &has_others) != STORE_OK)
		return;
	require(users_settings_decode(bytes, &settings) == STORE_OK &&
			users_secret_decode(bytes, &secret) == STORE_OK &&
			users_alias_decode(bytes, &alias) == STORE_OK,
		"a value has its parts");
	check_targets(bytes, &alias);
	check_bytes(&value);
	check_words(&value);
}

/* An entry comes back from its own line. */
static void check_entry(const struct users_facts *facts, const struct users_key *key,
			const struct users_value *value)
{
	static const struct users_value none = { .settings = { 0 } };
	char line[USERS_LIST_PRINT_MAX];
	struct users_key again;
	struct users_value value_again;
	require(key->size >= 2 && key->size <= USERS_KEY_MAX, "a key has its size");
	size_t size = users_list_print(
		(struct store_bytes){ (const uint8_t *)key->bytes, key->size }, value, line);
	require(size > 0 && size <= sizeof(line), "a key prints");
	require(users_list_parse(line, size, facts, &again, &value_again) == STORE_OK,
		"it is an entry");
	require(is_same(key, &again), "it is the same");
	require(is_same_value(value, &value_again), "and its words");
	size = users_list_print((struct store_bytes){ (const uint8_t *)key->bytes, key->size },
				&none, line);
	if (users_file_is_postmaster(line, size)) {
		require(value->alias.count > 0, "it has targets");
		return;
	}
	if (key->bytes[0] == USERS_ADDRESS)
		require(users_file_key(USERS_ADDRESS, facts, line, size, &again) &&
				is_same(key, &again),
			"a question for it finds it");
	users_file_domain_key(key, USERS_DOMAIN, &again);
	size = users_list_print((struct store_bytes){ (const uint8_t *)again.bytes, again.size },
				&none, line);
	require(users_list_parse(line, size, facts, &again, &value_again) == STORE_OK,
		"it has a domain");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	if (size < 1 || size > 4096)
		return 0;
	struct users_facts facts = {
		.folds_case = (data[0] & 1) != 0,
		.extension = (data[0] & 2) != 0 ? '+' : '\0',
	};
	size--;
	if ((data[0] & 4) != 0)
		check_value(data + 1, size);
	while (size > 0) {
		struct users_value value;
		struct users_key key;
		const char *end = memchr(text, '\n', size);
		size_t line_size = end != NULL ? (size_t)(end - text) : size;
		char shown[USERS_LIST_SHOWN_MAX];
		int ret = users_list_parse(text, line_size, &facts, &key, &value);
		require(users_list_show(text, line_size, &facts, shown) <= sizeof(shown),
			"a log has room for it");
		require(ret == STORE_OK || strcmp(users_strerror(ret), "") != 0,
			"a refusal has its reason");
		if (ret == STORE_OK && key.size > 0) {
			check_bytes(&value);
			check_entry(&facts, &key, &value);
		}
		line_size += end != NULL;
		text += line_size;
		size -= line_size;
	}
	return 0;
}
