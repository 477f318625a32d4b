/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * errand.h - a process of one purpose beside the store process: a descriptor comes, a status goes.
 *
 * Flow: errand_begin() of syncer.c, lister.c -> the other side of a socket: errand_ask() sends a
 *       descriptor -> answer() in the process -> errand_take(): 4 bytes.
 *
 * It ends with the store process, or when the descriptor that leads to it is closed. Of what that has
 * open it has nothing but its socket and what is logged to; signals are for its parent.
 */

struct errand {
	const char *name; /* of the process */
	/* In the process. All but 0 ends it. It asks for PR_SET_PDEATHSIG, which another user takes away. */
	int (*confine)(const void *data);
	int (*answer)(const void *data, int descriptor); /* a status; the descriptor is borrowed */
	const void *data;
};

/* *ret_fd is close-on-exec, the caller's; to close it ends the process. 0 or -errno. */
int errand_begin(const struct errand *errand, int *ret_fd);
/* The descriptor stays the caller's. 0, -ECONNRESET when it has ended, or another -errno. */
int errand_ask(int fd, int descriptor);
/* 1 with the status; -EAGAIN; -ECONNRESET when it has ended. Does not wait. */
int errand_take(int fd, int *ret_status);
