/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * waitset.h - descriptors that are waited for by one: epoll, and kqueue where there is none.
 *
 * Flow: sockets of flight.c, remote.c and another resolver -> stub.c, remote.c -> engine_life.c,
 *       which puts their sets into one -> dnsblv6_fd().
 * This file alone knows which of the two it is.
 *
 * A set is a descriptor itself, readable while one of its descriptors is ready, so that a set may
 * be in another one, and in the event loop of a program. It is the caller's, to be closed by
 * close(). Whether a descriptor is ready is said again until it is not (level-triggered).
 * Functions return 0, or a negative errno value.
 *
 * After fork() a child calls waitset_leave() in the place of close(): what it would take out of an
 * epoll set would be gone for the parent too, and a kqueue is not there at all.
 */

#include <stdint.h>

/* A new set, closed by exec(). -EMFILE, -ENFILE, -ENOMEM. */
int waitset_new(void);
/* The child's copy of a set ends; -1 is fine. */
void waitset_leave(int set);

/* Waits until fd can be read; it must not be in the set yet. tag is what waitset_take() tells. */
int waitset_add(int set, int fd, uint64_t tag);
/* The same until it can be written to. */
int waitset_add_writer(int set, int fd, uint64_t tag);
/* One of waitset_add_writer() is to be read from now on. */
int waitset_turn(int set, int fd, uint64_t tag);
/* Before close(), which leaves it in an epoll set while a child has a copy. */
void waitset_remove(int set, int fd);

/*
 * The tags of at most count_max descriptors that are ready. Does not wait. Returns how many, 0
 * also when it fails.
 */
#define WAITSET_TAKE_MAX 64
int waitset_take(int set, uint64_t *ret_tags, int count_max);

/*
 * Has a set look again at what it holds, when that was read without waitset_take(): a kqueue is
 * readable until it has looked, epoll looks by itself.
 */
void waitset_settle(int set);
