/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * callers.h - the processes that are connected, and what they ask.
 *
 * Flow: a client's remote.c -> cached.h -> callers.c -> dnsblv6_submit() -> its callback
 *       -> a reply. uvhandle.h calls dnsblv6_process() in each round of the loop.
 *
 * No client can hold up the daemon or another client. A client has CACHED_OPEN_MAX
 * requests open and is read no further; one that does not take its replies, or says what
 * cannot be read, is cut off. One client more than "clients", and of those of which nothing
 * is open the one that has been silent longest goes; without such a one the new one goes. The
 * mode of the socket says which processes may connect; this asks for nothing else.
 *
 * A handle with memory of its own. callers_close() closes what libuv holds; the loop
 * has to run once more before callers_free().
 */

#include <stdint.h>
#include <uv.h>

#include "integration/adapters/cached/cached_setup.h"
#include "lib/common/counts.h"

struct callers; /* opaque */

#define CALLERS_COUNTER_MAP(X)                                                                     \
	X(CALLERS_CONNECTIONS, "connections", "Clients that have connected.")                      \
	X(CALLERS_REFUSED, "connections-refused", "Clients too many.")                             \
	X(CALLERS_REPLACED, "connections-replaced", "Idle clients that made room for others.")     \
	X(CALLERS_CUT, "connections-cut",                                                          \
	  "Clients that could not be understood, or did not take replies.")                        \
	X(CALLERS_REQUESTS, "requests", "Questions of clients.")                                   \
	X(CALLERS_LISTED, "replies-listed", "Questions whose address is listed.")                  \
	X(CALLERS_CLEAR, "replies-clear", "Questions whose address is not.")                       \
	X(CALLERS_FAILED, "replies-failed", "Questions whose zone gave no answer.")                \
	X(CALLERS_LATE, "replies-late", "Questions without an answer in time.")                    \
	X(CALLERS_NO_ZONE, "replies-no-zone", "Questions about other zones.")                      \
	X(CALLERS_BUSY, "replies-busy", "Questions when there were too many.")

enum callers_counter { CALLERS_COUNTER_MAP(COUNTS_NUMBER) CALLERS_COUNTER_COUNT };

/*
 * Makes DIRECTORY/socket, with its group and mode, in the place of one that is there: no other
 * daemon can be using that, as the cache beside it is ours alone. setup is borrowed. 0 or
 * -errno; -EEXIST when another file is in the way.
 */
int callers_open(uv_loop_t *loop, const struct cached_setup *setup, struct callers **ret_callers);
/* Cuts off all clients and removes the socket. Takes NULL. */
void callers_close(struct callers *callers);
void callers_free(struct callers *callers);

unsigned callers_count(const struct callers *callers);
const uint64_t *callers_counters(const struct callers *callers);
