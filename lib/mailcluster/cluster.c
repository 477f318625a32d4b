/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing and reading ---- */

/* Those that timed out, once more. */
static int repeat(struct mailcluster *cluster, struct objects_write *writes, size_t count)
{
	size_t again_count = 0;
	struct objects_write *again = calloc(count, sizeof(*again));
	size_t *places = calloc(count, sizeof(*places));
	for (size_t i = 0; again != NULL && places != NULL && i < count; i++) {
		if (writes[i].status != -ETIMEDOUT)
			continue;
		places[again_count] = i;
		again[again_count++] = writes[i];
	}
	if (again_count > 0)
		(void)objects_write(cluster->objects, again, again_count);
	for (size_t i = 0; i < again_count; i++)
		writes[places[i]].status = again[i].status;
	free(again);
	free(places);
	return again_count > 0 ? 0 : -ENOMEM;
}

static bool has_timed_out(const struct objects_write *writes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (writes[i].status == -ETIMEDOUT)
			return true;
	return false;
}

int cluster_write(struct mailcluster *cluster, struct objects_write *writes, size_t count,
		  struct patience *patience)
{
	if (count == 0)
		return 0;
	(void)objects_write(cluster->objects, writes, count);
	while (patience->repeats > 0 && has_timed_out(writes, count)) {
		patience->repeats--;
		patience->has_repeated = true;
		if (repeat(cluster, writes, count) != 0)
			break;
	}
	for (size_t i = 0; i < count; i++)
		if (writes[i].status != 0)
			return writes[i].status;
	return 0;
}

int cluster_put_row(struct mailcluster *cluster, const char *name, enum objects_guard guard,
		    const struct objects_row *from, const struct objects_row *to,
		    struct patience *patience)
{
	struct objects_write write = { .name = name,
				       .guard = guard,
				       .same = from,
				       .same_count = from != NULL,
				       .set = to,
				       .set_count = 1 };
	return cluster_write(cluster, &write, 1, patience);
}

int cluster_read(struct mailcluster *cluster, const char *name, uint64_t at, void *bytes,
		 size_t size)
{
	size_t got = 0;
	int ret = size > 0 ? objects_read(cluster->objects, name, at, bytes, size, &got) : 0;
	if (ret == -ENOENT)
		return DNSBLV6_ENOTFOUND;
	return ret == 0 && got < size ? MAILSTORE_EDAMAGED : ret;
}

int cluster_row(struct mailcluster *cluster, const char *name, const char *key, uint8_t *bytes,
		size_t *ret_size)
{
	int ret = objects_row(cluster->objects, name, key, bytes, VALUES_MAX, ret_size);
	return ret == -ENOENT ? DNSBLV6_ENOTFOUND : ret;
}

int cluster_rows_begin(struct mailcluster *cluster, const char *name, const char *behind,
		       const char *prefix, struct cluster_rows *ret_rows)
{
	*ret_rows = (struct cluster_rows){
		.cluster = cluster, .name = name, .prefix = prefix, .most = CLUSTER_PAGE
	};
	ret_rows->behind = malloc(OBJECTS_NAME_MAX + 1);
	if (ret_rows->behind == NULL)
		return -ENOMEM;
	memcpy(ret_rows->behind, behind, strlen(behind) + 1);
	return 0;
}

int cluster_rows_next(struct cluster_rows *rows, const struct objects_found **ret_row)
{
	while (rows->at == rows->page.count) {
		if (rows->page.is_last)
			return DNSBLV6_ENOTFOUND;
		objects_page_free(&rows->page);
		rows->at = 0;
		int ret = objects_rows(rows->cluster->objects, rows->name, rows->behind,
				       rows->prefix, rows->most, &rows->page);
		if (ret != 0)
			return ret == -ENOENT ? DNSBLV6_ENOTFOUND : ret;
		/* A page without rows that is not the last would be asked for again and again. */
		rows->page.is_last = rows->page.is_last || rows->page.count == 0;
	}
	const struct objects_found *row = &rows->page.rows[rows->at++];
	if (row->key_size > OBJECTS_NAME_MAX)
		return MAILSTORE_EDAMAGED;
	memcpy(rows->behind, row->key, row->key_size + 1);
	*ret_row = row;
	return 0;
}

void cluster_rows_end(struct cluster_rows *rows)
{
	objects_page_free(&rows->page);
	free(rows->behind);
}

/* No key that begins with another one comes before that. */
int cluster_find_row(struct mailcluster *cluster, const char *name, const char *key,
		     struct objects_page *ret_page)
{
	int ret = objects_rows(cluster->objects, name, "", key, 1, ret_page);
	if (ret == -ENOENT ||
	    (ret == 0 && (ret_page->count == 0 || strcmp(ret_page->rows[0].key, key) != 0)))
		ret = DNSBLV6_ENOTFOUND;
	if (ret != 0)
		objects_page_free(ret_page);
	return ret;
}

/* ---- the store ---- */

int cluster_state(struct mailcluster *cluster)
{
	cluster_lock(cluster);
	bool has_failed = cluster->has_failed;
	cluster_unlock(cluster);
	return has_failed ? MAILSTORE_EFAILED : 0;
}

uint64_t cluster_now(struct mailcluster *cluster)
{
	cluster_lock(cluster);
	uint64_t now_us = cluster->now_us;
	cluster_unlock(cluster);
	return now_us;
}

static int read_identity(struct mailcluster *cluster)
{
	uint8_t bytes[MAILIDENTITY_SIZE];
	size_t size = 0;
	int ret = objects_read(cluster->objects, "store", 0, bytes, sizeof(bytes), &size);
	return ret == 0 ? mailidentity_decode(bytes, size, &cluster->identity) : ret;
}

static int make_identity(struct mailcluster *cluster)
{
	struct mailidentity identity = { .segment_size = 0 };
	struct patience patience = cluster_patience();
	uint8_t random[sizeof(identity.store) + sizeof(identity.key)];
	uint8_t bytes[MAILIDENTITY_SIZE];
	if (getentropy(random, sizeof(random)) != 0)
		return -errno;
	memcpy(identity.store, random, sizeof(identity.store));
	memcpy(identity.key, random + sizeof(identity.store), sizeof(identity.key));
	mailidentity_encode(&identity, bytes);
	struct objects_write write = {
		.name = "store", .guard = OBJECTS_NEW, .bytes = bytes, .size = sizeof(bytes)
	};
	int ret = cluster_write(cluster, &write, 1, &patience);
	return ret == -EEXIST ? 0 : ret;
}

/* What is there counts, also behind a write that has succeeded. */
static int find_identity(struct mailcluster *cluster)
{
	int ret = read_identity(cluster);
	if (ret != -ENOENT)
		return ret;
	ret = make_identity(cluster);
	return ret == 0 ? read_identity(cluster) : ret;
}

static int init(struct mailcluster *cluster, const struct mailcluster_setup *setup)
{
	if (!names_is_node(setup->node))
		return -EINVAL;
	memcpy(cluster->node, setup->node, strlen(setup->node) + 1);
	memcpy(cluster->incarnation, setup->incarnation, sizeof(cluster->incarnation));
	cluster->memory_max = setup->memory_max;
	cluster->now_us = setup->time_us;
	cluster->next_lock = 1;
	cluster->beats = 1;
	/* Attempts of two incarnations have nothing in common. */
	cluster->attempt = bytes_get(setup->incarnation, 8);
	cluster->nodes = calloc(MAILCLUSTER_NODES_MAX, sizeof(*cluster->nodes));
	if (cluster->nodes == NULL)
		return -ENOMEM;
	return caches_init(&cluster->caches);
}

int mailcluster_open(const struct mailcluster_setup *setup, struct mailcluster **ret_cluster)
{
	struct mailcluster *cluster = calloc(1, sizeof(*cluster));
	if (cluster == NULL) {
		objects_close(setup->objects);
		return -ENOMEM;
	}
	cluster->objects = setup->objects;
	(void)pthread_mutex_init(&cluster->mutex, NULL);
	(void)pthread_cond_init(&cluster->room, NULL);
	int ret = init(cluster, setup);
	if (ret == 0)
		ret = find_identity(cluster);
	if (ret == 0)
		ret = nodes_join(cluster, setup->time_us);
	if (ret != 0) {
		mailcluster_close(cluster);
		return ret;
	}
	*ret_cluster = cluster;
	return 0;
}

void mailcluster_close(struct mailcluster *cluster)
{
	if (cluster == NULL)
		return;
	objects_close(cluster->objects);
	caches_deinit(&cluster->caches);
	free(cluster->nodes);
	locks_end(cluster);
	(void)pthread_cond_destroy(&cluster->room);
	(void)pthread_mutex_destroy(&cluster->mutex);
	free(cluster);
}

int mailcluster_describe(struct mailcluster *cluster, struct objects_state *ret_state)
{
	return objects_describe(cluster->objects, ret_state);
}
