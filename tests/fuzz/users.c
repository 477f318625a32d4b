/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A list of recipients, and the same bytes as a file like passwd. The first byte has the options.
 * What is accepted prints as a line that is accepted and is the same entry, and what is in order
 * has no entry twice; an address that is accepted has the key that a question for it has.
 */

#include "integration/mail/base/users/users_file.h"
#include "integration/mail/base/users/users_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* An entry comes back from its own line, first in a list of its own. */
static void check_key(const struct users_facts *facts, const char *key, size_t size)
{
	char line[USERS_FILE_LINE_MAX];
	char again[USERS_FILE_KEY_MAX];
	struct users_list *list = NULL;
	require(size >= 2 && size <= USERS_FILE_KEY_MAX, "a key has its size");
	size_t line_size = users_file_line(key, size, line);
	require(line_size > 0 && line_size <= sizeof(line), "a key prints");
	require(users_list_new(facts, &list) == USERS_OK, "there is memory");
	require(users_list_add(list, line, line_size) == USERS_OK, "what prints is an entry");
	size_t found_size;
	const char *found = users_list_key(list, 0, &found_size);
	require(found_size == size && memcmp(found, key, size) == 0, "it is the same");
	if (key[0] == USERS_FILE_ADDRESS) {
		size_t again_size =
			users_file_key(USERS_FILE_ADDRESS, facts, line, line_size, again);
		require(again_size == size && memcmp(again, key, size) == 0,
			"a question for it finds it");
	}
	users_list_free(list);
}

static void check_list(const struct users_facts *facts, struct users_list *list)
{
	users_list_sort(list);
	const char *before = NULL;
	size_t before_size = 0;
	for (size_t i = 0; i < users_list_count(list); i++) {
		size_t size;
		const char *key = users_list_key(list, i, &size);
		require(before == NULL || before_size != size || memcmp(before, key, size) != 0,
			"no entry is there twice");
		check_key(facts, key, size);
		before = key;
		before_size = size;
	}
}

static void feed(const struct users_facts *facts, const char *text, size_t size, bool is_passwd)
{
	const struct users_passwd passwd = { "Example.org", 1000 };
	struct users_list *list = NULL;
	require(users_list_new(facts, &list) == USERS_OK, "there is memory");
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t line_size = end != NULL ? (size_t)(end - text) : size;
		int ret = is_passwd ? users_list_add_passwd(list, text, line_size, &passwd)
				    : users_list_add(list, text, line_size);
		require(ret == USERS_OK || strcmp(users_list_strerror(ret), "") != 0,
			"a refusal has its reason");
		line_size += end != NULL;
		text += line_size;
		size -= line_size;
	}
	check_list(facts, list);
	users_list_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 4096)
		return 0;
	struct users_facts facts = {
		.folds_case = (data[0] & 1) != 0,
		.extension = (data[0] & 2) != 0 ? '+' : '\0',
	};
	feed(&facts, (const char *)data + 1, size - 1, false);
	feed(&facts, (const char *)data + 1, size - 1, true);
	return 0;
}
