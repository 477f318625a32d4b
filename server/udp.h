/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * udp.h - questions over UDP, a batch at a time.
 *
 * Flow: the loop says readable -> recvmmsg() -> answer_make() for each ->
 *       sendmmsg() -> catalog_end(). Everything of a batch is in buffers that
 *       exist once per worker; nothing is allocated.
 *
 * A socket is polled while it has little to do, and read in every round of the
 * loop while it has much.
 *
 * Answers leave from the address that was asked, also on 0.0.0.0 and ::. A
 * response that the kernel does not take at once is dropped: the client asks
 * again.
 */

#include "server/answer.h"
#include "server/tap.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct udp;

/*
 * fds are borrowed: they stay open when this is closed; so is tap, which may be NULL. 0 or a
 * negative error.
 */
int udp_new(uv_loop_t *loop, const int *fds, size_t fd_count, struct answer *answer,
	    struct catalog *catalog, const struct counters *counters, struct tap *tap,
	    struct udp **ret_udp);
int udp_start(struct udp *udp);
/* Answers what the sockets still hold, then stops. Run the loop, then udp_free(). */
void udp_drain(struct udp *udp);
void udp_free(struct udp *udp);

#ifdef __cplusplus
}
#endif
