/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_list.h"

#include "integration/mail/base/users/users_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_MAX  64  /* RFC 5321, 4.5.3.1.1 */
#define DOMAIN_MAX 255 /* and 4.5.3.1.2 */
#define LABEL_MAX  63  /* RFC 1035 */
#define UID_NOBODY 65534

struct users_list {
	struct users_facts facts;
	char *bytes; /* keys, each behind two bytes that say its size */
	size_t used;
	size_t room;
	size_t *offsets;
	size_t count;
	size_t count_room;
	char last_domain[USERS_FILE_KEY_MAX]; /* added last; most lists have runs of one domain */
	size_t last_domain_size;
	uint64_t left_out_count;
};

const char *users_list_strerror(int status)
{
	switch (status) {
#define X(name, code, text)                                                                        \
	case name:                                                                                 \
		return text;
		USERS_LIST_STATUS_MAP(X)
#undef X
	default:
		return users_strerror(status);
	}
}

int users_list_new(const struct users_facts *facts, struct users_list **ret_list)
{
	struct users_list *list = calloc(1, sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	list->facts.folds_case = facts->folds_case;
	list->facts.extension = facts->extension;
	*ret_list = list;
	return USERS_OK;
}

void users_list_free(struct users_list *list)
{
	if (list == NULL)
		return;
	free(list->bytes);
	free(list->offsets);
	free(list);
}

/* ---- what is an address ---- */

/* RFC 3629: the shortest form, no surrogates, up to U+10FFFF. Size of the character, or 0. */
static size_t utf8_size(const unsigned char *at, size_t left)
{
	size_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (at[0] >= 0xf5 || (at[0] >= 0x80 && at[0] < 0xc2) || size > left)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

static bool is_utf8(const char *text, size_t size)
{
	size_t step;
	for (size_t i = 0; i < size; i += step) {
		step = utf8_size((const unsigned char *)text + i, size - i);
		if (step == 0)
			return false;
	}
	return true;
}

static bool is_domain_byte(char c)
{
	return (unsigned char)c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* [192.0.2.1], [IPv6:2001:db8::1]: kept as it is written. */
static int check_literal(const char *text, size_t size)
{
	if (size < 3 || text[size - 1] != ']')
		return USERS_LIST_EDOMAIN;
	for (size_t i = 1; i < size - 1; i++) {
		if (!is_domain_byte(text[i]) && text[i] != ':' && text[i] != '.')
			return USERS_LIST_EDOMAIN;
	}
	return USERS_OK;
}

static int check_domain(const char *text, size_t size)
{
	size_t label = 0;
	if (size > DOMAIN_MAX)
		return USERS_LIST_EDOMAINSIZE;
	if (size > 0 && text[0] == '[')
		return check_literal(text, size);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '.' && label > 0) {
			label = 0;
			continue;
		}
		if (!is_domain_byte(text[i]))
			return USERS_LIST_EDOMAIN;
		if (++label > LABEL_MAX)
			return USERS_LIST_EDOMAINSIZE;
	}
	/* Nor a dot at the end: RCPT never has one. */
	return label > 0 ? USERS_OK : USERS_LIST_EDOMAIN;
}

int users_list_check_domain(const char *domain)
{
	size_t size = strlen(domain);
	int ret = check_domain(domain, size);
	return ret == USERS_OK && !is_utf8(domain, size) ? USERS_LIST_EUTF8 : ret;
}

static bool is_atom_byte(char c)
{
	return (unsigned char)c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

static int check_quoted(const char *text, size_t size)
{
	size_t count = 0; /* without quotes and backslashes */
	if (size < 3 || text[size - 1] != '"')
		return USERS_LIST_ELOCAL;
	for (size_t i = 1; i < size - 1; i++, count++) {
		bool is_escape = text[i] == '\\';
		if (is_escape && ++i == size - 1)
			return USERS_LIST_ELOCAL;
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f ||
		    (!is_escape && text[i] == '"'))
			return USERS_LIST_ELOCAL;
	}
	return count <= LOCAL_MAX ? USERS_OK : USERS_LIST_ELOCALSIZE;
}

static int check_local(const char *text, size_t size)
{
	if (size > 0 && text[0] == '"')
		return check_quoted(text, size);
	if (size > LOCAL_MAX)
		return USERS_LIST_ELOCALSIZE;
	for (size_t i = 0; i < size; i++) {
		bool is_dot = text[i] == '.' && i > 0 && text[i - 1] != '.';
		if (!is_dot && !is_atom_byte(text[i]))
			return USERS_LIST_ELOCAL;
	}
	return size > 0 && text[size - 1] != '.' ? USERS_OK : USERS_LIST_ELOCAL;
}

/* ---- entries ---- */

/* old with at least as much room as is wanted, doubled; NULL when memory ran out. */
static void *grow(void *old, size_t unit, size_t wanted, size_t *room)
{
	size_t more = *room < 4096 ? 4096 : *room;
	if (wanted <= *room)
		return old;
	while (more < wanted)
		more *= 2;
	void *bigger = reallocarray(old, more, unit);
	if (bigger != NULL)
		*room = more;
	return bigger;
}

static int add_key(struct users_list *list, const char *key, size_t size)
{
	char *bytes = grow(list->bytes, 1, list->used + 2 + size, &list->room);
	if (bytes == NULL)
		return -ENOMEM;
	list->bytes = bytes;
	size_t *offsets = grow(list->offsets, sizeof(*offsets), list->count + 1, &list->count_room);
	if (offsets == NULL)
		return -ENOMEM;
	list->offsets = offsets;
	bytes += list->used;
	bytes[0] = (char)(size >> 8);
	bytes[1] = (char)size;
	memcpy(bytes + 2, key, size);
	offsets[list->count++] = list->used;
	list->used += 2 + size;
	return USERS_OK;
}

static int add_domain(struct users_list *list, const char *domain, size_t size)
{
	char key[USERS_FILE_KEY_MAX];
	size_t key_size = users_file_key(USERS_FILE_DOMAIN, &list->facts, domain, size, key);
	if (key_size == list->last_domain_size && memcmp(key, list->last_domain, key_size) == 0)
		return USERS_OK;
	int ret = add_key(list, key, key_size);
	if (ret == USERS_OK) {
		memcpy(list->last_domain, key, key_size);
		list->last_domain_size = key_size;
	}
	return ret;
}

/* An entry and its domain, which comes last: alone it would change what is refused. */
static int add_entry(struct users_list *list, char kind, const char *text, size_t size,
		     const char *domain)
{
	char key[USERS_FILE_KEY_MAX];
	size_t key_size = users_file_key(kind, &list->facts, text, size, key);
	if (key_size == 0)
		return USERS_LIST_ELOCALSIZE; /* so many backslashes in its quotes */
	int ret = add_key(list, key, key_size);
	return ret == USERS_OK ? add_domain(list, domain, (size_t)(text + size - domain)) : ret;
}

static int add_address(struct users_list *list, const char *text, size_t size)
{
	const char *at = memrchr(text, '@', size);
	if (at == NULL)
		return USERS_LIST_EADDRESS;
	size_t local_size = (size_t)(at - text);
	int ret = check_domain(at + 1, size - local_size - 1);
	if (ret == USERS_OK && local_size > 0)
		ret = check_local(text, local_size);
	if (ret != USERS_OK)
		return ret;
	if (local_size == 0)
		return add_entry(list, USERS_FILE_CATCHALL, at + 1, size - 1, at + 1);
	return add_entry(list, USERS_FILE_ADDRESS, text, size, at + 1);
}

/* ---- lines ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A word ends at a blank outside quotes. Advances *text; the size of the word, which may be 0. */
static size_t next_word(const char **text, size_t *size)
{
	size_t used = 0;
	bool is_quoted = false;
	while (*size > 0 && is_blank(**text)) {
		(*text)++;
		(*size)--;
	}
	if (*size > 0 && **text == '#')
		return 0;
	for (; used < *size && (is_quoted || !is_blank((*text)[used])); used++) {
		if ((*text)[used] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && (*text)[used] == '\\' && used + 1 < *size)
			used++;
	}
	return used;
}

int users_list_add(struct users_list *list, const char *line, size_t size)
{
	static const char keyword[] = "domain";
	size_t word_size = next_word(&line, &size);
	bool is_domain = word_size == sizeof(keyword) - 1 && memcmp(line, keyword, word_size) == 0;
	const char *rest = line + word_size;
	size_t rest_size = size - word_size;
	if (word_size == 0)
		return USERS_OK;
	if (is_domain) {
		line = rest;
		size = rest_size;
		word_size = next_word(&line, &size);
		rest = line + word_size;
		rest_size = size - word_size;
	}
	if (next_word(&rest, &rest_size) > 0)
		return USERS_LIST_EWORDS;
	if (!is_utf8(line, word_size))
		return USERS_LIST_EUTF8;
	if (!is_domain)
		return add_address(list, line, word_size);
	int ret = check_domain(line, word_size);
	return ret == USERS_OK ? add_domain(list, line, word_size) : ret;
}

/* The third field, of decimal digits. False when there is none, or it is empty. */
static bool find_uid(const char *line, size_t size, const char **ret_text, size_t *ret_size)
{
	for (unsigned i = 0; i < 2; i++) {
		const char *colon = memchr(line, ':', size);
		if (colon == NULL)
			return false;
		size -= (size_t)(colon + 1 - line);
		line = colon + 1;
	}
	const char *end = memchr(line, ':', size);
	*ret_text = line;
	*ret_size = end != NULL ? (size_t)(end - line) : size;
	return *ret_size > 0;
}

/* USERS_OK: *ret_is_user says whether the account is one that gets mail. */
static int check_uid(const char *line, size_t size, uint32_t uid_min, bool *ret_is_user)
{
	const char *text = NULL;
	size_t text_size = 0;
	uint64_t uid = 0;
	*ret_is_user = true;
	if (uid_min == 0 || !find_uid(line, size, &text, &text_size))
		return USERS_OK;
	for (size_t i = 0; i < text_size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return USERS_LIST_EUID;
		uid = uid * 10 + (uint64_t)(text[i] - '0');
		if (uid > UINT32_MAX)
			return USERS_LIST_EUID;
	}
	*ret_is_user = uid >= uid_min && uid != UID_NOBODY;
	return USERS_OK;
}

int users_list_add_passwd(struct users_list *list, const char *line, size_t size,
			  const struct users_passwd *passwd)
{
	char address[LOCAL_MAX + 1 + DOMAIN_MAX];
	const char *domain = passwd->domain;
	size_t domain_size = strnlen(domain, DOMAIN_MAX + 1);
	bool is_user = false;
	const char *colon = memchr(line, ':', size);
	size_t name_size = colon != NULL ? (size_t)(colon - line) : size;
	if (size == 0 || line[0] == '#')
		return USERS_OK;
	/* "+" and "-" stand for the users of another source (NIS), not for names. */
	if (colon == NULL || name_size == 0 || line[0] == '+' || line[0] == '-' ||
	    check_local(line, name_size) != USERS_OK || line[0] == '"')
		return USERS_LIST_ENAME;
	if (!is_utf8(line, name_size))
		return USERS_LIST_EUTF8;
	if (domain_size > DOMAIN_MAX)
		return USERS_LIST_EDOMAINSIZE;
	int ret = check_uid(line, size, passwd->uid_min, &is_user);
	if (ret != USERS_OK)
		return ret;
	if (!is_user) {
		list->left_out_count++;
		return USERS_OK;
	}
	memcpy(address, line, name_size);
	address[name_size] = '@';
	memcpy(address + name_size + 1, domain, domain_size);
	return add_address(list, address, name_size + 1 + domain_size);
}

uint64_t users_list_left_out(const struct users_list *list)
{
	return list->left_out_count;
}

/* ---- in order ---- */

static const char *key_at(const struct users_list *list, size_t offset, size_t *ret_size)
{
	const unsigned char *at = (const unsigned char *)list->bytes + offset;
	*ret_size = (size_t)at[0] << 8 | at[1];
	return list->bytes + offset + 2;
}

const char *users_list_key(const struct users_list *list, size_t index, size_t *ret_size)
{
	return key_at(list, list->offsets[index], ret_size);
}

size_t users_list_count(const struct users_list *list)
{
	return list->count;
}

/* As LMDB orders them: as bytes, the shorter first. */
static int compare(const void *left, const void *right, void *context)
{
	const struct users_list *list = context;
	size_t left_size;
	size_t right_size;
	const char *a = key_at(list, *(const size_t *)left, &left_size);
	const char *b = key_at(list, *(const size_t *)right, &right_size);
	int order = memcmp(a, b, left_size < right_size ? left_size : right_size);
	return order != 0 ? order : (left_size > right_size) - (left_size < right_size);
}

void users_list_sort(struct users_list *list)
{
	size_t kept = 0;
	if (list->count == 0)
		return;
	qsort_r(list->offsets, list->count, sizeof(*list->offsets), compare, list);
	for (size_t i = 1; i < list->count; i++) {
		if (compare(&list->offsets[kept], &list->offsets[i], list) != 0)
			list->offsets[++kept] = list->offsets[i];
	}
	list->count = kept + 1;
}

void users_list_facts(const struct users_list *list, struct users_facts *ret_facts)
{
	struct users_facts facts = list->facts;
	for (size_t i = 0; i < list->count; i++) {
		size_t size;
		const char *key = users_list_key(list, i, &size);
		facts.address_count += key[0] == USERS_FILE_ADDRESS;
		facts.catchall_count += key[0] == USERS_FILE_CATCHALL;
		facts.domain_count += key[0] == USERS_FILE_DOMAIN;
		facts.sum += users_file_share(key, size);
	}
	*ret_facts = facts;
}
