/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * links.h - network interfaces of this machine, and the addresses that they have.
 *
 * Flow: settings: names -> links_find() -> load.c attaches to them, tables_configure() writes them;
 *       settings: "listen" -> links_expand() -> tables_configure().
 *
 * What is found is how it is now: addresses that come later are served by sockets until the next
 * reload. No privileges are needed, nothing is logged or kept.
 */

#include "server/xdp-kernel/layout.h"

#include <stddef.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Index, hardware address and MTU. 0; -ENODEV: there is none of that name; -EPROTONOSUPPORT: no
 * Ethernet; or another -errno. */
int links_find(const char *name, struct xdp_link *ret_link);

/*
 * Addresses that listen stands for: those that are written, and in the place of 0.0.0.0 and of ::
 * all that interfaces have now, with its port, but those of loopback, which no packet from outside
 * may come to. :: stands for addresses of IPv6 alone, as the listener's sockets do. Each once, in
 * no order. Returns how many; those beyond ret_max are counted, and not written. Or -errno.
 */
int links_expand(const struct sockaddr_storage *listen, size_t listen_count,
		 struct sockaddr_storage *ret_addresses, size_t ret_max);

#ifdef __cplusplus
}
#endif
