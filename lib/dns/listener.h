/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listener.h - the sockets: one UDP and one TCP for each address and worker.
 *
 * Flow: a program binds them before privileges are dropped, and hands each worker
 *       its row, or reads them itself as the only one -> udp.h, tcp.h. In dnsblv6d they
 *       outlive every worker, so nothing that waits in them is lost when one is
 *       replaced.
 *
 * SO_REUSEPORT spreads clients over the workers' sockets. It would also let a
 * second server of the same user share the port unnoticed, so each address is
 * first bound without it. Sockets that are bound to no address say which one was asked.
 *
 * A service manager may have bound sockets instead. It keeps them open itself, so
 * they must all be read here: no socket of ours can be beside them.
 */

#include <stddef.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LISTENER_ADDRESS_MAX 64

/* Where questions are taken: AF_INET and AF_INET6, with the port. */
struct listener_addresses {
	struct sockaddr_storage all[LISTENER_ADDRESS_MAX];
	size_t count;
};

struct listener {
	size_t worker_count;
	size_t address_count;
	int *udp; /* worker * address_count + address */
	int *tcp;
};

struct listener_error {
	const char *protocol;		 /* "udp" or "tcp" */
	struct sockaddr_storage address; /* AF_UNSPEC: of none */
};

/*
 * Port 0 takes a free one, the same for both protocols; addresses is then
 * corrected. Returns 0, or -errno with *reterr_error. Call listener_close()
 * either way.
 */
int listener_open(struct listener *listener, struct listener_addresses *addresses,
		  size_t worker_count, struct listener_error *reterr_error);

/*
 * Takes over count bound sockets from first_fd on instead; their addresses take the
 * place of those in addresses. Each address needs UDP and TCP; the sockets of one
 * address are dealt out to the workers, and with fewer than workers some share
 * one. Returns NULL, or why *reterr_fd cannot be used. Call listener_close()
 * either way; after a failure some of the descriptors may still be open.
 */
const char *listener_adopt(struct listener *listener, struct listener_addresses *addresses,
			   size_t worker_count, int first_fd, int count, int *reterr_fd);
void listener_close(struct listener *listener);

/* The sockets of one worker: address_count each. Borrowed. */
const int *listener_udp(const struct listener *listener, size_t worker);
const int *listener_tcp(const struct listener *listener, size_t worker);

#ifdef __cplusplus
}
#endif
