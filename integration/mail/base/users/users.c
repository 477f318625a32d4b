/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users.h"

#include "lib/lmdb/reader.h"
#include "lib/lmdb/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Behind a lock file that was deleted or replaced a reader sees no new list, and a process that is
 * confined cannot open another: it has one that goes without.
 */
struct users {
	struct reader *locked;
	struct reader *unlocked;
	struct reader *reader; /* the one that is asked, of these */
};

/* ---- begin and end ---- */

static int begin_reading(struct users *users)
{
	users->reader = users->locked;
	const int ret = reader_begin(users->reader);
	if (ret != STORE_OK || reader_lag(users->reader) == 0)
		return ret;
	reader_end(users->reader);
	users->reader = users->unlocked;
	return reader_begin(users->reader);
}

/* What became of a question; -EAGAIN: a build may have written over what it has read. */
static int end(struct users *users, int ret)
{
	const bool is_whole = users->reader == users->locked || reader_lag(users->reader) < 2;
	reader_end(users->reader);
	return is_whole ? ret : -EAGAIN;
}

static int begin(struct users *users, struct users_facts *ret_facts)
{
	int ret = begin_reading(users);
	if (ret != STORE_OK)
		return ret;
	ret = users_file_facts(users->reader, ret_facts);
	return ret != STORE_OK ? end(users, ret) : STORE_OK;
}

/* ---- open and close ---- */

int users_open(const char *path, struct users **ret_users)
{
	struct users_facts facts;
	struct users *users = calloc(1, sizeof(*users));
	if (users == NULL)
		return -ENOMEM;
	int ret = reader_open(path, &users_store, &users->locked);
	if (ret == STORE_OK)
		ret = reader_open_unlocked(path, &users_store, &users->unlocked);
	if (ret == STORE_OK)
		ret = begin(users, &facts);
	if (ret == STORE_OK)
		ret = end(users, ret);
	if (ret != STORE_OK) {
		users_close(users);
		return ret;
	}
	*ret_users = users;
	return STORE_OK;
}

void users_close(struct users *users)
{
	if (users == NULL)
		return;
	reader_close(users->unlocked);
	reader_close(users->locked);
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

static int find(struct users *users, const struct users_key *key, struct store_bytes *ret_value)
{
	return reader_get(users->reader, 0, key->bytes, key->size, ret_value);
}

/* Whether the domain is ours of an address that is not valid. */
static int find_domain(struct users *users, const struct users_key *domain)
{
	struct store_bytes value;
	int ret = find(users, domain, &value);
	if (ret == DNSBLV6_ENOTFOUND)
		return USERS_NOT_OURS;
	return ret == STORE_OK ? USERS_UNKNOWN : ret;
}

/* The key of an address; it becomes that of what makes the address valid, which has *ret_value. */
static int find_key(struct users *users, const struct users_facts *facts, struct users_key *key,
		    struct store_bytes *ret_value)
{
	struct users_key domain;
	int ret = find(users, key, ret_value);
	if (ret == DNSBLV6_ENOTFOUND && cut_extension(facts, key))
		ret = find(users, key, ret_value);
	if (ret == DNSBLV6_ENOTFOUND) {
		users_file_domain_key(key, USERS_DOMAIN, &domain);
		users_file_domain_key(key, USERS_CATCHALL, key);
		ret = find(users, key, ret_value);
	}
	if (ret == DNSBLV6_ENOTFOUND)
		return find_domain(users, &domain);
	return ret == STORE_OK ? USERS_VALID : ret;
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

/* postmaster@ the domain of a list that has one: as find_key(), DNSBLV6_ENOTFOUND when it has more. */
static int find_postmaster_of_domain(struct users *users, const struct users_facts *facts,
				     struct users_key *key, struct store_bytes *ret_value)
{
	static const char first[] = { USERS_DOMAIN };
	struct store_bytes domain;
	if (facts->domain_count != 1)
		return DNSBLV6_ENOTFOUND;
	const int ret = reader_seek(users->reader, 0, first, 1, &domain, ret_value);
	if (ret != STORE_OK)
		return ret;
	if (domain.data[0] != USERS_DOMAIN || domain.size > USERS_KEY_MAX - key->size)
		return STORE_ECORRUPT;
	memcpy(key->bytes + key->size, domain.data, domain.size);
	key->bytes[key->size] = '@';
	key->size += domain.size;
	return find_key(users, facts, key, ret_value);
}

/*
 * <postmaster> without a domain, which is valid in any case: the alias that the list has of it, or
 * postmaster@ its only domain. Else it is a mailbox that has no settings and no login.
 */
static int find_postmaster(struct users *users, const struct users_facts *facts,
			   struct users_key *key, struct store_bytes *ret_value)
{
	users_file_postmaster_key(key);
	int ret = find(users, key, ret_value);
	if (ret == STORE_OK)
		return USERS_VALID;
	if (ret == DNSBLV6_ENOTFOUND)
		ret = find_postmaster_of_domain(users, facts, key, ret_value);
	if (ret == USERS_VALID || (ret < 0 && ret != DNSBLV6_ENOTFOUND))
		return ret;
	users_file_postmaster_key(key);
	*ret_value = (struct store_bytes){ NULL, 0 };
	return USERS_VALID;
}

static void put_mailbox(struct users_mailboxes *mailboxes, const void *entry, size_t size)
{
	char *name = mailboxes->names[mailboxes->count++];
	memcpy(name, entry, size);
	name[size] = '\0';
}

/* Those of an entry: of an alias its targets, else itself. */
static int take_mailboxes(const struct users_key *key, struct store_bytes value,
			  struct users_mailboxes *mailboxes)
{
	struct store_bytes targets;
	struct store_bytes target;
	mailboxes->count = 0;
	const int ret = users_alias_find(value, &targets);
	if (ret != STORE_OK)
		return ret;
	if (targets.size == 0)
		put_entry(key, mailboxes->names[mailboxes->count++]);
	while (targets.size > 0) {
		if (mailboxes->count == USERS_ALIAS_TARGETS_MAX ||
		    !users_alias_next(&targets, &target))
			return STORE_ECORRUPT;
		put_mailbox(mailboxes, target.data, target.size);
	}
	return USERS_VALID;
}

/* As users_find_settings() and users_find_mailboxes(); what is NULL is not asked for. */
static int ask(struct users *users, const char *address, size_t size, char *ret_entry,
	       struct users_settings *ret_settings, struct users_mailboxes *ret_mailboxes)
{
	struct users_facts facts;
	struct users_key key;
	struct store_bytes value;
	int ret = begin(users, &facts);
	if (ret != STORE_OK)
		return ret;
	/* What is no address, or longer than any that was kept, has no domain of ours. */
	ret = USERS_NOT_OURS;
	if (users_file_is_postmaster(address, size))
		ret = find_postmaster(users, &facts, &key, &value);
	else if (users_file_key(USERS_ADDRESS, &facts, address, size, &key))
		ret = find_key(users, &facts, &key, &value);
	if (ret == USERS_VALID && ret_settings != NULL)
		ret = users_settings_decode(value, ret_settings);
	if (ret == USERS_VALID && ret_entry != NULL)
		put_entry(&key, ret_entry);
	if (ret == USERS_VALID && ret_mailboxes != NULL)
		ret = take_mailboxes(&key, value, ret_mailboxes);
	return end(users, ret);
}

int users_find(struct users *users, const char *address, size_t size)
{
	return users_file_is_postmaster(address, size)
		       ? USERS_VALID
		       : ask(users, address, size, NULL, NULL, NULL);
}

int users_find_settings(struct users *users, const char *address, size_t size, char *ret_entry,
			struct users_settings *ret_settings)
{
	return ask(users, address, size, ret_entry, ret_settings, NULL);
}

bool users_make_entry(const char *address, size_t size, char *ret_entry)
{
	const struct users_facts facts = { .folds_case = true };
	struct users_key key;
	if (users_file_is_postmaster(address, size))
		users_file_postmaster_key(&key);
	else if (!users_file_key(USERS_ADDRESS, &facts, address, size, &key))
		return false;
	put_entry(&key, ret_entry);
	return true;
}

/* ---- mailboxes ---- */

int users_find_mailboxes(struct users *users, const char *address, size_t size,
			 struct users_mailboxes *ret_mailboxes)
{
	ret_mailboxes->count = 0;
	const int ret = ask(users, address, size, NULL, NULL, ret_mailboxes);
	if (ret != USERS_VALID)
		ret_mailboxes->count = 0;
	return ret;
}

/* ---- logins ---- */

/* Neither an extension nor a catch-all makes a name to log in with. */
static int find_exactly(struct users *users, const struct users_key *key,
			struct users_secret *ret_secret)
{
	struct store_bytes value;
	struct users_key domain;
	int ret = find(users, key, &value);
	if (ret == DNSBLV6_ENOTFOUND) {
		users_file_domain_key(key, USERS_DOMAIN, &domain);
		return find_domain(users, &domain);
	}
	if (ret == STORE_OK)
		ret = users_secret_decode(value, ret_secret);
	return ret == STORE_OK ? USERS_VALID : ret;
}

int users_find_secret(struct users *users, const char *address, size_t size, char *ret_entry,
		      struct users_secret *ret_secret)
{
	struct users_facts facts;
	struct users_key key;
	int ret = begin(users, &facts);
	if (ret != STORE_OK)
		return ret;
	ret = USERS_NOT_OURS;
	ret_entry[0] = '\0';
	if (users_file_key(USERS_ADDRESS, &facts, address, size, &key)) {
		ret = find_exactly(users, &key, ret_secret);
		put_entry(&key, ret_entry);
	}
	return end(users, ret);
}

/* ---- a mailbox that is known ---- */

/*
 * put_entry() undone. A catch-all has one "@", at its beginning: @x@example.org is the local part
 * "@x", which a list has in quotes.
 */
static bool take_entry(const char *entry, struct users_key *ret_key)
{
	size_t size = strnlen(entry, USERS_ENTRY_SIZE);
	bool is_catchall = size > 0 && memrchr(entry, '@', size) == entry;
	size_t skipped = is_catchall ? 1 : 0;
	if (size <= skipped || size > USERS_KEY_MAX - 1)
		return false;
	ret_key->bytes[0] = is_catchall ? USERS_CATCHALL : USERS_ADDRESS;
	memcpy(ret_key->bytes + 1, entry + skipped, size - skipped);
	ret_key->size = 1 + size - skipped;
	return true;
}

int users_settings_of(struct users *users, const char *entry, struct users_settings *ret_settings)
{
	struct users_key key;
	struct store_bytes value;
	/* Mail goes there only where the list has no entry for it. */
	if (strcmp(entry, USERS_POSTMASTER) == 0) {
		*ret_settings = (struct users_settings){ 0 };
		return STORE_OK;
	}
	if (!take_entry(entry, &key))
		return DNSBLV6_ENOTFOUND;
	int ret = begin_reading(users);
	if (ret != STORE_OK)
		return ret;
	ret = find(users, &key, &value);
	if (ret == STORE_OK)
		ret = users_settings_decode(value, ret_settings);
	return end(users, ret);
}

/* ---- all entries ---- */

/* A line without what another program has written would be an entry that it has not. */
static int print(struct store_bytes key, struct store_bytes value, char *ret_line, size_t *ret_size)
{
	struct users_value words;
	bool has_others;
	int ret = users_value_decode(value, &words, &has_others);
	if (ret != STORE_OK)
		return ret;
	if (has_others)
		return STORE_ESCHEMA;
	*ret_size = users_list_print(key, &words, ret_line);
	return *ret_size > 0 ? STORE_OK : STORE_ECORRUPT;
}

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
		size_t size;
		ret = print(key, value, line, &size);
		if (ret == STORE_OK)
			ret = fn(context, line, size);
	}
	return ret != STORE_OK || found == DNSBLV6_ENOTFOUND ? ret : found;
}

int users_walk(struct users *users, users_walk_fn fn, void *context)
{
	struct users_facts facts;
	return users_walk_facts(users, &facts, fn, context);
}

int users_walk_facts(struct users *users, struct users_facts *ret_facts, users_walk_fn fn,
		     void *context)
{
	int ret = begin(users, ret_facts);
	if (ret != STORE_OK)
		return ret;
	ret = walk(users, fn, context);
	return end(users, ret);
}
