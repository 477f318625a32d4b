/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * xdp.h - questions over UDP straight from a network card's queues (AF_XDP).
 *
 * Flow: worker.c, while it still may: xdp_open() -> libknot loads its filter and
 *       maps the rings -> privileges away -> xdp_start() -> the ring is readable
 *       -> answer() of the responder for each packet, into the frame that is sent.
 *
 * An option beside udp.h, for servers that the kernel limits: packets to the port pass the
 * kernel's network stack by. What is not UDP to that port goes on to the kernel, and so does
 * all while no worker has the queue: the ordinary sockets of "listen" answer then. TCP always
 * is theirs. From xdp_open() on a worker has it: until xdp_start() questions wait in the ring.
 *
 * A queue has one owner. Of an interface with N queues worker W of C has those that are W
 * modulo C. A worker lets go of its queues with xdp_release(), so that one of the next
 * generation can take them; the memory of the rings is a process's own, so they cannot be
 * handed over.
 *
 * Filters are libknot's (libknot/xdp): one that stands on the interface already is used if
 * it is the same, and that of another program is not replaced. It stays when the server ends
 * and lets everything pass.
 */

#include "lib/dns/responder.h"
#include "server/settings/settings.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct xdp;

/* How long xdp_open() waits for a queue that a worker before us still has. */
#define XDP_PATIENCE_MS 3000

/*
 * The queues of settings->xdp that are this worker's; NULL in *ret_xdp when there is none,
 * or none could be had: that is logged, and the ordinary sockets do its work. Needs
 * CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN and, for locked memory, CAP_IPC_LOCK (confine.h
 * keeps them until then). 16 MB for each queue. 0 or -ENOMEM.
 */
int xdp_open(const struct settings *settings, size_t worker, struct xdp **ret_xdp);

/* NULL for xdp is fine, here and below. 0 or a negative error. */
int xdp_start(struct xdp *xdp, uv_loop_t *loop, const struct responder *responder);
/* Answers what the rings still hold, and gives the queues back. May be called again. */
void xdp_release(struct xdp *xdp);
/* After xdp_release() and a run of the loop. */
void xdp_free(struct xdp *xdp);

#ifdef __cplusplus
}
#endif
