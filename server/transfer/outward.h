/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * outward.h - sockets by which a server asks its secondaries.
 *
 * Flow: notify.c and inquiry.c -> outward_open() for each address and question -> outward_close().
 */

#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sockets of one kind of question: their targets take turns where descriptors are few. */
struct outward_turns {
	unsigned max; /* open at once; 0: any number */
	unsigned open;
	size_t first;	/* the target that is looked at first */
	bool is_wanted; /* a target waits for one, since this tick began */
	bool is_short;	/* or since the last one: what may be given up is */
};

/*
 * A UDP socket that is connected, so that only that address and port can answer, from an address
 * that the server listens at: secondaries know it by that. Negative when there is none, or no way.
 */
int outward_open(struct outward_turns *turns, const struct settings *settings,
		 const struct sockaddr_storage *address);
/* Then *fd is -1, as it may be before. */
void outward_close(struct outward_turns *turns, int *fd);

bool outward_is_full(const struct outward_turns *turns);
/* It is, and this target waits: the first that does is the first at the next tick. */
void outward_wait(struct outward_turns *turns, size_t target);
/* At each tick, before any target is looked at: the first one. */
size_t outward_begin(struct outward_turns *turns);

/* One of them: of a zone, a secondary of it, and an address of that, in the order of the settings. */
struct outward_address {
	size_t zone;
	const struct settings_secondary *secondary;
	const struct sockaddr_storage *address;
};
/* False behind the last. */
bool outward_find(const struct settings *settings, size_t index, struct outward_address *ret_found);

/* How many addresses the secondaries of all zones have together. */
size_t outward_count(const struct settings *settings);

#ifdef __cplusplus
}
#endif
