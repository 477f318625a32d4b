/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/keyring.h"

#include "lib/format/name.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DNSKEY_ALGORITHM = 3,
	TRIES_MAX = 64, /* one in 32768 keys has the tag of one of two others */
};

const char *keyring_strerror(int status)
{
	switch (status) {
	case KEYRING_EOTHER:
		return "another key than that of its name is in the file";
	case KEYRING_ESEVERAL:
		return "the zone has several there, and no store that says which of them signs: "
		       "leave that one";
	default:
		return key_strerror(status);
	}
}

int keyring_path(const char *directory, const struct dnsblv6_labels *zone, uint8_t algorithm,
		 uint16_t tag, char *ret_path)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];
	char name[3 * sizeof(text)];
	char *out = name;
	dnsblv6_name_format(zone->wire, zone->size, text);
	for (const char *c = text; *c != '\0'; c++) {
		bool is_plain = isalnum((unsigned char)*c) || strchr("-._", *c) != NULL;
		out += snprintf(out, 4, is_plain ? "%c" : "%%%02x", (unsigned)(unsigned char)*c);
	}
	int size = snprintf(ret_path, KEYRING_PATH_MAX, "%s/%s.+%u+%u.pem", directory, name,
			    algorithm, tag);
	return size < KEYRING_PATH_MAX ? DNSBLV6_OK : -ENAMETOOLONG;
}

static bool is_taken(uint16_t tag, const uint16_t *taken, size_t taken_count)
{
	for (size_t i = 0; i < taken_count; i++) {
		if (taken[i] == tag)
			return true;
	}
	return false;
}

/* A key whose tag is free, and its path. */
static int generate(const char *directory, const struct dnsblv6_labels *zone, uint8_t algorithm,
		    const uint16_t *taken, size_t taken_count, struct key **ret_key, char *ret_path)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		struct key *key = NULL;
		int ret = key_generate(algorithm, &key);
		if (ret != DNSBLV6_OK)
			return ret;
		ret = keyring_path(directory, zone, algorithm, key_tag(key), ret_path);
		if (ret == DNSBLV6_OK && !is_taken(key_tag(key), taken, taken_count) &&
		    access(ret_path, F_OK) != 0) {
			*ret_key = key;
			return DNSBLV6_OK;
		}
		key_free(key);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return KEY_ECRYPTO;
}

int keyring_make(const char *directory, const struct dnsblv6_labels *zone, uint8_t algorithm,
		 const uint16_t *taken, size_t taken_count, struct key **ret_key, char *ret_path)
{
	struct key *key = NULL;
	int ret = generate(directory, zone, algorithm, taken, taken_count, &key, ret_path);
	if (ret != DNSBLV6_OK)
		return ret;
	if (mkdir(directory, S_IRWXU) != 0 && errno != EEXIST)
		ret = -errno;
	if (ret == DNSBLV6_OK)
		ret = key_write(key, ret_path);
	if (ret == DNSBLV6_OK)
		*ret_key = key;
	else
		key_free(key);
	return ret;
}

int keyring_read(const char *directory, const struct dnsblv6_labels *zone, const uint8_t *dnskey,
		 size_t dnskey_size, struct key **ret_key, char *ret_path)
{
	uint8_t found[KEY_DNSKEY_MAX];
	struct key *key = NULL;
	ret_path[0] = '\0';
	if (dnskey_size <= DNSKEY_ALGORITHM)
		return KEY_EALGORITHM;
	int ret = keyring_path(directory, zone, dnskey[DNSKEY_ALGORITHM],
			       key_dnskey_tag(dnskey, dnskey_size), ret_path);
	if (ret == DNSBLV6_OK)
		ret = key_read(ret_path, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	if (key_dnskey(key, found) != dnskey_size || memcmp(found, dnskey, dnskey_size) != 0) {
		key_free(key);
		return KEYRING_EOTHER;
	}
	*ret_key = key;
	return DNSBLV6_OK;
}

bool keyring_parse_name(const char *directory, const struct dnsblv6_labels *zone, const char *name,
			uint8_t *ret_algorithm, uint16_t *ret_tag, char *ret_path)
{
	unsigned algorithm;
	unsigned tag;
	const char *numbers = strchr(name, '+');
	if (numbers == NULL || sscanf(numbers, "+%3u+%5u", &algorithm, &tag) != 2 ||
	    algorithm > UINT8_MAX || tag > UINT16_MAX)
		return false;
	*ret_algorithm = (uint8_t)algorithm;
	*ret_tag = (uint16_t)tag;
	return keyring_path(directory, zone, *ret_algorithm, *ret_tag, ret_path) == DNSBLV6_OK &&
	       strcmp(ret_path + strlen(directory) + 1, name) == 0;
}

/* Its path is in ret_path when there is one. */
static int find_path(const char *directory, const struct dnsblv6_labels *zone,
		     uint8_t *ret_algorithm, uint16_t *ret_tag, char *ret_path)
{
	uint8_t algorithm;
	uint16_t tag;
	char path[KEYRING_PATH_MAX];
	size_t count = 0;
	const struct dirent *entry;
	DIR *open = opendir(directory);
	snprintf(ret_path, KEYRING_PATH_MAX, "%s", directory);
	if (open == NULL)
		return errno == ENOENT ? DNSBLV6_ENOTFOUND : -errno;
	/* Of a directory that cannot be read to its end the other keys are not known. */
	for (errno = 0; (entry = readdir(open)) != NULL; errno = 0) {
		if (!keyring_parse_name(directory, zone, entry->d_name, &algorithm, &tag, path))
			continue;
		count++;
		*ret_algorithm = algorithm;
		*ret_tag = tag;
		memcpy(ret_path, path, sizeof(path));
	}
	int ret = -errno;
	closedir(open);
	if (ret != 0)
		return ret;
	if (count == 0)
		return DNSBLV6_ENOTFOUND;
	return count == 1 ? DNSBLV6_OK : KEYRING_ESEVERAL;
}

int keyring_open(const char *path, uint8_t algorithm, uint16_t tag, struct key **ret_key)
{
	struct key *key = NULL;
	int ret = key_read(path, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	if (key_tag(key) != tag || key_algorithm(key) != algorithm) {
		key_free(key);
		return KEYRING_EOTHER;
	}
	*ret_key = key;
	return DNSBLV6_OK;
}

int keyring_find(const char *directory, const struct dnsblv6_labels *zone, struct key **ret_key,
		 char *ret_path)
{
	uint8_t algorithm = 0;
	uint16_t tag = 0;
	int ret = find_path(directory, zone, &algorithm, &tag, ret_path);
	return ret == DNSBLV6_OK ? keyring_open(ret_path, algorithm, tag, ret_key) : ret;
}

int keyring_remove(const char *path)
{
	return unlink(path) == 0 ? DNSBLV6_OK : -errno;
}
