/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * mend.c - the thread that ends what nodes have left undone, and that fetches the users.
 */

#include "integration/mail/mail-stored/cluster/cluster.h"

#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/cluster/lister.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char context[] = "mail-stored";

#define SWEEP_MS 2000
/* Between looks for another list of users, in sweeps. */
#define USERS_SWEEPS 5

/* ---- deliveries ---- */

static void sweep(struct cluster *cluster, uint64_t *said_ms)
{
	uint64_t *counters = cluster->start.counters;
	struct mailcluster_swept swept = { 0 };
	int ret = mailcluster_sweep(cluster->mailcluster, &swept);
	if (ret != 0 && !cluster_is_over(ret) && cluster_is_due(said_ms))
		log_warning(context, "interrupted deliveries not completed, tried again (%s)",
			    mailstore_strerror(ret));
	__atomic_fetch_add(&counters[STORED_COMPLETED], swept.completed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counters[STORED_UNDONE], swept.undone, __ATOMIC_RELAXED);
	if (swept.completed + swept.undone > 0)
		log_info(context,
			 "interrupted deliveries ended, completed=%" PRIu64 " undone=%" PRIu64,
			 swept.completed, swept.undone);
}

/* ---- users ---- */

/* There was none when the process began. */
static void open_users(struct quota *quota, const char *path)
{
	struct users *users = NULL;
	if (quota_has_users(quota))
		return;
	int ret = users_open(path, &users);
	if (ret == 0)
		quota_give_users(quota, users);
	else
		log_error(context, "recipients not opened, path=%s (%s)", path,
			  users_strerror(ret));
}

static void use_list(struct cluster *cluster, uint64_t version, const void *list, size_t size,
		     uint64_t *said_ms)
{
	const struct cluster_start *start = &cluster->start;
	int ret = lister_build(start->lister_fd, list, size);
	if (ret == -ECONNRESET || ret == -ETIMEDOUT) {
		log_warning(context, "the process that builds users' databases has ended");
		start->fail(start->owner, -ECONNRESET);
		return;
	}
	if (ret != 0) {
		if (cluster_is_due(said_ms))
			log_error(context, "users of the cluster not taken, path=%s (%s)",
				  start->setup->users, users_strerror(ret));
		return;
	}
	open_users(start->quota, start->setup->users);
	uv_mutex_lock(&cluster->mutex);
	cluster->users_version = version;
	uv_mutex_unlock(&cluster->mutex);
	log_info(context, "users of the cluster taken, path=%s version=%" PRIu64,
		 start->setup->users, version);
	if (start->taken != NULL)
		start->taken(start->owner);
}

/* What is there stays in use when the cluster does not answer, or has none. */
static void fetch_users(struct cluster *cluster, uint64_t *said_ms)
{
	uint64_t version = 0;
	uint8_t *list = NULL;
	size_t size = 0;
	int ret = mailcluster_users_version(cluster->mailcluster, &version);
	if (ret == -ETIMEDOUT || (ret == 0 && (version == 0 || version == cluster->users_version)))
		return;
	if (ret == 0)
		ret = mailcluster_get_users(cluster->mailcluster, &version, &list, &size);
	if (ret != 0) {
		if (!cluster_is_over(ret) && cluster_is_due(said_ms))
			log_warning(context, "users of the cluster not read (%s)",
				    mailstore_strerror(ret));
		return;
	}
	use_list(cluster, version, list, size, said_ms);
	explicit_bzero(list, size);
	free(list);
}

/* What has failed here is taken back while it is known: the next process would roll it forward. */
static void sweep_last(struct cluster *cluster, uint64_t *said_ms)
{
	uv_mutex_lock(&cluster->mutex);
	bool is_there = cluster->mailcluster != NULL && cluster->beat_status == 0;
	uv_mutex_unlock(&cluster->mutex);
	if (is_there)
		sweep(cluster, said_ms);
}

void mend_run(void *owner)
{
	struct cluster *cluster = owner;
	uint64_t sweep_said_ms = 0;
	uint64_t users_said_ms = 0;
	for (unsigned round = 0; cluster_wait(cluster, SWEEP_MS); round++) {
		if (cluster_get(cluster) == NULL) {
			round = USERS_SWEEPS - 1; /* users are looked for as soon as it is there */
			continue;
		}
		if (cluster->start.lister_fd >= 0 && round % USERS_SWEEPS == 0)
			fetch_users(cluster, &users_said_ms);
		sweep(cluster, &sweep_said_ms);
	}
	sweep_last(cluster, &sweep_said_ms);
}
