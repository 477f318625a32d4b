/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clients_start.h - what clients.h is told when it begins.
 *
 * Flow: store_process.c, cluster_process.c -> here -> clients.h and its parts.
 *
 * Plain values.
 */

#include "integration/mail/mail-stored/store/requests.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Requests of one client that have no reply yet. */
#define CLIENTS_OPEN_MAX 256

/* Of a layer that blocks. */
struct clients_layers {
	unsigned threads;
	/* In the loop; does not wait. 0, or why there is none now: the client's answer. */
	int (*make)(void *owner, struct maillayer **ret_layer);
	void *owner;
};

struct clients_start {
	int listen_fd; /* it listens; the caller's */
	unsigned clients_max;
	struct requests
		*requests; /* with a layer, or of layers what their clients have in common */
	const struct clients_layers *layers; /* NULL: the layer is that of requests */
	bool has_quotas;
	uint64_t *counters;
	/* What commit.h says when a sync has failed. */
	void (*fail)(void *owner, int status);
	void *owner;
	const int *login_fd; /* of logins.h, borrowed; NULL: none */
	const int *
		syncer_fds; /* become those of commit.h, also when opening fails; not with layers */
};

#ifdef __cplusplus
}
#endif
