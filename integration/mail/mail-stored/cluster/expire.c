/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * expire.c - the thread that deletes what is too old, for all nodes.
 */

#include "integration/mail/mail-stored/cluster/cluster.h"

#include "integration/mail/mail-stored/boxes/expiry.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

#include <stdlib.h>

static const char context[] = "mail-stored";

/* By so much clocks may differ: a day. */
#define AHEAD_US (24ULL * 3600 * 1000000)

/* A clock that is wrong would delete the mail of all: one of another node that beats shows it. */
static bool is_ahead(const struct mailcluster_node *node, uint64_t *said_ms)
{
	if (node->is_self || node->time_us + AHEAD_US >= clock_wall_us())
		return false;
	if (cluster_is_due(said_ms))
		log_warning(
			context,
			"old mails not deleted, clock is a day ahead of another node's, node=%s",
			node->name);
	return true;
}

/*
 * Until another node has beaten, or is dead, its clock may be an old one, or the one that shows ours
 * to be wrong. Two may think so for some seconds, and delete the same: that is no harm.
 */
static bool is_this_node(struct cluster *cluster, uint64_t *said_ms)
{
	size_t count = 0;
	struct mailcluster_node *nodes = cluster_nodes(cluster, &count);
	const struct mailcluster_node *lowest = NULL;
	for (size_t i = 0; nodes != NULL && i < count; i++) {
		if (nodes[i].quiet_beats <= MAILCLUSTER_DEAD_BEATS &&
		    (lowest == NULL || nodes[i].slot < lowest->slot))
			lowest = &nodes[i];
	}
	bool is_this = lowest != NULL && lowest->is_self;
	for (size_t i = 0; is_this && i < count; i++)
		is_this = nodes[i].quiet_beats > MAILCLUSTER_DEAD_BEATS ||
			  ((nodes[i].has_beaten || nodes[i].is_self) &&
			   !is_ahead(&nodes[i], said_ms));
	free(nodes);
	return is_this;
}

/* One look at all mailboxes. */
static void look(struct cluster *cluster)
{
	struct expiry expiry = { .quota = cluster->start.quota,
				 .expired = &cluster->start.counters[STORED_EXPIRED] };
	struct maillayer *layer = NULL;
	int ret = cluster_make_layer(cluster, &layer);
	if (ret != 0)
		return;
	expiry.layer = layer;
	while (ret == 0 && !cluster_is_stopping(cluster))
		ret = expiry_step(&expiry);
	maillayer_close(layer);
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND && !cluster_is_over(ret))
		log_warning(context, "old mails not deleted (%s)", mailstore_strerror(ret));
}

void expire_run(void *owner)
{
	struct cluster *cluster = owner;
	uint64_t said_ms = 0;
	while (cluster_wait(cluster, cluster->start.setup->keep_ms))
		if (quota_may_expire(cluster->start.quota) && is_this_node(cluster, &said_ms))
			look(cluster);
}
