/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * packet.h - bytes with descriptors beside them, from one process to another.
 *
 * Flow: packet_send() -> a UNIX socket -> packet_receive() of another process.
 *
 * Neither function waits. What is sent stays the caller's to close; what is received is the
 * caller's, and close-on-exec. Nothing is logged.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A packet with more is refused by its receiver. */
#define PACKET_FDS_MAX 2

/* The parts as one packet, with count descriptors. The bytes sent, or -errno: -EAGAIN. */
ssize_t packet_send(int socket_fd, const struct iovec *parts, size_t part_count, const int *fds,
		    unsigned fd_count);

struct packet {
	size_t size; /* of what came */
	int fds[PACKET_FDS_MAX];
	unsigned fd_count;
};

/*
 * The next packet, room bytes at most. 1; 0 when the other end is closed; -errno: -EAGAIN, -EMFILE
 * when this process has no room for a descriptor, -EBADMSG for a packet of more bytes or
 * descriptors: then the packet is gone, and what came with it closed.
 */
int packet_receive(int socket_fd, void *bytes, size_t room, struct packet *ret_packet);
/* Closes the descriptors. */
void packet_close(struct packet *packet);

#ifdef __cplusplus
}
#endif
