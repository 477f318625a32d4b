/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers may run so far ahead of the clock, or of a beat that does not come. */
#define AHEAD_US  2000000ULL
#define SLOT_BITS 10
#define TRIES	  20

struct row_name {
	char key[2 + MAILCLUSTER_NODE_MAX + 1];
};

static struct row_name key_of(const char *node)
{
	struct row_name name;
	(void)snprintf(name.key, sizeof(name.key), "n.%s", node);
	return name;
}

/* ---- numbers ---- */

/*
 * The mutex is held. A clock that is behind what was promised is that of beats which failed: the time of
 * the one that was written last is used then, so that no number is much older than its mail.
 */
static uint64_t next_us(const struct mailcluster *cluster)
{
	uint64_t next = cluster->last_us + 1;
	uint64_t clock_us =
		cluster->now_us < cluster->self.limit ? cluster->now_us : cluster->self.time_us;
	return clock_us > next ? clock_us : next;
}

int nodes_make_number(struct mailcluster *cluster, uint64_t *ret_number)
{
	int ret = -EAGAIN;
	cluster_lock(cluster);
	uint64_t next = next_us(cluster);
	if (next < cluster->self.limit) {
		cluster->last_us = next;
		*ret_number = next << SLOT_BITS | cluster->slot;
		ret = 0;
	}
	if (cluster->has_failed)
		ret = MAILSTORE_EFAILED;
	cluster_unlock(cluster);
	return ret;
}

/* ---- the row of this node ---- */

static uint64_t oldest_lock(const struct mailcluster *cluster)
{
	uint64_t oldest = cluster->next_lock;
	for (size_t i = 0; i < cluster->lock_count; i++)
		if (cluster->locks[i] < oldest)
			oldest = cluster->locks[i];
	return oldest;
}

/* What the row is to be next. The mutex is held. */
static struct nodevalue next_value(const struct mailcluster *cluster,
				   const struct nodevalue *before, uint64_t time_us)
{
	struct nodevalue value = { .slot = cluster->slot,
				   .beat = before->beat + 1,
				   .limit = before->limit,
				   .time_us = time_us,
				   .oldest_lock = oldest_lock(cluster) };
	uint64_t from = cluster->last_us > time_us ? cluster->last_us : time_us;
	memcpy(value.incarnation, cluster->incarnation, sizeof(value.incarnation));
	if (from + AHEAD_US > value.limit)
		value.limit = from + AHEAD_US;
	return value;
}

/* From one value to another; before is NULL when there was no row. */
static int put_row(struct mailcluster *cluster, const struct nodevalue *before,
		   const struct nodevalue *value)
{
	struct row_name key = key_of(cluster->node);
	struct patience patience = { 0 };
	uint8_t old[NODEVALUE_SIZE];
	uint8_t bytes[NODEVALUE_SIZE];
	struct objects_row same = { key.key, old, NODEVALUE_SIZE };
	struct objects_row set = { key.key, bytes, NODEVALUE_SIZE };
	nodevalue_encode(before, old);
	nodevalue_encode(value, bytes);
	return cluster_put_row(cluster, "nodes", OBJECTS_ANY, &same, &set, &patience);
}

static int get_row(struct mailcluster *cluster, const char *node, struct nodevalue *ret_value)
{
	struct row_name key = key_of(node);
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	int ret = cluster_row(cluster, "nodes", key.key, bytes, &size);
	if (ret == 0 && !nodevalue_decode(bytes, size, ret_value))
		ret = MAILSTORE_EDAMAGED;
	return ret;
}

static bool is_ours(const struct mailcluster *cluster, const struct nodevalue *value)
{
	return memcmp(value->incarnation, cluster->incarnation, sizeof(value->incarnation)) == 0;
}

/* The row is the one that was written: numbers up to its limit may be made. */
static void take_value(struct mailcluster *cluster, const struct nodevalue *value)
{
	cluster_lock(cluster);
	cluster->self = *value;
	cluster_unlock(cluster);
}

/* ---- the table of all ---- */

static void see_node(struct mailcluster *cluster, const char *name, const struct nodevalue *value,
		     bool *is_seen)
{
	if (value->slot >= MAILCLUSTER_NODES_MAX)
		return;
	is_seen[value->slot] = true;
	struct nodeview *view = &cluster->nodes[value->slot];
	bool is_same = strcmp(view->name, name) == 0 && view->value.beat == value->beat &&
		       memcmp(view->value.incarnation, value->incarnation,
			      sizeof(value->incarnation)) == 0;
	view->has_beaten = view->is_there && (view->has_beaten || !is_same);
	view->quiet_beats = is_same ? view->quiet_beats + 1 : 0;
	view->value = *value;
	view->is_there = true;
	(void)snprintf(view->name, sizeof(view->name), "%s", name);
}

/* An operator has taken their rows out. */
static void forget_nodes(struct mailcluster *cluster, const bool *is_seen)
{
	cluster_lock(cluster);
	for (unsigned slot = 0; slot < MAILCLUSTER_NODES_MAX; slot++)
		if (!is_seen[slot])
			cluster->nodes[slot] = (struct nodeview){ .is_there = false };
	cluster_unlock(cluster);
}

static int read_nodes(struct mailcluster *cluster)
{
	const struct objects_found *row;
	struct cluster_rows rows;
	struct nodevalue value;
	bool is_seen[MAILCLUSTER_NODES_MAX] = { false };
	bool is_damaged = false;
	int ret = cluster_rows_begin(cluster, "nodes", "", "n.", &rows);
	while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0) {
		if (!names_is_node(row->key + 2) ||
		    !nodevalue_decode(row->value, row->size, &value)) {
			is_damaged = true;
			continue;
		}
		cluster_lock(cluster);
		see_node(cluster, row->key + 2, &value, is_seen);
		cluster_unlock(cluster);
	}
	cluster_rows_end(&rows);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (!is_damaged)
		forget_nodes(cluster, is_seen);
	return 0;
}

bool nodes_name(struct mailcluster *cluster, unsigned slot, char *ret_name)
{
	if (slot >= MAILCLUSTER_NODES_MAX)
		return false;
	cluster_lock(cluster);
	const struct nodeview *view = &cluster->nodes[slot];
	bool is_there = view->is_there;
	(void)snprintf(ret_name, sizeof(view->name), "%s", view->name);
	cluster_unlock(cluster);
	return is_there;
}

size_t mailcluster_nodes(struct mailcluster *cluster, struct mailcluster_node *ret_nodes)
{
	size_t count = 0;
	cluster_lock(cluster);
	for (unsigned slot = 0; slot < MAILCLUSTER_NODES_MAX; slot++) {
		const struct nodeview *view = &cluster->nodes[slot];
		if (!view->is_there)
			continue;
		struct mailcluster_node *node = &ret_nodes[count++];
		*node = (struct mailcluster_node){ .slot = slot,
						   .quiet_beats = view->quiet_beats,
						   .time_us = view->value.time_us,
						   .has_beaten = view->has_beaten,
						   .is_self = slot == cluster->slot };
		memcpy(node->name, view->name, sizeof(node->name));
	}
	cluster_unlock(cluster);
	return count;
}

/* ---- joining ---- */

/* The lowest slot that is free. */
static int find_slot(struct mailcluster *cluster, unsigned *ret_slot)
{
	bool is_used[MAILCLUSTER_NODES_MAX] = { false };
	const struct objects_found *row;
	struct cluster_rows rows;
	int ret = cluster_rows_begin(cluster, "nodes", "", "s.", &rows);
	while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0) {
		char *end;
		unsigned long slot = strtoul(row->key + 2, &end, 10);
		if (slot < MAILCLUSTER_NODES_MAX && *end == '\0')
			is_used[slot] = true;
	}
	cluster_rows_end(&rows);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	for (unsigned i = 0; i < MAILCLUSTER_NODES_MAX; i++) {
		if (!is_used[i]) {
			*ret_slot = i;
			return 0;
		}
	}
	return -EUSERS;
}

static int take_slot(struct mailcluster *cluster, uint64_t time_us)
{
	struct row_name key = key_of(cluster->node);
	const struct nodevalue before = { 0 };
	struct patience patience = { 0 };
	char slot_key[16];
	uint8_t bytes[NODEVALUE_SIZE];
	unsigned slot = 0;
	int ret = find_slot(cluster, &slot);
	if (ret != 0)
		return ret;
	cluster->slot = (uint16_t)slot;
	struct nodevalue value = next_value(cluster, &before, time_us);
	nodevalue_encode(&value, bytes);
	(void)snprintf(slot_key, sizeof(slot_key), "s.%04u", slot);
	const struct objects_row same[] = { { slot_key, "", 0 }, { key.key, "", 0 } };
	const struct objects_row set[] = { { slot_key, cluster->node, strlen(cluster->node) },
					   { key.key, bytes, sizeof(bytes) } };
	struct objects_write write = {
		.name = "nodes", .same = same, .same_count = 2, .set = set, .set_count = 2
	};
	return cluster_write(cluster, &write, 1, &patience);
}

/* From an incarnation before; its numbers end at its limit. */
static int take_over(struct mailcluster *cluster, const struct nodevalue *before, uint64_t time_us)
{
	cluster->slot = before->slot;
	cluster->last_us = before->limit;
	struct nodevalue value = next_value(cluster, before, time_us);
	return put_row(cluster, before, &value);
}

/* One attempt; what is there afterwards says whether it was one. */
static int try_join(struct mailcluster *cluster, uint64_t time_us)
{
	struct nodevalue value;
	int ret = get_row(cluster, cluster->node, &value);
	if (ret == 0 && value.slot >= MAILCLUSTER_NODES_MAX)
		ret = MAILSTORE_EDAMAGED;
	if (ret == 0 && is_ours(cluster, &value)) {
		cluster->slot = value.slot;
		take_value(cluster, &value);
		return 0;
	}
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
		return ret;
	ret = ret == 0 ? take_over(cluster, &value, time_us) : take_slot(cluster, time_us);
	return ret == 0 || ret == -ECANCELED ? -EAGAIN : ret;
}

int nodes_join(struct mailcluster *cluster, uint64_t time_us)
{
	int ret = -EAGAIN;
	for (unsigned i = 0; ret == -EAGAIN && i < TRIES; i++)
		ret = try_join(cluster, time_us);
	return ret == 0 ? read_nodes(cluster) : ret;
}

/* ---- the beat ---- */

/* The write of a beat before may have come late, or an answer have been lost. */
static int beat_again(struct mailcluster *cluster, uint64_t time_us)
{
	struct nodevalue before;
	int ret = get_row(cluster, cluster->node, &before);
	if (ret == DNSBLV6_ENOTFOUND || (ret == 0 && !is_ours(cluster, &before)))
		return MAILSTORE_EFAILED;
	if (ret != 0)
		return ret;
	cluster_lock(cluster);
	struct nodevalue value = next_value(cluster, &before, time_us);
	cluster_unlock(cluster);
	ret = put_row(cluster, &before, &value);
	if (ret == 0)
		take_value(cluster, &value);
	return ret;
}

static int beat(struct mailcluster *cluster, uint64_t time_us)
{
	cluster_lock(cluster);
	cluster->now_us = time_us;
	struct nodevalue before = cluster->self;
	struct nodevalue value = next_value(cluster, &before, time_us);
	cluster_unlock(cluster);
	int ret = put_row(cluster, &before, &value);
	if (ret == 0)
		take_value(cluster, &value);
	/* More than one that was late may come between reading and writing. */
	for (unsigned i = 0; ret == -ECANCELED && i < TRIES; i++)
		ret = beat_again(cluster, time_us);
	return ret;
}

int mailcluster_beat(struct mailcluster *cluster, uint64_t time_us)
{
	int ret = cluster_state(cluster);
	if (ret == 0)
		ret = beat(cluster, time_us);
	if (ret == MAILSTORE_EFAILED) {
		cluster_lock(cluster);
		cluster->has_failed = true;
		cluster_unlock(cluster);
	}
	if (ret == 0)
		ret = read_nodes(cluster);
	if (ret != 0)
		return ret;
	cluster_lock(cluster);
	cluster->beats++;
	cluster_unlock(cluster);
	return 0;
}

/* ---- locks of others ---- */

/* Its incarnation is not the one that the last beat saw: that may be the older one, or the newer. */
static int look_again(struct mailcluster *cluster, const char *node, const struct lockvalue *lock,
		      bool *ret_is_void)
{
	struct nodevalue value;
	int ret = get_row(cluster, node, &value);
	if (ret == 0)
		*ret_is_void = memcmp(value.incarnation, lock->incarnation,
				      sizeof(value.incarnation)) != 0;
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_is_void = true;
	return 0;
}

/* The last beat has not seen its machine: that has come since, or is no more. */
static int look_for_slot(struct mailcluster *cluster, const struct lockvalue *lock,
			 bool *ret_is_void)
{
	char node[MAILCLUSTER_NODE_MAX + 1];
	char slot_key[16];
	size_t size = 0;
	(void)snprintf(slot_key, sizeof(slot_key), "s.%04u", lock->slot);
	int ret = objects_row(cluster->objects, "nodes", slot_key, node, sizeof(node) - 1, &size);
	node[size] = '\0';
	*ret_is_void = true;
	if (ret != 0)
		return ret == -ENOENT ? 0 : ret;
	return look_again(cluster, node, lock, ret_is_void);
}

static bool is_held(const struct mailcluster *cluster, uint64_t number)
{
	for (size_t i = 0; i < cluster->lock_count; i++)
		if (cluster->locks[i] == number)
			return true;
	return false;
}

int nodes_is_void(struct mailcluster *cluster, const struct lockvalue *lock, bool *ret_is_void)
{
	bool is_unknown = lock->slot >= MAILCLUSTER_NODES_MAX;
	struct nodeview view = { .is_there = false };
	cluster_lock(cluster);
	bool is_self =
		memcmp(lock->incarnation, cluster->incarnation, sizeof(lock->incarnation)) == 0;
	bool is_void = is_self && !is_held(cluster, lock->number);
	if (!is_unknown)
		view = cluster->nodes[lock->slot];
	cluster_unlock(cluster);
	if (is_unknown || is_self) {
		*ret_is_void = is_unknown || is_void;
		return 0;
	}
	if (!view.is_there)
		return look_for_slot(cluster, lock, ret_is_void);
	if (memcmp(view.value.incarnation, lock->incarnation, sizeof(lock->incarnation)) != 0)
		return look_again(cluster, view.name, lock, ret_is_void);
	*ret_is_void =
		lock->number < view.value.oldest_lock || view.quiet_beats > MAILCLUSTER_DEAD_BEATS;
	return 0;
}
