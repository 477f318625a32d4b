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

static bool is_domain_keyword(const char *word, size_t size)
{
	static const char keyword[] = "domain";
	return size == sizeof(keyword) - 1 && memcmp(word, keyword, size) == 0;
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

/* What is behind an address. */
static int parse_value(const char *rest, size_t size, const struct users_facts *facts,
		       struct users_value *value)
{
	const char *word;
	size_t word_size;
	unsigned seen = 0;
	int ret = STORE_OK;
	while (ret == STORE_OK && (word_size = take_word(&rest, &size, &word)) > 0)
		ret = users_value_parse(word, word_size, facts, &seen, value);
	return ret;
}

int users_list_parse(const char *line, size_t size, const struct users_facts *facts,
		     struct users_key *ret_key, struct users_value *ret_value)
{
	const char *word;
	size_t word_size = take_word(&line, &size, &word);
	ret_key->size = 0;
	users_value_clear(ret_value);
	if (word_size == 0)
		return STORE_OK;
	if (is_domain_keyword(word, word_size))
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
		ret = parse_value(line, size, facts, ret_value);
	if (ret == STORE_OK)
		ret = users_value_check(ret_value);
	if (ret == STORE_OK && is_postmaster && ret_value->alias.count == 0)
		return USERS_EPOSTMASTER;
	if (ret == STORE_OK && ret_key->bytes[0] == USERS_CATCHALL &&
	    users_secret_is_any(&ret_value->secret))
		return USERS_ENOLOGIN;
	return ret;
}

/* ---- what a log may have of a line ---- */

/* Words with a blank before each but the first, as far as there is room. */
struct shown {
	char *text;
	size_t size;
};

static void put(struct shown *shown, const char *text, size_t size)
{
	const size_t room = USERS_LIST_SHOWN_MAX - shown->size;
	size = size < room ? size : room;
	memcpy(shown->text + shown->size, text, size);
	shown->size += size;
}

static void put_word(struct shown *shown, const char *word, size_t word_size, size_t kept)
{
	if (shown->size > 0)
		put(shown, " ", 1);
	put(shown, word, kept);
	if (kept < word_size)
		put(shown, "*", 1);
}

/*
 * Of a first word that is no address: as far as it might be one, such as "john@example.org" before a colon
 * and a password. What has no "@" there may be a password itself.
 */
static size_t kept_of_address(const char *word, size_t size)
{
	size_t kept = 0;
	size_t at_count = 0;
	for (; kept < size; kept++) {
		const char c = word[kept];
		if (c == '@' && ++at_count > 1)
			break;
		if (c != '@' && (unsigned char)c < 0x80 && !ascii_is_alnum(c) && c != '.' &&
		    c != '-' && c != '_' && c != '+')
			break;
	}
	return at_count > 0 ? kept : 0;
}

/* The name of a word that may be there, and the number behind it with its unit, if it is a setting. */
static size_t kept_of_value(const char *word, size_t size)
{
	const bool is_setting = users_settings_bit(word, size) != 0;
	if (!is_setting && users_secret_bit(word, size) == 0 && users_alias_bit(word, size) == 0)
		return 0;
	size_t kept = (size_t)((const char *)memchr(word, '=', size) - word) + 1;
	while (is_setting && kept < size && (ascii_is_digit(word[kept]) || word[kept] == '.'))
		kept++;
	return is_setting && kept < size && ascii_is_letter(word[kept]) ? kept + 1 : kept;
}

size_t users_list_show(const char *line, size_t size, const struct users_facts *facts,
		       char *ret_text)
{
	struct shown shown = { ret_text, 0 };
	struct users_key key;
	const char *word;
	size_t word_size = take_word(&line, &size, &word);
	const bool is_domain = is_domain_keyword(word, word_size);
	const bool is_whole = is_domain || users_file_is_postmaster(word, word_size) ||
			      (users_address_is_utf8(word, word_size) &&
			       users_address_parse(word, word_size, facts, &key) == STORE_OK);
	put_word(&shown, word, word_size, is_whole ? word_size : kept_of_address(word, word_size));
	if (is_domain && (word_size = take_word(&line, &size, &word)) > 0)
		put_word(&shown, word, word_size,
			 users_address_check_domain(word, word_size) == STORE_OK ? word_size : 0);
	while ((word_size = take_word(&line, &size, &word)) > 0)
		put_word(&shown, word, word_size, kept_of_value(word, word_size));
	return shown.size;
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
