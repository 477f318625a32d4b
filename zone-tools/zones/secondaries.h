/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * secondaries.h - do the secondaries of a zone have its new version yet?
 *
 * Flow: a command has published a serial -> secondaries_wait() asks each for its SOA until it has
 *       that or a newer one, or the time is up -> the command names those that have not.
 *
 * Questions go by UDP, all at once, from sockets that are connected: only the address that was asked
 * can answer. A server's own NOTIFY and transfers do the work; this only looks on. Nothing here logs.
 */

#include "lib/format/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define SECONDARIES_MAX	   16
#define SECONDARIES_WAIT_S 30

struct secondary {
	const char *text; /* as given; borrowed */
	struct sockaddr_storage address;
	bool has_it;
	bool has_answered;
	uint32_t serial; /* of its last answer */
};

struct secondaries {
	struct secondary items[SECONDARIES_MAX];
	size_t count;
	uint64_t wait_s; /* 0: SECONDARIES_WAIT_S */
};

/* ADDRESS[@PORT] to a struct secondaries. NULL, or what is wrong. */
const char *secondaries_add(void *member, const char *argument);

/* How many have not got serial when the time is up. zone is in lower case. */
size_t secondaries_wait(struct secondaries *secondaries, const struct dnsblv6_labels *zone,
			uint32_t serial);
