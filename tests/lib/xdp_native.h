/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * xdp_native.h - the program in the network driver, compiled for this machine and for memory of a
 *                process.
 *
 * Flow: a test has tables as layout.h says, and a question -> xdp_native_answer() says what the
 *       program would send.
 *
 * It is the same source as in server/xdp-kernel/answer.bpf.c, from the first byte of the DNS message
 * on; what lies before it, the packet, the program alone takes apart. So tests and fuzzers can ask
 * millions of questions without the kernel, and under sanitizers. Nothing of it is in dnsblv6d.
 *
 * The tables are borrowed. Nothing here allocates or locks; each thread has its own counts and
 * buckets.
 */

#include "server/xdp-kernel/layout.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XDP_NATIVE_PASS 0    /* the question goes on to the sockets */
#define XDP_NATIVE_DROP (-1) /* nothing is sent: for the rate limit, or because a version moved */

/* A bucket of the rate limit, as the map has it. Free with network 0. */
struct xdp_native_bucket {
	uint64_t network;
	struct xdp_bucket_value value;
};

/* What the maps are. */
struct xdp_native {
	const struct xdp_config *config;
	const struct xdp_zone *zones; /* XDP_ZONES_MAX */
	const struct xdp_line *lines; /* what lies outside of them is not there */
	uint32_t line_count;
	uint32_t bucket_count;		   /* when they are all taken, networks have no limit */
	struct xdp_native_bucket *buckets; /* NULL when bucket_count is 0 */
	struct xdp_counts *counts;	   /* XDP_ZONES_MAX + 1; NULL: nothing is counted */
	/* Called when an answer is made, before changes are looked at once more; may be NULL. */
	void (*on_made)(void *data);
	void *on_made_data;
};

struct xdp_native_query {
	const uint8_t *wire;
	size_t size;
	uint8_t client[16]; /* IPv4 behind ::ffff:0:0/96 */
	uint64_t now_ns;    /* of CLOCK_MONOTONIC */
};

/*
 * Returns the size of the response in ret_wire; XDP_NATIVE_PASS, also for one that would be larger
 * than wire_max; or XDP_NATIVE_DROP. ret_wire is written on success only.
 */
long xdp_native_answer(const struct xdp_native *tables, const struct xdp_native_query *query,
		       uint8_t *ret_wire, size_t wire_max);

#ifdef __cplusplus
}
#endif
