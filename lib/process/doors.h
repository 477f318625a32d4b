/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * doors.h - takes clients from sockets that a libuv loop watches.
 *
 * Flow: listening.h, and listen() -> doors_open(), doors_watch() -> take() of the program for each
 *       client -> doors_close().
 *
 * Without a descriptor for a client it would be announced again and again: no socket is watched
 * for pause_ms then, and wait() is called, once until a client could be taken again. uv_listen()
 * cannot do that.
 *
 * A handle with memory of its own, for one thread. doors_close() ends it: the memory goes with the
 * last close callback, so the loop has to run once more. The sockets stay the program's.
 */

#include <sys/socket.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doors; /* opaque */

struct doors_rules {
	unsigned pause_ms;
	/* Before the clients of one event; may be NULL. */
	void (*begin)(void *owner);
	/* fd is handed over; peer is borrowed; door is the place of its socket among fds. */
	void (*take)(void *owner, unsigned door, int fd, const struct sockaddr *peer);
	/* Clients have to wait. */
	void (*wait)(void *owner, int error);
};

/*
 * Of count sockets, of which none is watched yet. rules and owner are borrowed until
 * doors_close(). 0, or a negative error; then the loop has to run once more, too.
 */
int doors_open(uv_loop_t *loop, const int *fds, unsigned count, const struct doors_rules *rules,
	       void *owner, struct doors **ret_doors);
/* 0 or a negative error. */
int doors_watch(struct doors *doors);
/* Takes what waits at the sockets now, if it does not go on without end. */
void doors_take_last(struct doors *doors);
/* Takes NULL. Nothing is called from here on. */
void doors_close(struct doors *doors);

#ifdef __cplusplus
}
#endif
