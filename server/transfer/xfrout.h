/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * xfrout.h - RRs into DNS messages into a TCP connection, as fast as it takes them.
 *
 * Flow: transfer.c puts RRs -> messages, compressed and signed -> the socket.
 *
 * One message is in memory at a time, whatever the size of the zone. Every
 * message has the question, so that the apex, which ends every owner name, is
 * at one place; owners are compressed against the owner before them, with
 * which they share most in the order of the store, as far as readers follow
 * pointers to names that end in one. Names inside RDATA are left whole: nearly
 * all are of types that must not be compressed (RFC 3597).
 */

#include "server/transfer/transfer_request.h"

#include "lib/format/record.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XFROUT_LENGTH_SIZE  2 /* RFC 1035 section 4.2.2 */
#define XFROUT_MESSAGE_MAX  65535
#define XFROUT_LABELS_COUNT 128 /* RFC 1035: 255 octets hold no more */

/* An owner name in the message, and where each of its labels is; 0: where no pointer reaches. */
struct xfrout_owner {
	struct dnsblv6_labels name;
	unsigned label_count;
	uint8_t starts[XFROUT_LABELS_COUNT];
	uint16_t offsets[XFROUT_LABELS_COUNT];
	uint8_t pointers[XFROUT_LABELS_COUNT]; /* between each and the end of the name */
};

struct xfrout {
	const struct transfer *transfer;
	int fd;
	uint64_t deadline_ms; /* of the monotonic clock */
	unsigned idle_ms;
	struct tsig tsig;
	struct xfrout_owner owner; /* of the last RR in this message */
	size_t size;		   /* of the message so far */
	size_t room;		   /* bytes that RRs may fill it to */
	unsigned rr_count;	   /* in this message */
	uint64_t rrs;		   /* so far */
	uint64_t messages;
	uint64_t bytes;
	uint8_t buffer[XFROUT_LENGTH_SIZE + XFROUT_MESSAGE_MAX];
};

/* transfer is borrowed; so is fd, which is connected and non-blocking. */
void xfrout_init(struct xfrout *xfrout, const struct transfer *transfer,
		 const struct transfer_limits *limits, int fd);

/*
 * owner is relative to the apex. 0, -errno of the connection, -ETIMEDOUT when
 * the client took nothing for too long or everything for too long,
 * DNSBLV6_ESPACE for an RR that fits no message.
 */
int xfrout_put(struct xfrout *xfrout, const struct dnsblv6_labels *owner,
	       const struct dnsblv6_rr *rr);
/* Writes what is left. The connection stays open. */
int xfrout_flush(struct xfrout *xfrout);
/* An empty response with SERVFAIL instead of a transfer. */
int xfrout_refuse(struct xfrout *xfrout);

#ifdef __cplusplus
}
#endif
