/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * limits.h - how many connections, and how fast, from one prefix, as an IPv4 /24 or IPv6 /56, and
 * from the site that has it.
 *
 * Flow: accept, or a PROXY header -> limits_enter() -> a session, or 421 -> its first valid
 *       recipient -> limits_hold() -> a worker, or a wait for one -> its end -> limits_release(),
 *       limits_leave().
 *
 * A table of fixed size, in sets of LIMITS_WAYS places chosen by a hash with a secret seed. A
 * network keeps its place while it has a connection; afterwards until another needs it. When all
 * places of a set are held by connections, a network that comes there is let in without being
 * counted: with a table of four times as many places as there are sessions that takes thousands of
 * networks, none of which has many. limits_enter() says so, and a connection that is not counted
 * is neither left nor held: its network may have a place by then, with a count of others.
 *
 * An IPv6 client may have a /48 with 256 networks of /56: with prefix_ipv6_site a connection is
 * counted twice in the same table, for its network and for its site, which may have site_multiple
 * times as much. It is counted for both or for neither.
 *
 * The rate is that of a bucket that holds as many connections as may come in a minute, and fills
 * as fast: a network that was quiet may come with all of them at once.
 *
 * A connection that is held is one whose session is in the queue or a worker's. It is counted as a
 * connection all the same, so that sending mails slowly gives a network not one more.
 *
 * A handle with memory of its own. Time is a parameter that does not go back. Nothing is
 * allocated between limits_new() and limits_free().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LIMITS_WAYS 8

struct limits; /* opaque */

struct limits_rules {
	unsigned connections_max;  /* at a time; 0: any number */
	unsigned held_max;	   /* of them; 0: any number */
	unsigned rate_max;	   /* in a minute; 0: any number */
	unsigned prefix_ipv4;	   /* bits: up to 32 */
	unsigned prefix_ipv6;	   /* up to 128 */
	unsigned prefix_ipv6_site; /* up to 64; 0, or no shorter than prefix_ipv6: no sites */
	unsigned site_multiple;	   /* a site may have so many times as much; at least 1 */
};

enum limits_answer { LIMITS_FINE, LIMITS_CONNECTIONS, LIMITS_RATE };

/* place_count is rounded up to a power of two. 0 or -ENOMEM. */
int limits_new(size_t place_count, uint64_t seed, const struct limits_rules *rules,
	       struct limits **ret_limits);
/* Takes NULL. */
void limits_free(struct limits *limits);

/*
 * LIMITS_FINE: with *ret_is_counted it is counted until limits_leave() of the same address; else
 * none of the functions below is for it.
 */
enum limits_answer limits_enter(struct limits *limits, const struct dnsblv6_ip *ip, uint64_t now_ms,
				bool *ret_is_counted);
void limits_leave(struct limits *limits, const struct dnsblv6_ip *ip);
/* Would it be LIMITS_FINE? Nothing is counted. */
bool limits_may_enter(const struct limits *limits, const struct dnsblv6_ip *ip, uint64_t now_ms);
/* A number that all addresses of a network share, and those of no other. */
uint64_t limits_network(const struct limits *limits, const struct dnsblv6_ip *ip);

/*
 * For a connection that limits_enter() has counted. true: it is held until limits_release() of the
 * same address, which comes before limits_leave(). false: its network or site has all it may have.
 */
bool limits_hold(struct limits *limits, const struct dnsblv6_ip *ip);
void limits_release(struct limits *limits, const struct dnsblv6_ip *ip);
/* How many of its network are held. */
unsigned limits_held(const struct limits *limits, const struct dnsblv6_ip *ip);
/* What limits_hold() would say. */
bool limits_may_hold(const struct limits *limits, const struct dnsblv6_ip *ip);

#ifdef __cplusplus
}
#endif
