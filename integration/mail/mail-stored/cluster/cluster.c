/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/cluster/cluster.h"

#include "lib/process/clock.h"

#include <errno.h>
#include <stdlib.h>

#define SAY_AGAIN_MS 60000

bool cluster_is_due(uint64_t *said_ms)
{
	uint64_t now_ms = clock_now_ms();
	if (*said_ms != 0 && now_ms - *said_ms < SAY_AGAIN_MS)
		return false;
	*said_ms = now_ms;
	return true;
}

bool cluster_is_over(int status)
{
	return status == MAILSTORE_EFAILED || status == -ESHUTDOWN;
}

/* ---- asking ---- */

struct mailcluster *cluster_get(struct cluster *cluster)
{
	uv_mutex_lock(&cluster->mutex);
	struct mailcluster *found = cluster->mailcluster;
	uv_mutex_unlock(&cluster->mutex);
	return found;
}

int cluster_make_layer(struct cluster *cluster, struct maillayer **ret_layer)
{
	struct mailcluster *found = cluster_get(cluster);
	return found != NULL ? mailcluster_layer(found, ret_layer) : -EAGAIN;
}

struct mailcluster_node *cluster_nodes(struct cluster *cluster, size_t *ret_count)
{
	struct mailcluster *found = cluster_get(cluster);
	struct mailcluster_node *nodes =
		found != NULL ? calloc(MAILCLUSTER_NODES_MAX, sizeof(*nodes)) : NULL;
	if (nodes != NULL)
		*ret_count = mailcluster_nodes(found, nodes);
	return nodes;
}

void cluster_describe(struct cluster *cluster, struct cluster_state *ret_state)
{
	size_t count = 0;
	struct mailcluster_node *nodes = cluster_nodes(cluster, &count);
	uv_mutex_lock(&cluster->mutex);
	*ret_state = (struct cluster_state){
		.is_reached = cluster->mailcluster != NULL,
		.beat_status = cluster->beat_status,
		.beat_age_ms = cluster->beat_ms != 0 ? clock_now_ms() - cluster->beat_ms : 0,
		.nodes = count,
		.users_version = cluster->users_version,
	};
	uv_mutex_unlock(&cluster->mutex);
	for (size_t i = 0; i < count; i++)
		ret_state->nodes_alive += nodes[i].quiet_beats <= MAILCLUSTER_DEAD_BEATS;
	free(nodes);
}

/* ---- threads ---- */

bool cluster_is_stopping(struct cluster *cluster)
{
	uv_mutex_lock(&cluster->mutex);
	bool is_stopping = cluster->is_stopping;
	uv_mutex_unlock(&cluster->mutex);
	return is_stopping;
}

bool cluster_wait(struct cluster *cluster, uint64_t wait_ms)
{
	uint64_t end_ms = clock_now_ms() + wait_ms;
	uv_mutex_lock(&cluster->mutex);
	while (!cluster->is_stopping) {
		uint64_t now_ms = clock_now_ms();
		if (now_ms >= end_ms)
			break;
		uv_cond_timedwait(&cluster->stopped, &cluster->mutex, (end_ms - now_ms) * 1000000);
	}
	bool is_stopping = cluster->is_stopping;
	uv_mutex_unlock(&cluster->mutex);
	return !is_stopping;
}

/* ---- begin and end ---- */

int cluster_begin(struct cluster *cluster, const struct cluster_start *start)
{
	static const uv_thread_cb runs[] = { beat_run, mend_run, expire_run };
	*cluster = (struct cluster){ .start = *start, .beat_status = -EAGAIN };
	/* These two do not fail where there is memory for a process. */
	if (uv_mutex_init(&cluster->mutex) != 0 || uv_cond_init(&cluster->stopped) != 0)
		abort();
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < sizeof(runs) / sizeof(runs[0]); i++) {
		ret = uv_thread_create(&cluster->threads[i], runs[i], cluster);
		cluster->thread_count += ret == 0;
	}
	return ret;
}

void cluster_end(struct cluster *cluster)
{
	uv_mutex_lock(&cluster->mutex);
	cluster->is_stopping = true;
	uv_cond_broadcast(&cluster->stopped);
	uv_mutex_unlock(&cluster->mutex);
	for (unsigned i = 0; i < cluster->thread_count; i++)
		uv_thread_join(&cluster->threads[i]);
	mailcluster_close(cluster->mailcluster);
	uv_cond_destroy(&cluster->stopped);
	uv_mutex_destroy(&cluster->mutex);
}
