/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clients.h - which clients a store answers, by its list of them (an acl of rbldnsd).
 *
 * Flow: answer.c asks about each query of a zone that has such a list ->
 *       classic.c, where a client gets other answers than the rest.
 *
 * The list is in the store, as segments of origin DNSBLV6_ORIGIN_ACL; the
 * narrowest entry that holds an address was found when the store was built.
 */

#include "server/zone/zone.h"

#include <sys/socket.h>

enum clients_verdict {
	CLIENTS_PASS,
	CLIENTS_IGNORE,
	CLIENTS_REFUSE,
	CLIENTS_EMPTY,	/* is to see a zone without lists */
	CLIENTS_LISTED, /* is to see everything listed */
	CLIENTS_BROKEN, /* the store is damaged */
};

struct clients_answer {
	enum clients_verdict verdict;
	struct dnsblv6_addr addr; /* of the client */
	uint32_t set;		  /* with CLIENTS_LISTED: what everything is listed with */
};

/* The zone is begun. client may be NULL: it passes. */
struct clients_answer clients_judge(struct zone *zone, const struct sockaddr *client);
