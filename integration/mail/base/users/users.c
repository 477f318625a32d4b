/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users.h"

#include "integration/mail/base/users/users_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct users {
	MDB_env *env;
	MDB_txn *txn; /* reset between two questions, renewed by each */
	MDB_dbi table;
};

/* ---- open and close ---- */

/* Of the transaction's version. */
static int read_facts(MDB_txn *txn, MDB_dbi table, struct users_facts *ret_facts)
{
	char letter = USERS_FILE_META;
	MDB_val key = { 1, &letter };
	MDB_val value;
	MDB_stat stat_;
	int code = mdb_get(txn, table, &key, &value);
	if (code == MDB_SUCCESS)
		return users_file_decode(value.mv_data, value.mv_size, ret_facts);
	if (code != MDB_NOTFOUND)
		return users_file_status(code);
	code = mdb_stat(txn, table, &stat_);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	/* Another program's LMDB file has entries. */
	return stat_.ms_entries == 0 ? USERS_EUNFINISHED : USERS_ENOTUSERS;
}

static int open_all(struct users *users, const char *path)
{
	struct users_facts facts;
	char *resolved = users_file_resolve(path);
	if (resolved == NULL)
		return -ENOMEM;
	int ret = users_file_open(resolved, MDB_RDONLY, &users->env);
	free(resolved);
	if (ret == USERS_OK)
		ret = users_file_check_length(users->env);
	if (ret != USERS_OK)
		return ret;
	/* The first transaction takes the place among the readers, which is kept. */
	int code = mdb_txn_begin(users->env, NULL, MDB_RDONLY, &users->txn);
	if (code == MDB_SUCCESS)
		code = mdb_dbi_open(users->txn, NULL, 0, &users->table);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	ret = read_facts(users->txn, users->table, &facts);
	mdb_txn_reset(users->txn);
	return ret;
}

int users_open(const char *path, struct users **ret_users)
{
	int ret = users_file_check(path);
	if (ret != USERS_OK)
		return ret;
	struct users *users = calloc(1, sizeof(*users));
	if (users == NULL)
		return -ENOMEM;
	ret = open_all(users, path);
	if (ret != USERS_OK) {
		users_close(users);
		return ret;
	}
	*ret_users = users;
	return USERS_OK;
}

void users_close(struct users *users)
{
	if (users == NULL)
		return;
	if (users->txn != NULL)
		mdb_txn_abort(users->txn);
	if (users->env != NULL)
		mdb_env_close(users->env);
	free(users);
}

static int begin(struct users *users, struct users_facts *ret_facts)
{
	int code = mdb_txn_renew(users->txn);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	int ret = read_facts(users->txn, users->table, ret_facts);
	if (ret != USERS_OK)
		mdb_txn_reset(users->txn);
	return ret;
}

static void end(struct users *users)
{
	mdb_txn_reset(users->txn);
}

/* ---- a question ---- */

/* 1 when there is such an entry, 0 when not, or a negative status. */
static int has_key(const struct users *users, char kind, char *text, size_t size)
{
	/* The letter stands where the "@" of a domain was, or before an address. */
	text[0] = kind;
	MDB_val key = { size, text };
	MDB_val value;
	int code = mdb_get(users->txn, users->table, &key, &value);
	if (code == MDB_NOTFOUND)
		return 0;
	return code == MDB_SUCCESS ? 1 : users_file_status(code);
}

/* user+extension@domain as user@domain. The size; 0 when there is no extension. */
static size_t cut_extension(const struct users_facts *facts, char *key, size_t size,
			    size_t at_offset)
{
	if (facts->extension == '\0')
		return 0;
	char *mark = memchr(key + 1, facts->extension, at_offset - 1);
	if (mark == NULL || mark == key + 1)
		return 0;
	memmove(mark, key + at_offset, size - at_offset);
	return (size_t)(mark - key) + size - at_offset;
}

static int put_entry(const char *entry, size_t size, char *ret_entry)
{
	memcpy(ret_entry, entry, size);
	ret_entry[size] = '\0';
	return USERS_VALID;
}

/* key has the letter and the whole address; it is written over. */
static int find_key(const struct users *users, const struct users_facts *facts, char *key,
		    size_t size, char *ret_entry)
{
	char domain[USERS_FILE_KEY_MAX];
	size_t at_offset = (size_t)((char *)memrchr(key, '@', size) - key);
	size_t domain_size = size - at_offset;
	memcpy(domain, key + at_offset, domain_size);

	int found = has_key(users, USERS_FILE_ADDRESS, key, size);
	if (found == 0 && (size = cut_extension(facts, key, size, at_offset)) > 0)
		found = has_key(users, USERS_FILE_ADDRESS, key, size);
	if (found > 0)
		return put_entry(key + 1, size - 1, ret_entry);
	if (found == 0)
		found = has_key(users, USERS_FILE_CATCHALL, domain, domain_size);
	if (found > 0) {
		domain[0] = '@';
		return put_entry(domain, domain_size, ret_entry);
	}
	if (found == 0)
		found = has_key(users, USERS_FILE_DOMAIN, domain, domain_size);
	if (found < 0)
		return found;
	return found > 0 ? USERS_UNKNOWN : USERS_NOT_OURS;
}

static const char postmaster[] = "postmaster";

static bool is_postmaster(const char *address, size_t size)
{
	return size == sizeof(postmaster) - 1 && strncasecmp(address, postmaster, size) == 0;
}

int users_find_entry(struct users *users, const char *address, size_t size, char *ret_entry)
{
	struct users_facts facts;
	char key[USERS_FILE_KEY_MAX];
	if (is_postmaster(address, size))
		return put_entry(postmaster, sizeof(postmaster) - 1, ret_entry);
	int ret = begin(users, &facts);
	if (ret != USERS_OK)
		return ret;
	size_t key_size = users_file_key(USERS_FILE_ADDRESS, &facts, address, size, key);
	/* What is no address, or longer than any that was kept, has no domain of ours. */
	ret = key_size > 0 ? find_key(users, &facts, key, key_size, ret_entry) : USERS_NOT_OURS;
	end(users);
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
	char key[USERS_FILE_KEY_MAX];
	if (is_postmaster(address, size))
		return put_entry(postmaster, sizeof(postmaster) - 1, ret_entry) == USERS_VALID;
	size_t key_size = users_file_key(USERS_FILE_ADDRESS, &facts, address, size, key);
	return key_size > 0 && put_entry(key + 1, key_size - 1, ret_entry) == USERS_VALID;
}

int users_get_facts(struct users *users, struct users_facts *ret_facts)
{
	int ret = begin(users, ret_facts);
	if (ret == USERS_OK)
		end(users);
	return ret;
}

/* ---- all entries ---- */

typedef int (*key_fn)(void *context, const char *key, size_t size);

/* In the transaction that has begun; the metadata's key apart. */
static int each_key(struct users *users, key_fn fn, void *context)
{
	MDB_cursor *cursor;
	MDB_val key;
	MDB_val value;
	int ret = USERS_OK;
	int code = mdb_cursor_open(users->txn, users->table, &cursor);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	while (ret == USERS_OK && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		const char *bytes = key.mv_data;
		if (bytes[0] != USERS_FILE_META)
			ret = fn(context, bytes, key.mv_size);
	}
	mdb_cursor_close(cursor);
	if (ret != USERS_OK)
		return ret;
	return code == MDB_NOTFOUND ? USERS_OK : users_file_status(code);
}

struct walk {
	users_walk_fn fn;
	void *context;
};

static int walk_key(void *context, const char *key, size_t size)
{
	const struct walk *walk = context;
	char line[USERS_FILE_LINE_MAX];
	size_t used = users_file_line(key, size, line);
	return used > 0 ? walk->fn(walk->context, line, used) : USERS_ECORRUPT;
}

int users_walk(struct users *users, users_walk_fn fn, void *context)
{
	struct users_facts facts;
	struct walk walk = { fn, context };
	int ret = begin(users, &facts);
	if (ret != USERS_OK)
		return ret;
	ret = each_key(users, walk_key, &walk);
	end(users);
	return ret;
}

static int add_key(void *context, const char *key, size_t size)
{
	struct users_facts *found = context;
	found->address_count += key[0] == USERS_FILE_ADDRESS;
	found->catchall_count += key[0] == USERS_FILE_CATCHALL;
	found->domain_count += key[0] == USERS_FILE_DOMAIN;
	found->sum += users_file_share(key, size);
	return USERS_OK;
}

int users_check(struct users *users, struct users_facts *ret_facts)
{
	struct users_facts facts;
	struct users_facts found = { 0 };
	int ret = begin(users, &facts);
	if (ret != USERS_OK)
		return ret;
	ret = each_key(users, add_key, &found);
	end(users);
	if (ret != USERS_OK)
		return ret;
	if (found.sum != facts.sum || found.address_count != facts.address_count ||
	    found.catchall_count != facts.catchall_count ||
	    found.domain_count != facts.domain_count)
		return USERS_ECORRUPT;
	*ret_facts = facts;
	return USERS_OK;
}
