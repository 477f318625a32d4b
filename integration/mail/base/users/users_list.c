/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_list.h"

#include "integration/mail/base/users/users_address.h"

#include <string.h>

#include "lib/format/ascii.h"

/* ---- lines ---- */

/* A word ends at a blank outside quotes. Takes it from *text; its size, which may be 0. */
static size_t take_word(const char **text, size_t *size, const char **ret_word)
{
	size_t used = 0;
	bool is_quoted = false;
	for (; *size > 0 && ascii_is_space(**text); (*size)--)
		(*text)++;
	if (*size > 0 && **text == '#')
		*size = 0;
	*ret_word = *text;
	for (; used < *size && (is_quoted || !ascii_is_space((*text)[used])); used++) {
		if ((*text)[used] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && (*text)[used] == '\\' && used + 1 < *size)
			used++;
	}
	*text += used;
	*size -= used;
	return used;
}

/* What is behind "domain". */
static int parse_domain(const char *rest, size_t size, const struct users_facts *facts,
			struct users_key *ret_key)
{
	const char *word;
	const char *more;
	size_t word_size = take_word(&rest, &size, &word);
	if (take_word(&rest, &size, &more) > 0)
		return USERS_EWORDS;
	if (!users_address_is_utf8(word, word_size))
		return USERS_EUTF8;
	int ret = users_address_check_domain(word, word_size);
	if (ret == STORE_OK)
		(void)users_file_key(USERS_DOMAIN, facts, word, word_size, ret_key);
	return ret;
}

/* What is behind an address. *ret_word is the last word that was looked at. */
static int parse_value(const char *rest, size_t size, const struct users_facts *facts,
		       struct users_value *value, const char **ret_word, size_t *ret_word_size)
{
	unsigned seen = 0;
	int ret = STORE_OK;
	while (ret == STORE_OK && (*ret_word_size = take_word(&rest, &size, ret_word)) > 0)
		ret = users_value_parse(*ret_word, *ret_word_size, facts, &seen, value);
	return ret;
}

int users_list_parse(const char *line, size_t size, const struct users_facts *facts,
		     struct users_key *ret_key, struct users_value *ret_value)
{
	static const char keyword[] = "domain";
	const char *word;
	size_t word_size = take_word(&line, &size, &word);
	ret_key->size = 0;
	users_value_clear(ret_value);
	if (word_size == 0)
		return STORE_OK;
	if (word_size == sizeof(keyword) - 1 && memcmp(word, keyword, word_size) == 0)
		return parse_domain(line, size, facts, ret_key);
	if (!users_address_is_utf8(word, word_size))
		return USERS_EUTF8;
	const bool is_postmaster = users_file_is_postmaster(word, word_size);
	int ret = STORE_OK;
	if (is_postmaster)
		users_file_postmaster_key(ret_key);
	else
		ret = users_address_parse(word, word_size, facts, ret_key);
	if (ret == STORE_OK)
		ret = parse_value(line, size, facts, ret_value, &word, &word_size);
	if (ret == STORE_OK)
		ret = users_value_check(ret_value);
	if (ret == STORE_OK && is_postmaster && ret_value->alias.count == 0)
		return USERS_EPOSTMASTER;
	if (ret == STORE_OK && ret_key->bytes[0] == USERS_CATCHALL &&
	    users_secret_is_any(&ret_value->secret))
		return USERS_ENOLOGIN;
	return ret;
}

size_t users_list_find_wrong(const char *line, size_t size, const struct users_facts *facts,
			     const char **ret_name)
{
	struct users_value value;
	const char *word;
	size_t word_size = take_word(&line, &size, &word);
	users_value_clear(&value);
	if (parse_value(line, size, facts, &value, &word, &word_size) == STORE_OK)
		return 0;
	size_t name_size = 0;
	while (name_size < word_size && ascii_is_letter(word[name_size]))
		name_size++;
	if (name_size == word_size || name_size > USERS_LIST_NAME_MAX || word[name_size] != '=')
		return 0;
	*ret_name = word;
	return name_size;
}

/* ---- back to text ---- */

size_t users_list_print(struct store_bytes key, const struct users_value *value, char *ret_line)
{
	static const char domain[] = "domain ";
	size_t used = 0;
	if (key.size < 2 || key.size > USERS_KEY_MAX)
		return 0;
	if (users_file_is_postmaster_key(key.data, key.size)) {
		used = strlen(USERS_POSTMASTER);
		memcpy(ret_line, USERS_POSTMASTER, used);
	} else if (key.data[0] == USERS_ADDRESS) {
		used = users_address_print(key.data + 1, key.size - 1, true, ret_line);
		if (used == 0)
			return 0;
	} else if (key.data[0] == USERS_CATCHALL || key.data[0] == USERS_DOMAIN) {
		const char *mark = key.data[0] == USERS_DOMAIN ? domain : "@";
		used = strlen(mark);
		memcpy(ret_line, mark, used);
		memcpy(ret_line + used, key.data + 1, key.size - 1);
		used += key.size - 1;
	} else {
		return 0;
	}
	ret_line[used] = ' ';
	const size_t words_size = users_value_print(value, ret_line + used + 1);
	if (words_size == 0)
		return used;
	return key.data[0] == USERS_DOMAIN ? 0 : used + 1 + words_size;
}
