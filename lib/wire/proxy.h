/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxy.h - the header by which a load balancer names its client (PROXY, versions 1 and 2).
 *
 * Flow: the first bytes of a connection that must begin so (greeting.c) -> proxy_parse() -> the
 *       client's address, about which libdnsblv6 is asked. The other way round, proxy_make() -> the
 *       first bytes to a next hop that is told so (remote_smtp.c, hop.c).
 *
 *     PROXY TCP4 192.0.2.7 198.51.100.1 51234 25 CRLF
 *
 *     OFFSET  SIZE  DESCRIPTION (version 2)
 *        0     12   0d 0a 0d 0a 00 0d 0a 51 55 49 54 0a
 *       12      1   0x20 LOCAL, 0x21 PROXY
 *       13      1   0x00 unspecified, 0x11 TCP over IPv4, 0x21 TCP over IPv6
 *       14      2   size of the rest, big endian
 *       16     12   IPv4: source, destination, source port, destination port
 *       16     36   IPv6: the same
 *        .      .   TLVs, passed over
 *
 * Only for connections of trusted balancers: from any other peer it is a lie. A trusted one that
 * sends something else, or cuts it, is not spoken to (PROXY_BAD), for the address of the balancer
 * is not the client's.
 *
 * No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a whole header: the balancers known send some hundred bytes of TLVs at most. */
#define PROXY_SIZE_MAX 1024

enum proxy_status {
	PROXY_MORE,
	PROXY_DONE,
	PROXY_BAD, /* at the first byte that fits none */
};

struct proxy {
	/* LOCAL, or UNKNOWN: the balancer speaks for itself, the socket's addresses hold. */
	bool is_local;
	/* Zero when is_local. */
	struct dnsblv6_addr client_addr;
	struct dnsblv6_addr local_addr;
	uint16_t client_port;
	uint16_t local_port;
};

/*
 * bytes are all that has come of the connection so far. Both outputs are written by PROXY_DONE
 * only; *ret_used bytes were the header.
 */
enum proxy_status proxy_parse(const uint8_t *bytes, size_t size, struct proxy *ret_proxy,
			      size_t *ret_used);

/* A header of proxy_make(): the longest is a line of 107 bytes. */
#define PROXY_MADE_MAX 112

/* version is 1 or 2; is_local is not looked at. ret_header has PROXY_MADE_MAX bytes. Its size. */
size_t proxy_make(unsigned version, const struct proxy *proxy, uint8_t *ret_header);
/*
 * A connection whose client is the process that has made it: its own ends, since Postfix takes no
 * UNKNOWN. Those of a UNIX socket are 127.0.0.1 and port 0.
 */
void proxy_of_socket(const struct sockaddr *from, const struct sockaddr *to,
		     struct proxy *ret_proxy);

#ifdef __cplusplus
}
#endif
