/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listeners.h - the sockets that clients connect to: for each place one of each edge.
 *
 * Flow: setup.h -> nanny.c: listeners_open(), as root -> edge.c accepts from those of its index.
 *
 * The kernel deals connections out to the sockets of a place (SO_REUSEPORT). They belong to the
 * nanny: what is in the backlog of an edge that dies waits for the next one. After SIGHUP a place
 * that was there before keeps its sockets, so that nobody is refused meanwhile.
 */

#include "integration/smtp-front/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

struct listeners {
	struct place places[SETUP_PLACES_MAX];
	int fds[SETUP_EDGES_MAX][SETUP_PLACES_MAX]; /* of edge i: [i][0 .. place_count) */
	unsigned place_count;
	unsigned edge_count; /* 0: none is open */
};

/*
 * Binds what front wants and old has not, and gives old's sockets over where it has. 0; or -errno
 * with the place in *reterr_place, borrowed from front: then old is as before. old may be NULL.
 */
int listeners_open(const struct setup_front *front, const struct listeners *old,
		   struct listeners *ret_listeners, const struct place **reterr_place);
/* Closes those that kept does not have; kept may be NULL. */
void listeners_close(struct listeners *listeners, const struct listeners *kept);

#ifdef __cplusplus
}
#endif
