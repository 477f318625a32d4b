/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_address.h"

#include <string.h>

#include "lib/format/ascii.h"
#include "lib/wire/utf8.h"

#define LOCAL_MAX  64  /* RFC 5321, 4.5.3.1.1 */
#define DOMAIN_MAX 255 /* and 4.5.3.1.2 */
#define LABEL_MAX  63  /* RFC 1035 */

/* ---- what is an address ---- */

bool users_address_is_utf8(const char *text, size_t size)
{
	size_t step;
	for (size_t i = 0; i < size; i += step) {
		step = (unsigned char)text[i] < 0x80 ? 1 : utf8_size(text + i, size - i);
		if (step == 0)
			return false;
	}
	return true;
}

/* Of the bytes beyond ASCII users_address_is_utf8() has judged. */
static bool is_word_byte(char c)
{
	return (unsigned char)c >= 0x80 || ascii_is_alnum(c);
}

static bool is_domain_byte(char c)
{
	return is_word_byte(c) || c == '-' || c == '_';
}

static bool is_literal_byte(char c)
{
	return is_domain_byte(c) || c == ':';
}

static bool is_atom_byte(char c)
{
	return is_word_byte(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* Words of such bytes with one dot between them: the size of the longest word, or 0. */
static size_t dotted_size(const char *text, size_t size, bool (*is_member)(char c))
{
	size_t word = 0;
	size_t longest = 0;
	for (size_t i = 0; i < size; i++) {
		bool is_dot = text[i] == '.' && word > 0;
		if (!is_dot && !is_member(text[i]))
			return 0;
		word = is_dot ? 0 : word + 1;
		longest = word > longest ? word : longest;
	}
	return word > 0 ? longest : 0;
}

/* [192.0.2.1] and [IPv6:2001:db8::1] are kept as they are written. RCPT has no dot at the end. */
int users_address_check_domain(const char *text, size_t size)
{
	if (size > DOMAIN_MAX)
		return USERS_EDOMAINSIZE;
	if (size > 2 && text[0] == '[' && text[size - 1] == ']')
		return dotted_size(text + 1, size - 2, is_literal_byte) > 0 ? STORE_OK
									    : USERS_EDOMAIN;
	size_t label = dotted_size(text, size, is_domain_byte);
	if (label == 0)
		return USERS_EDOMAIN;
	return label <= LABEL_MAX ? STORE_OK : USERS_EDOMAINSIZE;
}

/* As it means: in quotes all but controls may be. */
static int check_local(const char *local, size_t size, bool is_quoted)
{
	if (size > LOCAL_MAX)
		return USERS_ELOCALSIZE;
	if (!is_quoted)
		return dotted_size(local, size, is_atom_byte) > 0 ? STORE_OK : USERS_ELOCAL;
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)local[i] < ' ' || local[i] == 0x7f)
			return USERS_ELOCAL;
	}
	return STORE_OK;
}

int users_address_parse(const char *text, size_t size, const struct users_facts *facts,
			struct users_key *ret_key)
{
	const char *at = memrchr(text, '@', size);
	if (at == NULL)
		return USERS_EADDRESS;
	size_t local_size = (size_t)(at - text);
	size_t domain_size = size - local_size - 1;
	int ret = users_address_check_domain(at + 1, domain_size);
	if (ret != STORE_OK)
		return ret;
	if (local_size == 0) {
		(void)users_file_key(USERS_CATCHALL, facts, at + 1, domain_size, ret_key);
		return STORE_OK;
	}
	if (size > USERS_KEY_MAX - 1)
		return USERS_ELOCALSIZE;
	if (!users_file_key(USERS_ADDRESS, facts, text, size, ret_key))
		return USERS_ELOCAL;
	return check_local(ret_key->bytes + 1, ret_key->size - domain_size - 2, text[0] == '"');
}

/* ---- back to text ---- */

/* Bytes put one behind the other. */
struct text {
	char *bytes;
	size_t size;
};

static void put(struct text *text, const void *bytes, size_t size)
{
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static void put_local(struct text *text, const char *local, size_t size, bool begins_word)
{
	if (!(begins_word && local[0] == '#') && dotted_size(local, size, is_atom_byte) > 0) {
		put(text, local, size);
		return;
	}
	put(text, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		if (local[i] == '"' || local[i] == '\\')
			put(text, "\\", 1);
		put(text, local + i, 1);
	}
	put(text, "\"", 1);
}

size_t users_address_print(const uint8_t *address, size_t size, bool begins_word, char *ret_text)
{
	struct text text = { ret_text, 0 };
	const char *at = size > 0 ? memrchr(address, '@', size) : NULL;
	if (at == NULL || at == (const char *)address)
		return 0;
	const size_t local_size = (size_t)(at - (const char *)address);
	put_local(&text, (const char *)address, local_size, begins_word);
	put(&text, at, size - local_size);
	return text.size;
}
