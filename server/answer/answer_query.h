/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * answer_query.h - one query as it came from the network, for answer.h and its parts.
 *
 * Everything in it is borrowed for the time of the call.
 */

#include "lib/dns/responder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_QUERY_MAX RESPONDER_QUERY_MAX

struct answer_query {
	const uint8_t *wire;
	size_t size;
	bool is_tcp;
	uint64_t now_s;		       /* Unix time, for stores that expire */
	const struct sockaddr *client; /* NULL: one that no list knows */
	bool is_busy;		       /* there is no room for another transfer of the client */
	uint64_t now_ms;	       /* of a clock that never goes back, for limits */
	uint16_t keepalive; /* over TCP: how long a client may be silent, in units of 100 ms */
};
