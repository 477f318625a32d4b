/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

#define TRIES	 4
#define LOCK_KEY "lock"
#define LEFT_MAX 4096

/* ---- numbers of locks: one that is not in the list is void ---- */

static int register_lock(struct mailcluster *cluster, uint64_t *ret_number)
{
	cluster_lock(cluster);
	int ret = array_reserve(cluster->locks, cluster->lock_count + 1, &cluster->lock_room)
			  ? 0
			  : -ENOMEM;
	if (ret == 0) {
		*ret_number = cluster->next_lock++;
		cluster->locks[cluster->lock_count++] = *ret_number;
	}
	cluster_unlock(cluster);
	return ret;
}

static void unregister_lock(struct mailcluster *cluster, uint64_t number)
{
	cluster_lock(cluster);
	for (size_t i = 0; i < cluster->lock_count; i++) {
		if (cluster->locks[i] != number)
			continue;
		cluster->locks[i] = cluster->locks[--cluster->lock_count];
		break;
	}
	cluster_unlock(cluster);
}

/* ---- rows that may have stayed ---- */

/* One that finds no room goes with its mailbox's next lock, or with this process. */
static void put_left(struct mailcluster *cluster, struct leftlock *left)
{
	cluster_lock(cluster);
	bool has_room = cluster->left_count < LEFT_MAX;
	if (has_room) {
		left->next = cluster->left_locks;
		cluster->left_locks = left;
		cluster->left_count++;
	}
	cluster_unlock(cluster);
	if (!has_room)
		free(left);
}

static void leave(struct mailcluster *cluster, const struct clusterlock *lock)
{
	struct leftlock *left = malloc(sizeof(*left));
	if (left == NULL)
		return;
	left->lock = *lock;
	put_left(cluster, left);
}

static struct leftlock *take_left(struct mailcluster *cluster)
{
	cluster_lock(cluster);
	struct leftlock *all = cluster->left_locks;
	cluster->left_locks = NULL;
	cluster->left_count = 0;
	cluster_unlock(cluster);
	return all;
}

/* ---- the row ---- */

struct held {
	uint8_t bytes[VALUES_MAX];
	size_t size; /* 0: none; more than there is room for: too long for any lock */
};

static int read_row(struct mailcluster *cluster, const char *name, struct held *ret_held)
{
	ret_held->size = 0;
	int ret = objects_row(cluster->objects, name, LOCK_KEY, ret_held->bytes,
			      sizeof(ret_held->bytes), &ret_held->size);
	if (ret == -ERANGE)
		ret_held->size = sizeof(ret_held->bytes) + 1;
	return ret == -ENOENT || ret == -ERANGE ? 0 : ret;
}

/* From what it was before to another value, or none. */
static int change_row(struct mailcluster *cluster, const char *name, const void *before,
		      size_t before_size, const uint8_t *value, struct patience *patience)
{
	static const char *const key = LOCK_KEY;
	struct objects_row same = { key, before, before_size };
	struct objects_row set = { key, value, LOCKVALUE_SIZE };
	struct objects_write write = { .name = name, .same = &same, .same_count = 1 };
	if (value != NULL) {
		write.set = &set;
		write.set_count = 1;
	} else {
		write.unset = &key;
		write.unset_count = 1;
	}
	return cluster_write(cluster, &write, 1, patience);
}

static bool is_value(const struct held *held, const uint8_t *value)
{
	return held->size == LOCKVALUE_SIZE && memcmp(held->bytes, value, LOCKVALUE_SIZE) == 0;
}

/* What is no lock at all keeps no session out. */
static int may_replace(struct mailcluster *cluster, const struct held *held, bool *ret_may)
{
	struct lockvalue lock;
	*ret_may = true;
	if (held->size == 0 || !lockvalue_decode(held->bytes, held->size, &lock))
		return 0;
	return nodes_is_void(cluster, &lock, ret_may);
}

/* Guarded by what it is: a lock that has come in its place stays. */
static int remove_long(struct mailcluster *cluster, const char *name, struct held *held,
		       struct patience *patience)
{
	struct objects_page page;
	int ret = cluster_find_row(cluster, name, LOCK_KEY, &page);
	held->size = 0;
	if (ret == 0) {
		ret = change_row(cluster, name, page.rows[0].value, page.rows[0].size, NULL,
				 patience);
		objects_page_free(&page);
	}
	return ret == DNSBLV6_ENOTFOUND || ret == -ECANCELED ? 0 : ret;
}

static int take(struct mailcluster *cluster, const char *name, const uint8_t *value)
{
	struct patience patience = cluster_patience();
	struct held held = { .size = 0 };
	bool may = true;
	int ret = -ECANCELED;
	for (unsigned i = 0; ret == -ECANCELED && i < TRIES; i++) {
		ret = change_row(cluster, name, held.bytes, held.size, value, &patience);
		if (ret != -ECANCELED)
			return ret;
		int found = read_row(cluster, name, &held);
		if (found == 0 && is_value(&held, value))
			return 0;
		if (found == 0 && held.size > sizeof(held.bytes))
			found = remove_long(cluster, name, &held, &patience);
		if (found == 0)
			found = may_replace(cluster, &held, &may);
		if (found != 0 || !may)
			return found != 0 ? found : -EBUSY;
	}
	return ret == -ECANCELED ? -EBUSY : ret;
}

static bool is_box(const struct clusterlock *lock, struct mailname box)
{
	return lock->name_size == box.size && memcmp(lock->name, box.bytes, box.size) == 0;
}

int locks_take(struct mailcluster *cluster, struct mailname box, struct clusterlock *lock)
{
	char name[NAMES_OBJECT_SIZE];
	struct lockvalue value = { .slot = cluster->slot };
	uint8_t bytes[LOCKVALUE_SIZE];
	if (!mailname_is_valid(box))
		return MAILSTORE_EBOX;
	if (lock->is_held && !is_box(lock, box))
		return MAILSTORE_ELOCK;
	if (lock->is_held)
		return locks_look(cluster, lock);
	int ret = cluster_state(cluster);
	if (ret == 0)
		ret = register_lock(cluster, &value.number);
	if (ret != 0)
		return ret;
	memcpy(value.incarnation, cluster->incarnation, sizeof(value.incarnation));
	lockvalue_encode(&value, bytes);
	names_box(box, name);
	ret = take(cluster, name, bytes);
	struct clusterlock taken = { .is_held = true,
				     .name_size = box.size,
				     .number = value.number };
	memcpy(taken.name, box.bytes, box.size);
	memcpy(taken.value, bytes, sizeof(bytes));
	if (ret != 0) {
		unregister_lock(cluster, value.number);
		if (ret == -ETIMEDOUT)
			leave(cluster, &taken);
		return ret;
	}
	cluster_lock(cluster); /* erase_mails() of another thread looks at it */
	*lock = taken;
	cluster_unlock(cluster);
	return 0;
}

static int remove_row(struct mailcluster *cluster, const struct clusterlock *lock,
		      struct patience patience)
{
	char name[NAMES_OBJECT_SIZE];
	names_box((struct mailname){ lock->name, lock->name_size }, name);
	int ret = change_row(cluster, name, lock->value, sizeof(lock->value), NULL, &patience);
	return ret == -ECANCELED || ret == -ENOENT ? 0 : ret;
}

int locks_free(struct mailcluster *cluster, struct clusterlock *lock)
{
	if (!lock->is_held)
		return 0;
	int ret = remove_row(cluster, lock, cluster_patience());
	/*
	 * Also where the row has stayed: it is void then, for other machines when it has gone, or all
	 * that this one took before have ended, too.
	 */
	unregister_lock(cluster, lock->number);
	if (ret != 0)
		leave(cluster, lock);
	cluster_lock(cluster);
	lock->is_held = false;
	cluster_unlock(cluster);
	return ret;
}

/* One that is written later still is void, as above. */
void locks_sweep(struct mailcluster *cluster)
{
	const struct patience once = { 0 };
	int ret = 0;
	struct leftlock *all = take_left(cluster);
	while (all != NULL) {
		struct leftlock *left = all;
		all = left->next;
		/* What times out once does for each. */
		if (ret != -ETIMEDOUT)
			ret = remove_row(cluster, &left->lock, once);
		if (ret != 0)
			put_left(cluster, left);
		else
			free(left);
	}
}

void locks_end(struct mailcluster *cluster)
{
	struct leftlock *all = take_left(cluster);
	while (all != NULL) {
		struct leftlock *next = all->next;
		free(all);
		all = next;
	}
	free(cluster->locks);
}

int locks_look(struct mailcluster *cluster, const struct clusterlock *lock)
{
	char name[NAMES_OBJECT_SIZE];
	struct held held;
	names_box((struct mailname){ lock->name, lock->name_size }, name);
	int ret = read_row(cluster, name, &held);
	if (ret == 0 && !is_value(&held, lock->value))
		ret = MAILSTORE_ELOST_LOCK;
	return ret;
}
