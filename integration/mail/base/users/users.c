/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users.h"

#include "lib/lmdb/reader.h"
#include "lib/lmdb/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct users {
	struct reader *reader;
};

/* ---- open and close ---- */

static int begin(struct users *users, struct users_facts *ret_facts)
{
	int ret = reader_begin(users->reader);
	if (ret != STORE_OK)
		return ret;
	ret = users_file_facts(users->reader, ret_facts);
	if (ret != STORE_OK)
		reader_end(users->reader);
	return ret;
}

int users_open(const char *path, struct users **ret_users)
{
	struct users_facts facts;
	struct users *users = calloc(1, sizeof(*users));
	if (users == NULL)
		return -ENOMEM;
	int ret = reader_open(path, &users_store, &users->reader);
	if (ret == STORE_OK)
		ret = begin(users, &facts);
	if (ret != STORE_OK) {
		users_close(users);
		return ret;
	}
	reader_end(users->reader);
	*ret_users = users;
	return STORE_OK;
}

void users_close(struct users *users)
{
	if (users != NULL)
		reader_close(users->reader);
	free(users);
}

int users_verify(const char *path, struct users_facts *ret_facts)
{
	return verify_store(path, &users_store, ret_facts);
}

/* ---- a question ---- */

/* user+extension@domain as user@domain. false when there is no extension. */
static bool cut_extension(const struct users_facts *facts, struct users_key *key)
{
	const char *at = memrchr(key->bytes, '@', key->size);
	if (facts->extension == '\0')
		return false;
	char *mark = memchr(key->bytes + 1, facts->extension, (size_t)(at - key->bytes) - 1);
	if (mark == NULL || mark == key->bytes + 1)
		return false;
	size_t domain_size = key->size - (size_t)(at - key->bytes);
	memmove(mark, at, domain_size);
	key->size = (size_t)(mark - key->bytes) + domain_size;
	return true;
}

static int find(struct users *users, const struct users_key *key)
{
	struct store_bytes value;
	return reader_get(users->reader, 0, key->bytes, key->size, &value);
}

/* The key of an address; it becomes that of what makes the address valid. */
static int find_key(struct users *users, const struct users_facts *facts, struct users_key *key)
{
	struct users_key domain;
	int ret = find(users, key);
	if (ret == DNSBLV6_ENOTFOUND && cut_extension(facts, key))
		ret = find(users, key);
	if (ret == DNSBLV6_ENOTFOUND) {
		users_file_domain_key(key, USERS_DOMAIN, &domain);
		users_file_domain_key(key, USERS_CATCHALL, key);
		ret = find(users, key);
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret == STORE_OK ? USERS_VALID : ret;
	ret = find(users, &domain);
	if (ret == DNSBLV6_ENOTFOUND)
		return USERS_NOT_OURS;
	return ret == STORE_OK ? USERS_UNKNOWN : ret;
}

/* As an entry: a catch-all's letter stands where its "@" was. */
static void put_entry(const struct users_key *key, char *ret_entry)
{
	size_t skipped = key->bytes[0] == USERS_CATCHALL ? 0 : 1;
	memcpy(ret_entry, key->bytes + skipped, key->size - skipped);
	ret_entry[key->size - skipped] = '\0';
	if (skipped == 0)
		ret_entry[0] = '@';
}

static bool take_postmaster(const char *address, size_t size, char *ret_entry)
{
	static const char postmaster[] = "postmaster";
	bool is_so = size == sizeof(postmaster) - 1 && strncasecmp(address, postmaster, size) == 0;
	if (is_so)
		memcpy(ret_entry, postmaster, sizeof(postmaster));
	return is_so;
}

int users_find_entry(struct users *users, const char *address, size_t size, char *ret_entry)
{
	struct users_facts facts;
	struct users_key key;
	if (take_postmaster(address, size, ret_entry))
		return USERS_VALID;
	int ret = begin(users, &facts);
	if (ret != STORE_OK)
		return ret;
	/* What is no address, or longer than any that was kept, has no domain of ours. */
	ret = USERS_NOT_OURS;
	if (users_file_key(USERS_ADDRESS, &facts, address, size, &key))
		ret = find_key(users, &facts, &key);
	if (ret == USERS_VALID)
		put_entry(&key, ret_entry);
	reader_end(users->reader);
	return ret;
}

int users_find(struct users *users, const char *address, size_t size)
{
	char entry[USERS_ENTRY_SIZE];
	return users_find_entry(users, address, size, entry);
}

bool users_make_entry(const char *address, size_t size, char *ret_entry)
{
	const struct users_facts facts = { .folds_case = true };
	struct users_key key;
	if (take_postmaster(address, size, ret_entry))
		return true;
	if (!users_file_key(USERS_ADDRESS, &facts, address, size, &key))
		return false;
	put_entry(&key, ret_entry);
	return true;
}

/* ---- all entries ---- */

static int walk(struct users *users, users_walk_fn fn, void *context)
{
	char line[USERS_LIST_PRINT_MAX];
	struct store_bytes key;
	struct store_bytes value;
	int ret = STORE_OK;
	int found = reader_seek(users->reader, 0, NULL, 0, &key, &value);
	for (; found == STORE_OK && ret == STORE_OK;
	     found = reader_next(users->reader, 0, &key, &value)) {
		if (key.data[0] == USERS_FILE_FACTS_KEY[0])
			continue;
		size_t size = users_list_print(key, line);
		ret = size > 0 ? fn(context, line, size) : STORE_ECORRUPT;
	}
	return ret != STORE_OK || found == DNSBLV6_ENOTFOUND ? ret : found;
}

int users_walk(struct users *users, users_walk_fn fn, void *context)
{
	struct users_facts facts;
	int ret = begin(users, &facts);
	if (ret != STORE_OK)
		return ret;
	ret = walk(users, fn, context);
	reader_end(users->reader);
	return ret;
}
