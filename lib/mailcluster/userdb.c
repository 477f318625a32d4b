/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#define USERS_KEY "now"
#define USERS_MAX (256U << 20)
#define TRIES	  5

static int digest(const void *bytes, size_t size, uint8_t *ret_digest)
{
	return EVP_Digest(bytes, size, ret_digest, NULL, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
}

int userdb_current(struct mailcluster *cluster, struct usersvalue *ret_users)
{
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	int ret = cluster_row(cluster, "u", USERS_KEY, bytes, &size);
	if (ret == 0 && !usersvalue_decode(bytes, size, ret_users))
		ret = MAILSTORE_EDAMAGED;
	return ret;
}

int mailcluster_users_version(struct mailcluster *cluster, uint64_t *ret_version)
{
	struct usersvalue users = { .version = 0 };
	int ret = userdb_current(cluster, &users);
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_version = users.version;
	return 0;
}

/* ---- writing ---- */

static int write_bytes(struct mailcluster *cluster, uint64_t number, const void *bytes, size_t size)
{
	char name[NAMES_NUMBER_SIZE];
	struct patience patience = cluster_patience();
	names_number('u', number, name);
	struct objects_write write = {
		.name = name, .guard = OBJECTS_NEW, .bytes = size > 0 ? bytes : "", .size = size
	};
	int ret = cluster_write(cluster, &write, 1, &patience);
	/* The number is new: what is there is of the first attempt. */
	return ret == -EEXIST && patience.has_repeated ? 0 : ret;
}

static void remove_bytes(struct mailcluster *cluster, uint64_t number)
{
	char name[NAMES_NUMBER_SIZE];
	struct patience patience = { 0 };
	names_number('u', number, name);
	struct objects_write write = { .name = name, .is_removal = true };
	(void)cluster_write(cluster, &write, 1, &patience);
}

static int replace(struct mailcluster *cluster, const struct objects_row *same,
		   const struct usersvalue *after)
{
	struct patience patience = cluster_patience();
	uint8_t value[USERSVALUE_SIZE];
	struct objects_row set = { USERS_KEY, value, sizeof(value) };
	usersvalue_encode(after, value);
	int ret = cluster_put_row(cluster, "u", OBJECTS_ANY, same, &set, &patience);
	struct usersvalue found;
	if (ret != -ECANCELED || !patience.has_repeated)
		return ret;
	/* The first attempt may have been done. Where that cannot be read, the bytes must stay. */
	if (userdb_current(cluster, &found) != 0)
		return -ETIMEDOUT;
	return found.number == after->number ? 0 : ret;
}

/* Which version that was is not known: this one's is its number, which no other list has. */
static int replace_damaged(struct mailcluster *cluster, struct usersvalue *users)
{
	struct objects_page page;
	int ret = cluster_find_row(cluster, "u", USERS_KEY, &page);
	if (ret != 0)
		return ret == DNSBLV6_ENOTFOUND ? -ECANCELED : ret;
	const struct objects_row same = { USERS_KEY, page.rows[0].value, page.rows[0].size };
	users->version = users->number;
	ret = replace(cluster, &same, users);
	objects_page_free(&page);
	return ret;
}

static int try_replace(struct mailcluster *cluster, struct usersvalue *users)
{
	struct usersvalue before = { .number = 0 };
	uint8_t old[USERSVALUE_SIZE];
	struct objects_row same = { USERS_KEY, old, 0 };
	int ret = userdb_current(cluster, &before);
	if (ret == MAILSTORE_EDAMAGED || ret == -ERANGE)
		return replace_damaged(cluster, users);
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
		return ret;
	users->version = 1;
	if (ret == 0) {
		users->version = before.version + 1;
		usersvalue_encode(&before, old);
		same.size = sizeof(old);
	}
	ret = replace(cluster, &same, users);
	if (ret == 0 && same.size > 0)
		remove_bytes(cluster, before.number);
	return ret;
}

int mailcluster_put_users(struct mailcluster *cluster, const void *bytes, size_t size,
			  uint64_t time_us)
{
	struct usersvalue users = { .size = size, .time_us = time_us };
	if (size > USERS_MAX)
		return -EFBIG;
	int ret = digest(bytes, size, users.digest);
	if (ret == 0)
		ret = nodes_make_number(cluster, &users.number);
	if (ret == 0)
		ret = write_bytes(cluster, users.number, bytes, size);
	if (ret != 0)
		return ret;
	ret = -ECANCELED;
	for (unsigned i = 0; ret == -ECANCELED && i < TRIES; i++)
		ret = try_replace(cluster, &users);
	/* After a timeout they may be the current ones in a moment. */
	if (ret != 0 && ret != -ETIMEDOUT)
		remove_bytes(cluster, users.number);
	return ret == -ECANCELED ? -EBUSY : ret;
}

/* ---- reading ---- */

static int read_bytes(struct mailcluster *cluster, const struct usersvalue *users, uint8_t *bytes)
{
	char name[NAMES_NUMBER_SIZE];
	uint8_t found[VALUES_DIGEST_SIZE];
	names_number('u', users->number, name);
	int ret = cluster_read(cluster, name, 0, bytes, (size_t)users->size);
	if (ret == 0)
		ret = digest(bytes, (size_t)users->size, found);
	return ret == 0 && memcmp(found, users->digest, sizeof(found)) != 0 ? MAILSTORE_EDAMAGED
									    : ret;
}

static int try_get(struct mailcluster *cluster, struct usersvalue *users, uint8_t **ret_bytes)
{
	int ret = userdb_current(cluster, users);
	if (ret != 0)
		return ret;
	if (users->size > USERS_MAX)
		return MAILSTORE_EDAMAGED;
	uint8_t *bytes = malloc(users->size > 0 ? (size_t)users->size : 1);
	if (bytes == NULL)
		return -ENOMEM;
	ret = read_bytes(cluster, users, bytes);
	if (ret == 0)
		*ret_bytes = bytes;
	else
		free(bytes);
	return ret == DNSBLV6_ENOTFOUND ? -ENOENT : ret;
}

int mailcluster_get_users(struct mailcluster *cluster, uint64_t *ret_version, uint8_t **ret_bytes,
			  size_t *ret_size)
{
	struct usersvalue users;
	int ret = -ENOENT;
	/* Another one may have replaced them between the two readings. */
	for (unsigned i = 0; ret == -ENOENT && i < TRIES; i++)
		ret = try_get(cluster, &users, ret_bytes);
	if (ret != 0)
		return ret == -ENOENT ? MAILSTORE_EDAMAGED : ret;
	*ret_version = users.version;
	*ret_size = (size_t)users.size;
	return 0;
}
