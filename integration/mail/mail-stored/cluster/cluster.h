/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cluster.h - this machine's place in a cluster: the handle of mailcluster.h, and the threads that look
 *             after it.
 *
 * Flow: cluster_process.c -> cluster_begin(): three threads -> cluster_get() for clients' layers and
 *       questions -> cluster_end().
 *
 *     THREAD      DOES
 *     beat.c      reaches the cluster, again and again until it does; then beats once a second, and
 *                 says what becomes of the cluster and of the other nodes
 *     mend.c      ends what others have left undone, every two seconds; fetches a new list of users,
 *                 every ten
 *     expire.c    deletes what is too old, on one node of all: the lowest one that is alive
 *
 * None of them holds up another, nor a client: each has its own calls into the cluster, which wait for
 * at most as long as an operation may. The mutex is held for no call. fail() is called by a thread, once
 * at most for each of them.
 */

#include "integration/mail/mail-stored/boxes/quota.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "lib/mailcluster/mailcluster.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cluster_start {
	const struct stored_setup *setup;
	struct quota *quota; /* of which users are opened when they have been fetched */
	uint64_t *counters;
	int lister_fd; /* -1: users are not fetched; stays the caller's */
	/* Reaches what has the objects; in a thread, again until it is 0. Else -errno. */
	int (*open)(const struct cluster_setup *setup, struct objects **ret_objects);
	/*
	 * This process is of no use any more: MAILSTORE_EFAILED when another one has its node,
	 * -ESHUTDOWN when the cluster takes nothing of it, or -ECONNRESET when that of lister.h has
	 * ended. In a thread.
	 */
	void (*fail)(void *owner, int status);
	/* The users' databases are those of the cluster now. In a thread, each time; may be NULL. */
	void (*taken)(void *owner);
	void *owner;
};

/* Lies in the memory of its owner. */
struct cluster {
	struct cluster_start start; /* all in it is borrowed */
	uv_thread_t threads[3];
	unsigned thread_count;
	uv_mutex_t mutex; /* of what follows */
	uv_cond_t stopped;
	bool is_stopping;
	struct mailcluster
		*mailcluster;	/* NULL until it has been reached; then until cluster_end() */
	uint64_t beat_ms;	/* when the last one was done, of a clock that is not set */
	int beat_status;	/* what came of the last one, or of reaching the cluster */
	uint64_t users_version; /* that the databases here have; 0: not known */
	bool is_checking;	/* only one question reads all mails at a time */
};

/* 0 or a status of libuv; cluster_end() in any case. */
int cluster_begin(struct cluster *cluster, const struct cluster_start *start);
/* When no layer is left. Waits for its threads, which is as long as an operation may take. */
void cluster_end(struct cluster *cluster);

/* NULL: the cluster was not reached yet. It stays until cluster_end(). */
struct mailcluster *cluster_get(struct cluster *cluster);
/* -EAGAIN as long as there is none. Does not wait. */
int cluster_make_layer(struct cluster *cluster, struct maillayer **ret_layer);

/* How it is at the moment. */
struct cluster_state {
	bool is_reached;
	int beat_status;
	uint64_t beat_age_ms;
	uint64_t nodes;
	uint64_t nodes_alive;
	uint64_t users_version;
};
void cluster_describe(struct cluster *cluster, struct cluster_state *ret_state);
/* The nodes, returned, to be freed; NULL without memory or cluster. */
struct mailcluster_node *cluster_nodes(struct cluster *cluster, size_t *ret_count);

/* ---- for its threads ---- */

void beat_run(void *cluster);
void mend_run(void *cluster);
void expire_run(void *cluster);

/* Waits; false: the process is about to end. */
bool cluster_wait(struct cluster *cluster, uint64_t wait_ms);
bool cluster_is_stopping(struct cluster *cluster);
/* The beat says what this is, and that is the end. */
bool cluster_is_over(int status);
/* A line that would come again and again is said once a minute: *said_ms is the caller's, 0 at first. */
bool cluster_is_due(uint64_t *said_ms);

#ifdef __cplusplus
}
#endif
