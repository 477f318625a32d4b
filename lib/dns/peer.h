/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * peer.h - the address that a question came from, or that one is taken at.
 *
 * Flow: a socket address of the kernel -> what lib/format knows as an address, the
 *       network that limits are for, or text for the log.
 *
 * Values are plain. No function here allocates, logs or keeps a pointer. A
 * sockaddr may lie at any even address.
 */

#include "lib/format/address.h"

#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_TEXT_SIZE 46 /* INET6_ADDRSTRLEN */

/* The address of an AF_INET or AF_INET6 peer; IPv4-mapped ones are IPv4. */
struct dnsblv6_addr peer_address(const struct sockaddr *peer);

/*
 * The network of a peer, an IPv4 /24 or an IPv6 /56, as a number whose lowest
 * eight bits are 0; 0 when there is no peer, or of another family.
 */
uint64_t peer_network(const struct sockaddr *peer);

/* "192.0.2.1" of an AF_INET or AF_INET6 peer into ret_text of PEER_TEXT_SIZE bytes; the port. */
uint16_t peer_format(const struct sockaddr *peer, char *ret_text);

#ifdef __cplusplus
}
#endif
