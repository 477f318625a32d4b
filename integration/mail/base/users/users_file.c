/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- statuses ---- */

const char *users_strerror(int status)
{
	switch (status) {
	case USERS_OK:
		return "success";
#define X(name, code, text)                                                                        \
	case name:                                                                                 \
		return text;
		USERS_STATUS_MAP(X)
#undef X
	default:
		return strerror(-status);
	}
}

int users_file_status(int code)
{
	switch (code) {
	case MDB_SUCCESS:
		return USERS_OK;
	case MDB_INVALID:
		return USERS_ENOTUSERS;
	case MDB_VERSION_MISMATCH:
		return USERS_ELMDB;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
	case MDB_MAP_RESIZED: /* by a version that has a larger limit */
		return USERS_EFULL;
	case MDB_READERS_FULL:
		return USERS_EREADERS;
	default:
		return code > 0 ? -code : USERS_ECORRUPT;
	}
}

/* ---- the file ---- */

char *users_file_resolve(const char *path)
{
	char *resolved = realpath(path, NULL);
	return resolved != NULL || errno == ENOMEM ? resolved : strdup(path);
}

int users_file_check(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return USERS_ENOTUSERS;
	/* LMDB takes an empty file for a new environment and would write to it. */
	return st.st_size == 0 ? USERS_EUNFINISHED : USERS_OK;
}

int users_file_check_length(MDB_env *env)
{
	MDB_envinfo info;
	MDB_stat stat_;
	struct stat st;
	int fd;
	int code = mdb_env_info(env, &info);
	if (code == MDB_SUCCESS)
		code = mdb_env_stat(env, &stat_);
	if (code == MDB_SUCCESS)
		code = mdb_env_get_fd(env, &fd);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	if (fstat(fd, &st) != 0)
		return -errno;
	uint64_t page_count = (uint64_t)info.me_last_pgno + 1;
	return (uint64_t)st.st_size / stat_.ms_psize < page_count ? USERS_ECUT : USERS_OK;
}

/* Tried, because access() looks at permissions and not at what confines a process. */
static bool can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int users_file_open(const char *path, unsigned flags, MDB_env **ret_env)
{
	MDB_env *env = NULL;
	int code = mdb_env_create(&env);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	code = mdb_env_set_maxreaders(env, USERS_FILE_READERS);
	if (code == MDB_SUCCESS)
		code = mdb_env_set_mapsize(env, USERS_FILE_MAP_SIZE);
	/* MDB_NOTLS: the place of a reader belongs to its transaction, not to the thread. */
	if (code == MDB_SUCCESS)
		code = mdb_env_open(env, path, flags | MDB_NOSUBDIR | MDB_NOTLS, USERS_FILE_MODE);
	/* Readers that were killed would fill up the places, and keep their pages for ever. */
	int dead_readers;
	if (code == MDB_SUCCESS)
		code = mdb_reader_check(env, &dead_readers);
	if (code == MDB_SUCCESS) {
		*ret_env = env;
		return USERS_OK;
	}
	mdb_env_close(env);
	if (code == EACCES && can_open(path, (flags & MDB_RDONLY) != 0 ? O_RDONLY : O_RDWR))
		return USERS_ELOCK;
	return users_file_status(code);
}

/* ---- entries ---- */

static void put_be(uint64_t value, unsigned size, uint8_t *ret_bytes)
{
	for (unsigned i = 0; i < size; i++)
		ret_bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

static uint64_t take_be(const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++)
		value = value << 8 | bytes[i];
	return value;
}

void users_file_encode(const struct users_facts *facts, uint8_t *ret_bytes)
{
	memset(ret_bytes, 0, USERS_FILE_META_SIZE);
	put_be(USERS_FILE_VERSION, 4, ret_bytes);
	ret_bytes[4] = facts->folds_case;
	ret_bytes[5] = (uint8_t)facts->extension;
	put_be(facts->address_count, 8, ret_bytes + 8);
	put_be(facts->catchall_count, 8, ret_bytes + 16);
	put_be(facts->domain_count, 8, ret_bytes + 24);
	put_be((uint64_t)facts->built_at_s, 8, ret_bytes + 32);
	put_be(facts->sum, 8, ret_bytes + 40);
}

int users_file_decode(const void *bytes, size_t size, struct users_facts *ret_facts)
{
	const uint8_t *meta = bytes;
	if (size < 4)
		return USERS_ECORRUPT;
	if (take_be(meta, 4) != USERS_FILE_VERSION)
		return USERS_EVERSION;
	if (size != USERS_FILE_META_SIZE || meta[4] > 1 || meta[5] > 126)
		return USERS_ECORRUPT;
	*ret_facts = (struct users_facts){
		.folds_case = meta[4] == 1,
		.extension = (char)meta[5],
		.address_count = take_be(meta + 8, 8),
		.catchall_count = take_be(meta + 16, 8),
		.domain_count = take_be(meta + 24, 8),
		.built_at_s = (int64_t)take_be(meta + 32, 8),
		.sum = take_be(meta + 40, 8),
	};
	return USERS_OK;
}

/* FNV-1a; its weak last step is mended, so that sums of similar entries do not cancel out. */
uint64_t users_file_share(const void *key, size_t key_size)
{
	const uint8_t *bytes = key;
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < key_size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* "john \" doe" to what it means; anything else is copied. Returns the size; 0 when it is no such.
 */
static size_t unquote(const char *local, size_t size, char *ret_text)
{
	size_t used = 0;
	if (size < 2 || local[0] != '"') {
		memcpy(ret_text, local, size);
		return size;
	}
	if (local[size - 1] != '"')
		return 0;
	for (size_t i = 1; i < size - 1; i++) {
		if (local[i] == '\\' && ++i == size - 1)
			return 0;
		ret_text[used++] = local[i];
	}
	return used;
}

size_t users_file_key(char kind, const struct users_facts *facts, const char *text, size_t size,
		      char *ret_key)
{
	const char *at = kind == USERS_FILE_ADDRESS ? memrchr(text, '@', size) : NULL;
	if (size == 0 || size > USERS_FILE_KEY_MAX - 1)
		return 0;
	if (kind == USERS_FILE_ADDRESS && (at == NULL || at == text || at == text + size - 1))
		return 0;
	size_t used = 1;
	ret_key[0] = kind;
	if (at != NULL) {
		size_t local_size = unquote(text, (size_t)(at - text), ret_key + 1);
		if (local_size == 0)
			return 0;
		for (size_t i = 1; facts->folds_case && i <= local_size; i++)
			ret_key[i] = lower(ret_key[i]);
		used += local_size;
		size -= (size_t)(at - text);
		text = at;
	}
	for (size_t i = 0; i < size; i++)
		ret_key[used++] = lower(text[i]);
	return used;
}

/* ---- back to text ---- */

/* RFC 5322 atext and the dot, and UTF-8: what needs no quotes. */
static bool is_plain(char c)
{
	unsigned char byte = (unsigned char)c;
	return byte >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != '\0' && strchr(".!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

static bool needs_quotes(const char *local, size_t size)
{
	if (local[0] == '.' || local[0] == '#' || local[size - 1] == '.')
		return true;
	for (size_t i = 0; i < size; i++) {
		if (!is_plain(local[i]) || (i > 0 && local[i] == '.' && local[i - 1] == '.'))
			return true;
	}
	return false;
}

static size_t put_local(const char *local, size_t size, char *ret_text)
{
	size_t used = 0;
	if (!needs_quotes(local, size)) {
		memcpy(ret_text, local, size);
		return size;
	}
	ret_text[used++] = '"';
	for (size_t i = 0; i < size; i++) {
		if (local[i] == '"' || local[i] == '\\')
			ret_text[used++] = '\\';
		ret_text[used++] = local[i];
	}
	ret_text[used++] = '"';
	return used;
}

size_t users_file_line(const char *key, size_t key_size, char *ret_line)
{
	static const char word[] = "domain ";
	const char *at = key_size > 1 ? memrchr(key + 1, '@', key_size - 1) : NULL;
	size_t used = 0;
	if (key_size < 2 || key_size > USERS_FILE_KEY_MAX)
		return 0;
	if (key[0] == USERS_FILE_ADDRESS && at != NULL && at > key + 1) {
		used = put_local(key + 1, (size_t)(at - key - 1), ret_line);
		memcpy(ret_line + used, at, key_size - (size_t)(at - key));
		return used + key_size - (size_t)(at - key);
	}
	if (key[0] == USERS_FILE_CATCHALL) {
		ret_line[used++] = '@';
	} else if (key[0] == USERS_FILE_DOMAIN) {
		memcpy(ret_line, word, sizeof(word) - 1);
		used = sizeof(word) - 1;
	} else {
		return 0;
	}
	memcpy(ret_line + used, key + 1, key_size - 1);
	return used + key_size - 1;
}
