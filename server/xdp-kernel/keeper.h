/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keeper.h - the process that detaches the program from the network driver when the server is gone.
 *
 * Flow: main.c, before privileges are dropped: load_attach() -> keeper_start() -> the server is
 *       no root any more -> it ends, or is killed -> the keeper's load_detach().
 *
 * It holds one end of a pipe, and the parent alone the other: when the parent is gone, however it
 * went, there is an end of file. The keeper then waits for as long as the program is meant to go
 * on answering, detaches it if no other server has replaced it meanwhile, and ends. SIGTERM does
 * the same; a second one ends the waiting. Other signals, but SIGKILL, it does not hear. When it
 * is killed itself the program stays attached: it passes everything when its leases have run out,
 * and the next server replaces it.
 *
 * Of all processes of the server it alone keeps capabilities: CAP_BPF, CAP_NET_ADMIN and
 * CAP_SYS_ADMIN, as far as there are. So it reads nothing from anywhere, and has no socket or file
 * of the server open. There is no filter for it: each one of callfilter.h kills for bpf(2), and what
 * is killed detaches nothing.
 */

#include "server/xdp-kernel/load.h"

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* { .fd = -1 }: there is none. */
struct keeper {
	pid_t pid; /* 0: there is none, or it has ended */
	int fd;	   /* the parent's end; -1 */
	unsigned keep_s;
};

/*
 * Forks it. 0, or -errno, which has been logged: then nothing would detach the program. *ret_keeper
 * is written in any case.
 */
int keeper_start(const struct load *load, unsigned keep_s, struct keeper *ret_keeper);

/* In each other child of the parent, at once: with the pipe open there it would not end. */
void keeper_forget(const struct keeper *keeper);

/* True when pid was it. That is logged as an error: it is not to end before the parent. */
bool keeper_note_end(struct keeper *keeper, pid_t pid, int status);

/*
 * The parent's last step. With keep_s 0 it waits until the program is detached, for some seconds at
 * most; or else the keeper outlives the parent.
 */
void keeper_end(struct keeper *keeper);

#ifdef __cplusplus
}
#endif
