/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_file.h"

#include "lib/format/ascii.h"
#include "lib/format/bytes.h"
#include "lib/lmdb/reader.h"

#include <string.h>
#include <strings.h>

/* ---- facts ---- */

void users_file_encode(const struct users_facts *facts, uint8_t *ret_bytes)
{
	uint8_t *out = ret_bytes;
	memset(ret_bytes, 0, USERS_FILE_FACTS_SIZE);
	bytes_put(&out, users_store.version, 4);
	bytes_put(&out, facts->folds_case, 1);
	bytes_put(&out, (uint8_t)facts->extension, 1);
	bytes_put(&out, 0, 2);
	bytes_put(&out, facts->address_count, 8);
	bytes_put(&out, facts->catchall_count, 8);
	bytes_put(&out, facts->domain_count, 8);
	bytes_put(&out, (uint64_t)facts->built_at_s, 8);
}

int users_file_decode(struct store_bytes value, struct users_facts *ret_facts)
{
	struct bytes_input input = { value.data, value.size, false };
	bytes_take(&input, 4);
	uint64_t folds_case = bytes_take(&input, 1);
	uint64_t extension = bytes_take(&input, 1);
	bytes_take(&input, 2);
	*ret_facts = (struct users_facts){
		.folds_case = folds_case == 1,
		.extension = (char)extension,
	};
	ret_facts->address_count = bytes_take(&input, 8);
	ret_facts->catchall_count = bytes_take(&input, 8);
	ret_facts->domain_count = bytes_take(&input, 8);
	ret_facts->built_at_s = (int64_t)bytes_take(&input, 8);
	bytes_take(&input, 8);
	bool is_right = bytes_finish(&input) == DNSBLV6_OK && folds_case <= 1 && extension < 0x7f;
	return is_right ? STORE_OK : STORE_ECORRUPT;
}

int users_file_facts(struct reader *reader, struct users_facts *ret_facts)
{
	struct store_bytes value;
	int ret = reader_get(reader, 0, USERS_FILE_FACTS_KEY, strlen(USERS_FILE_FACTS_KEY), &value);
	return ret == STORE_OK ? users_file_decode(value, ret_facts) : ret;
}

static int read_facts(struct reader *reader, void *ret_facts)
{
	return users_file_facts(reader, ret_facts);
}

static const char *const unnamed[] = { NULL };

const struct store_kind users_store = {
	.tables = unnamed,
	.table_count = 1,
	.version_place = { .key = USERS_FILE_FACTS_KEY, .value_size = USERS_FILE_FACTS_SIZE },
	.sum_place = { .key = USERS_FILE_FACTS_KEY,
		       .value_size = USERS_FILE_FACTS_SIZE,
		       .offset = 40 },
	.version = 2,
	/* The 64 edges and 1024 workers of setup.h, and as many that drain. */
	.reader_max = 2304,
	.mode = 0644,
	/* As large a file may become: a reader that is confined could not map it anew. */
	.limit = (size_t)1 << (sizeof(size_t) > 4 ? 34 : 29),
	.is_limit_fixed = true,
	.read_facts = read_facts,
	.facts_size = sizeof(struct users_facts),
};

/* ---- keys ---- */

/* "john \" doe" to what it means; what has no quotes is copied. The size; 0 when quotes do not match.
 */
static size_t unquote(const char *local, size_t size, char *ret_text)
{
	size_t used = 0;
	if (size > 0 && local[0] != '"') {
		memcpy(ret_text, local, size);
		return size;
	}
	if (size < 2 || local[size - 1] != '"')
		return 0;
	for (size_t i = 1; i < size - 1; i++) {
		if (local[i] == '"' || (local[i] == '\\' && ++i == size - 1))
			return 0;
		ret_text[used++] = local[i];
	}
	return used;
}

/* postmaster of a domain is one in any case (RFC 5321, 4.5.1), also with an extension. */
static bool must_fold(const struct users_facts *facts, const char *local, size_t size)
{
	const char *end = facts->extension == '\0' ? NULL : memchr(local, facts->extension, size);
	return facts->folds_case ||
	       users_file_is_postmaster(local, end == NULL ? size : (size_t)(end - local));
}

/* Behind the letter comes what is in front of the "@". */
static bool put_local(const struct users_facts *facts, const char *text, size_t size,
		      struct users_key *key)
{
	size_t used = unquote(text, size, key->bytes + 1);
	const bool folds = must_fold(facts, key->bytes + 1, used);
	for (size_t i = 1; folds && i <= used; i++)
		key->bytes[i] = (char)ascii_lower((uint8_t)key->bytes[i]);
	key->size += used;
	return used > 0;
}

bool users_file_key(enum users_kind kind, const struct users_facts *facts, const char *text,
		    size_t size, struct users_key *ret_key)
{
	const char *domain = text;
	ret_key->size = 1;
	ret_key->bytes[0] = (char)kind;
	if (size == 0 || size > USERS_KEY_MAX - 1)
		return false;
	if (kind == USERS_ADDRESS) {
		domain = memrchr(text, '@', size);
		if (domain == NULL || domain == text + size - 1 ||
		    !put_local(facts, text, (size_t)(domain - text), ret_key))
			return false;
	}
	for (; domain < text + size; domain++)
		ret_key->bytes[ret_key->size++] = (char)ascii_lower((uint8_t)*domain);
	return true;
}

void users_file_domain_key(const struct users_key *key, enum users_kind kind,
			   struct users_key *ret_key)
{
	const char *at =
		key->bytes[0] == USERS_ADDRESS ? memrchr(key->bytes, '@', key->size) : key->bytes;
	ret_key->size = key->size - (size_t)(at - key->bytes);
	memmove(ret_key->bytes, at, ret_key->size);
	ret_key->bytes[0] = (char)kind;
}

bool users_file_is_postmaster(const char *address, size_t size)
{
	return size == strlen(USERS_POSTMASTER) &&
	       strncasecmp(address, USERS_POSTMASTER, size) == 0;
}

void users_file_postmaster_key(struct users_key *ret_key)
{
	ret_key->size = 1 + strlen(USERS_POSTMASTER);
	ret_key->bytes[0] = USERS_ADDRESS;
	memcpy(ret_key->bytes + 1, USERS_POSTMASTER, ret_key->size - 1);
}

bool users_file_is_postmaster_key(const void *bytes, size_t size)
{
	struct users_key key;
	users_file_postmaster_key(&key);
	return size == key.size && memcmp(bytes, key.bytes, size) == 0;
}
