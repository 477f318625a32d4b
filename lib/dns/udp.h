/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * udp.h - questions over UDP, a batch at a time.
 *
 * Flow: the loop says readable -> recvmmsg() -> answer() of the program
 *       (responder.h) for each -> sendmmsg() -> end(). Everything of a batch is in
 *       buffers that exist once per process; nothing is allocated.
 *
 * A socket is polled while it has little to do, and read in every round of the
 * loop while it has much.
 *
 * Answers leave from the address that was asked, also on 0.0.0.0 and :: when the
 * socket says which one that was (listener.h). A response that the kernel does not
 * take at once is dropped: the client asks again.
 */

#include "lib/dns/responder.h"

#include <netinet/in.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct udp;

#define UDP_CONTROL_SIZE 40 /* of the widest: CMSG_SPACE(sizeof(struct in6_pktinfo)) */

/* The client that asked, and which of our addresses. A plain value; good until udp_free(). */
struct udp_asker {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} client;
	uint32_t socket; /* index into the fds of udp_new() */
	uint32_t control_size;
	uint64_t control[UDP_CONTROL_SIZE / 8];
};

/* fds are borrowed: they stay open when this is closed. 0 or a negative error; then *ret_udp may be
 * half of one, for udp_free() behind uv_loop_close(). */
int udp_new(uv_loop_t *loop, const int *fds, size_t fd_count, const struct responder *responder,
	    struct udp **ret_udp);
int udp_start(struct udp *udp);

/* Inside answer(), which then returns 0: the query in hand is answered by udp_send(), or never. */
void udp_defer(const struct udp *udp, struct udp_asker *ret_asker);
/* One datagram to the asker; also after udp_drain(). wire is copied by the kernel. */
void udp_send(struct udp *udp, const struct udp_asker *asker, const uint8_t *wire, size_t size);

/* Answers what the sockets still hold, then stops. Run the loop, then udp_free(). */
void udp_drain(struct udp *udp);
void udp_free(struct udp *udp);

#ifdef __cplusplus
}
#endif
