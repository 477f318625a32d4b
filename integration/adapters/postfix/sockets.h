/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sockets.h - where dnsblv6-policy listens.
 *
 * Flow: policy_setup.h has the places -> main.c opens them as root -> privileges away -> peers.c
 *       takes connections.
 *
 * A directory such as /var/spool/postfix/private is Postfix' alone, so that its sockets are
 * made before the daemon changes its user. No process can connect to one before it has its
 * owner, group and mode.
 */

#include "integration/adapters/postfix/policy_setup.h"

struct sockets {
	int fds[SETUP_PLACES_MAX];
	unsigned count;
};

/*
 * Sockets for all places of setup, in their order. What a daemon that was killed has left is
 * replaced; one that a process listens to is not. 0 with *ret_sockets, or -errno with *ret_place,
 * the one that it is about: -EEXIST when another file is in the way, -EADDRINUSE.
 */
int sockets_open(const struct policy_setup *setup, struct sockets *ret_sockets,
		 const struct place **ret_place);
/* Also removes them from the file system, as far as the daemon still may. */
void sockets_close(const struct policy_setup *setup, struct sockets *sockets);
