/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listeners.h - the sockets that clients connect to: for each place one of each edge, or more.
 *
 * Flow: nanny.c: listeners_open(), as root -> fork(): listeners_share() in an edge, which accepts
 *       from those -> nanny.c: listeners_listen(), when all have begun.
 *
 * The kernel deals connections out to the sockets of a place (SO_REUSEPORT). They belong to the
 * nanny: what is in the backlog of an edge that dies waits for the next one. After SIGHUP a place
 * that was there before keeps its sockets, so that no client is refused meanwhile. It keeps them
 * also when there are fewer edges, which share them then: a socket that is closed takes the clients
 * with it that are in its backlog or amid their handshake, and nothing that needs no rights of root
 * keeps others from coming. So some edges may have more clients than others until a restart.
 *
 * A new socket is bound at first, and has no client before listeners_listen(): when its generation
 * cannot begin, no client has come in vain.
 */

#include <stdint.h>

#include "lib/common/values.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LISTENERS_PLACES_MAX 16
#define LISTENERS_EDGES_MAX  64
/* Sockets that one edge may have to accept from. */
#define LISTENERS_MAX (LISTENERS_EDGES_MAX * LISTENERS_PLACES_MAX)

/* What there is to be, of a configuration; neither count is 0 or above its maximum. */
struct listeners_wanted {
	const struct place *places; /* borrowed */
	unsigned place_count;
	unsigned edge_count;
};

/* Of one edge, in the order of places within each row. */
struct listeners_shared {
	int fds[LISTENERS_MAX];
	uint8_t places
		[LISTENERS_MAX]; /* of which place each is, as the configuration counts them */
	unsigned count;
};

struct listeners {
	struct place places[LISTENERS_PLACES_MAX];
	/* In row i those of the edge with i % edge_count as its index; -1: none. */
	int fds[LISTENERS_EDGES_MAX][LISTENERS_PLACES_MAX];
	unsigned place_count;
	unsigned edge_count; /* 0: none is open, and fds are nothing */
};

/*
 * Binds what is wanted and old has not, and gives old's sockets over where it has. 0; or -errno
 * with the place in *reterr_place, borrowed from wanted: then old is as before. old may be NULL.
 */
int listeners_open(const struct listeners_wanted *wanted, const struct listeners *old,
		   struct listeners *ret_listeners, const struct place **reterr_place);
/*
 * Lets clients come to those that are new; a place that old has not is looked at once more. 0, or
 * -errno as above. old may be NULL.
 */
int listeners_listen(const struct listeners *listeners, const struct listeners *old,
		     const struct place **reterr_place);

/*
 * In the process of that edge, or of another role when edge is negative: closes what is others'.
 * ret_shared may be NULL then.
 */
void listeners_share(struct listeners *listeners, int edge, struct listeners_shared *ret_shared);
/* Closes those that kept does not have; kept may be NULL. */
void listeners_close(struct listeners *listeners, const struct listeners *kept);

#ifdef __cplusplus
}
#endif
