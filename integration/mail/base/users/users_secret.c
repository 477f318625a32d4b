/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_secret.h"

#include "integration/mail/base/users/users_item.h"
#include "lib/format/ascii.h"
#include "lib/pop3/scram_text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SCRAM_TEXT_SIZE <= USERS_SECRET_MAX + 1, "all keys have room");

/* ---- what is a hash ---- */

/* Between "$" and "$", in this order; the hash is at the end. */
static const struct form {
	const char *prefix;
	size_t params_min; /* of the cost; 0: there is no such field */
	size_t params_max;
	bool may_have_rounds; /* "rounds=5000" */
	size_t salt_max;      /* 0: it is a part of the hash */
	size_t hash_size;
} forms[] = {
	{ "$y$", 1, 16, false, 86, 43 }, { "$gy$", 1, 16, false, 86, 43 },
	{ "$7$", 0, 0, false, 97, 43 },	 { "$2b$", 2, 2, false, 0, 53 },
	{ "$2y$", 2, 2, false, 0, 53 },	 { "$2a$", 2, 2, false, 0, 53 },
	{ "$6$", 0, 0, true, 16, 86 },	 { "$5$", 0, 0, true, 16, 43 },
};

static bool is_digit_64(char c)
{
	return ascii_is_alnum(c) || c == '.' || c == '/';
}

static bool is_field(const char *text, size_t size, size_t min, size_t max)
{
	for (size_t i = 0; i < size; i++) {
		if (!is_digit_64(text[i]))
			return false;
	}
	return size >= min && size <= max;
}

/* Up to the next "$", which is taken too and has to be there. */
static bool take_field(const char **text, size_t *size, size_t min, size_t max)
{
	const char *end = *size > 0 ? memchr(*text, '$', *size) : NULL;
	if (end == NULL || !is_field(*text, (size_t)(end - *text), min, max))
		return false;
	*size -= (size_t)(end + 1 - *text);
	*text = end + 1;
	return true;
}

static bool take_rounds(const char **text, size_t *size)
{
	static const char name[] = "rounds=";
	const size_t name_size = sizeof(name) - 1;
	if (*size < name_size || memcmp(*text, name, name_size) != 0)
		return true;
	*text += name_size;
	*size -= name_size;
	return *size > 0 && **text >= '1' && **text <= '9' && take_field(text, size, 1, 9);
}

static bool is_of_form(const struct form *form, const char *text, size_t size)
{
	return (form->params_max == 0 ||
		take_field(&text, &size, form->params_min, form->params_max)) &&
	       (!form->may_have_rounds || take_rounds(&text, &size)) &&
	       (form->salt_max == 0 || take_field(&text, &size, 1, form->salt_max)) &&
	       is_field(text, size, form->hash_size, form->hash_size);
}

/* DES has 13 digits or begins with "_", MD5 with "$1$". */
static bool is_weak(const char *text, size_t size)
{
	return (size >= 3 && memcmp(text, "$1$", 3) == 0) || is_field(text, size, 13, 13) ||
	       (size > 0 && text[0] == '_' && is_field(text + 1, size - 1, 19, 19));
}

static int check_password(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const size_t prefix_size = strlen(forms[i].prefix);
		if (size > prefix_size && size <= USERS_SECRET_MAX &&
		    memcmp(text, forms[i].prefix, prefix_size) == 0)
			return is_of_form(&forms[i], text + prefix_size, size - prefix_size)
				       ? STORE_OK
				       : USERS_EPASSWORD;
	}
	return is_weak(text, size) ? USERS_EWEAK : USERS_EPASSWORD;
}

static int check_scram(const char *text, size_t size)
{
	struct scram_keys keys;
	return scram_text_parse(text, size, &keys) == NULL ? STORE_OK : USERS_ESCRAM;
}

/* ---- words ---- */

/* In ascending order of their tags. */
static const struct row {
	enum users_tag tag;
	const char *name; /* with what follows it */
	int (*check)(const char *text, size_t size);
	size_t member;
} rows[] = {
	{ USERS_TAG_PASSWORD, "password=", check_password,
	  offsetof(struct users_secret, password) },
	{ USERS_TAG_SCRAM, "scram=", check_scram, offsetof(struct users_secret, scram) },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const struct row *find_word(const char *word, size_t size)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const size_t name_size = strlen(rows[i].name);
		if (size >= name_size && memcmp(word, rows[i].name, name_size) == 0)
			return &rows[i];
	}
	return NULL;
}

/* STORE_OK, or why it is not what the row has. */
static int set(struct users_secret *secret, const struct row *row, const char *text, size_t size)
{
	char *member = (char *)secret + row->member;
	const int ret = row->check(text, size);
	if (ret != STORE_OK)
		return ret;
	memcpy(member, text, size);
	member[size] = '\0';
	return STORE_OK;
}

static const char *get(const struct users_secret *secret, const struct row *row)
{
	return (const char *)secret + row->member;
}

unsigned users_secret_bit(const char *word, size_t size)
{
	const struct row *row = find_word(word, size);
	return row != NULL ? 1u << row->tag : 0;
}

int users_secret_parse(const char *word, size_t size, struct users_secret *secret)
{
	const struct row *row = find_word(word, size);
	if (row == NULL)
		return USERS_ESETTING;
	const size_t name_size = strlen(row->name);
	return set(secret, row, word + name_size, size - name_size);
}

size_t users_secret_print(const struct users_secret *secret, char *ret_text)
{
	size_t used = 0;
	ret_text[0] = '\0';
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (get(secret, &rows[i])[0] == '\0')
			continue;
		used += (size_t)snprintf(ret_text + used, USERS_SECRET_PRINT_MAX - used, "%s%s%s",
					 used > 0 ? " " : "", rows[i].name, get(secret, &rows[i]));
	}
	return used;
}

bool users_secret_is_any(const struct users_secret *secret)
{
	return secret->password[0] != '\0' || secret->scram[0] != '\0';
}

/* ---- items ---- */

size_t users_secret_encode(const struct users_secret *secret, uint8_t *ret_bytes)
{
	uint8_t *out = ret_bytes;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const char *text = get(secret, &rows[i]);
		if (text[0] != '\0')
			users_item_put(&out, rows[i].tag, text, strlen(text));
	}
	return (size_t)(out - ret_bytes);
}

int users_secret_decode(struct store_bytes value, struct users_secret *ret_secret)
{
	struct bytes_input input = { value.data, value.size, false };
	struct users_item item = { 0 };
	struct users_secret secret = { "", "" };
	int ret;
	while ((ret = users_item_next(&input, &item)) == STORE_OK) {
		for (size_t i = 0; i < ROW_COUNT; i++) {
			if (rows[i].tag == item.tag &&
			    set(&secret, &rows[i], (const char *)item.bytes, item.size) != STORE_OK)
				return STORE_ECORRUPT;
		}
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_secret = secret;
	return STORE_OK;
}
