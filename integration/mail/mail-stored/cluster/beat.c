/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * beat.c - the thread that reaches the cluster, and tells it once a second that this node is alive.
 */

#include "integration/mail/mail-stored/cluster/cluster.h"

#include "lib/common/log.h"
#include "lib/process/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Between attempts to reach it. */
#define TRY_AGAIN_MS 1000
/* A beat that takes longer is said: what clients ask for took as long. */
#define STALL_MS 2000

struct beater {
	struct cluster *cluster;
	uint64_t failed_ms; /* since when, 0: it does not fail */
	uint64_t said_ms;
	bool is_known[MAILCLUSTER_NODES_MAX];
	bool is_dead[MAILCLUSTER_NODES_MAX]; /* and that was said */
};

/* ---- reaching it ---- */

static int reach(const struct cluster *cluster, struct mailcluster **ret_cluster)
{
	const struct cluster_setup *own = &cluster->start.setup->cluster;
	struct mailcluster_setup setup = { .node = own->node,
					   .memory_max = own->memory_max,
					   .time_us = clock_wall_us() };
	int ret = cluster->start.open(own, &setup.objects);
	if (ret != 0)
		return ret;
	if (getentropy(setup.incarnation, sizeof(setup.incarnation)) != 0) {
		objects_close(setup.objects);
		return -EIO;
	}
	return mailcluster_open(&setup, ret_cluster);
}

static void note(struct cluster *cluster, int status)
{
	uv_mutex_lock(&cluster->mutex);
	cluster->beat_status = status;
	if (status == 0)
		cluster->beat_ms = clock_now_ms();
	uv_mutex_unlock(&cluster->mutex);
}

static bool reach_at_last(struct cluster *cluster)
{
	const struct cluster_setup *own = &cluster->start.setup->cluster;
	struct mailcluster *found = NULL;
	uint64_t said_ms = 0;
	int ret;
	while ((ret = reach(cluster, &found)) != 0) {
		note(cluster, ret);
		if (cluster_is_due(&said_ms))
			log_warning(context, "cluster not reached, conf=%s pool=%s (%s)",
				    own->ceph_conf, own->pool, mailstore_strerror(ret));
		if (!cluster_wait(cluster, TRY_AGAIN_MS))
			return false;
	}
	uv_mutex_lock(&cluster->mutex);
	cluster->mailcluster = found;
	uv_mutex_unlock(&cluster->mutex);
	note(cluster, 0);
	log_info(context, "cluster reached, pool=%s node=%s", own->pool, own->node);
	return true;
}

/* ---- what is said ---- */

static void tell_failure(struct beater *beater, int status, uint64_t began_ms)
{
	if (beater->failed_ms == 0)
		beater->failed_ms = began_ms;
	if (cluster_is_due(&beater->said_ms))
		log_warning(context, "cluster does not answer, seconds=%.1f (%s)",
			    (double)(clock_now_ms() - beater->failed_ms) / 1000,
			    mailstore_strerror(status));
}

static void tell_success(struct beater *beater, uint64_t began_ms)
{
	uint64_t now_ms = clock_now_ms();
	if (beater->failed_ms != 0)
		log_info(context, "cluster answers again, seconds=%.1f",
			 (double)(now_ms - beater->failed_ms) / 1000);
	else if (now_ms - began_ms > STALL_MS)
		log_warning(context, "cluster has stalled, seconds=%.1f",
			    (double)(now_ms - began_ms) / 1000);
	beater->failed_ms = 0;
	beater->said_ms = 0;
}

static void tell_end(const char *node, int status)
{
	if (status == MAILSTORE_EFAILED)
		log_error(context, "another machine has this node, node=%s", node);
	else
		log_error(context, "Ceph has blocklisted this process, node=%s", node);
}

/* Nodes that were dead when this one began have been said by others. */
static void tell_nodes(struct beater *beater)
{
	size_t count = 0;
	struct mailcluster_node *nodes = cluster_nodes(beater->cluster, &count);
	for (size_t i = 0; nodes != NULL && i < count; i++) {
		const struct mailcluster_node *node = &nodes[i];
		bool is_dead = node->quiet_beats > MAILCLUSTER_DEAD_BEATS;
		if (beater->is_known[node->slot] && is_dead != beater->is_dead[node->slot]) {
			if (is_dead)
				log_warning(context, "node is dead, node=%s", node->name);
			else
				log_info(context, "node is back, node=%s", node->name);
		}
		beater->is_known[node->slot] = true;
		beater->is_dead[node->slot] = is_dead;
	}
	free(nodes);
}

/* ---- beats ---- */

/* false: never again. */
static bool beat(struct beater *beater)
{
	struct cluster *cluster = beater->cluster;
	const struct cluster_start *start = &cluster->start;
	uint64_t began_ms = clock_now_ms();
	int ret = mailcluster_beat(cluster->mailcluster, clock_wall_us());
	note(cluster, ret);
	if (cluster_is_over(ret)) {
		tell_end(start->setup->cluster.node, ret);
		start->fail(start->owner, ret);
		return false;
	}
	if (ret != 0) {
		tell_failure(beater, ret, began_ms);
		return true;
	}
	tell_success(beater, began_ms);
	tell_nodes(beater);
	return true;
}

void beat_run(void *cluster)
{
	struct beater *beater = calloc(1, sizeof(*beater));
	if (beater == NULL)
		abort();
	beater->cluster = cluster;
	if (reach_at_last(cluster)) {
		uint64_t next_ms = clock_now_ms();
		do {
			uint64_t now_ms = clock_now_ms();
			next_ms = next_ms + MAILCLUSTER_BEAT_MS > now_ms
					  ? next_ms + MAILCLUSTER_BEAT_MS
					  : now_ms;
		} while (beat(beater) &&
			 cluster_wait(cluster,
				      next_ms > clock_now_ms() ? next_ms - clock_now_ms() : 0));
	}
	free(beater);
}
