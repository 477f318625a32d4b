/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * servers.h - addresses of resolvers, and the file that libc has them from.
 *
 * Flow: lists.c: "servers" and "trusted" -> servers_parse_with_port(); config_finish(), and
 *       config_renew_servers() later -> servers_read() of resolv.conf(5) -> struct config -> stub.c
 *
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include "client-lib/config/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SERVERS_PORT	  53
#define SERVERS_FILE_MAX  (256 * 1024) /* of resolv.conf; what is behind is not read */
#define SERVERS_LINE_MAX  512	       /* a longer line is skipped */
#define SERVERS_SCOPE_MAX 32	       /* of "%eth0"; IF_NAMESIZE is 16 */

/*
 * ADDRESS or, of a link-local one, ADDRESS%SCOPE with the name or number of an
 * interface that is there. Port SERVERS_PORT. 0.0.0.0 and :: are this machine, as
 * they are for libc. False for anything else, and for what is no unicast address.
 */
bool servers_parse(const char *text, size_t size, struct sockaddr_in6 *ret_address);

/* The same with @PORT behind it, 1 to 65535, or without. */
bool servers_parse_with_port(const char *text, size_t size, struct sockaddr_in6 *ret_address);

/* 127.0.0.0/8 or ::1. */
bool servers_is_loopback(const struct sockaddr_in6 *address);

struct servers {
	struct config_server list[CONFIG_SERVERS_MAX];
	unsigned count;
	bool trusts_ad; /* "options trust-ad" (glibc 2.31): believe all of them */
};

/*
 * "nameserver" and "options trust-ad" of the file at path, as libc reads them;
 * lines that cannot be read are skipped, as libc does. A file that is not there,
 * may not be read or is none gives no servers, and false, as does one for which there is no
 * descriptor.
 */
bool servers_read(const char *path, struct servers *ret_servers);

/*
 * Is the file at path another one, or another size or time, than *stamp says? Then *stamp says so
 * from now on. To be called before servers_read(), so that a change in between is seen later. False
 * when it is not there: what was read last still counts.
 */
bool servers_has_changed(const char *path, struct config_stamp *stamp);

#ifdef __cplusplus
}
#endif
