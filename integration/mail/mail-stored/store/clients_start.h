/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clients_start.h - what clients.h is told when it begins.
 *
 * Flow: store_process.c, cluster_process.c, nodemodule.c -> here -> clients.h and its parts.
 *
 * Plain values.
 */

#include "integration/mail/mail-stored/store/requests.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Requests of one client that have no reply yet. */
#define CLIENTS_OPEN_MAX 256

struct nodework_parts;

/* Of a layer that blocks. */
struct clients_layers {
	unsigned threads;
	/* In the loop; does not wait. 0, or why there is none now: the client's answer. */
	int (*make)(void *owner, struct maillayer **ret_layer);
	void *owner;
};

/* See clients_parts.h. */
struct clients_way;
extern const struct clients_way clients_commit;
extern const struct clients_way clients_jobs;

struct clients_start {
	const struct clients_way *way;
	int listen_fd; /* it listens; the caller's */
	unsigned clients_max;
	bool has_quotas;
	uint64_t *counters;
	void *owner;
	const int *login_fd; /* of logins.h, borrowed; NULL: none */
	/* Behind clients_close() no client is left; may be NULL. */
	void (*drained)(void *owner);
	/* Of clients_commit and clients_jobs: with a layer, or what those of layers have in common. */
	struct requests *requests;
	/* What commit.h says when a sync has failed. */
	void (*fail)(void *owner, int status);
	/* Of clients_commit: they become those of commit.h, also when opening fails. */
	const int *syncer_fds;
	/* Of clients_jobs. */
	const struct clients_layers *layers;
	/* Of clients_nodes. */
	const struct nodework_parts *nodes;
};

#ifdef __cplusplus
}
#endif
