/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scratch.h - one question while it is answered, and what the core needs of its surroundings.
 *
 * Flow: the message is read into wire -> question.h and find.h fill in what it asks and what is
 *       there -> reply.h makes the answer in wire, in the place of the question's OPT.
 *
 * A processor has one, far larger than the stack of BPF. What it holds of the question before is
 * still there: nothing in it may be trusted to be zero. To the verifier, all that is read from here
 * may be anything; so a place in an array is masked wherever it is used. That keeps its work small: steps
 * give to the next what is in here alone, and with XDP_FORGET() between them it looks at the second
 * once, not once for each way through the first.
 */

#include "server/xdp-kernel/layout.h"
#include "server/xdp-kernel/words.h"

#include <stddef.h>

/* What is known of scratch in registers is written there, and read again. */
#define XDP_FORGET() __asm__ volatile("" ::: "memory")

enum {
	XDP_HEADER_SIZE = 12,	  /* of a message */
	XDP_ASKED_NAME_MAX = 104, /* octets of a name that is asked for, with the root */
	XDP_ASKED_LABELS_MAX = XDP_ASKED_NAME_MAX / 2,
	XDP_QUERY_MIN = 17,
	XDP_QUERY_MAX = 192,  /* a common question is no larger */
	XDP_COOKIE_SIZE = 24, /* of a COOKIE that the server makes */

	XDP_WIRE_MASK = 2047,  /* of a place in wire; the largest answer has some 1200 bytes */
	XDP_WIRE_BEHIND = 512, /* copies run so far beyond it */
	XDP_NAME_MASK = 127,
	XDP_KEY_MASK = 63,
	XDP_LABEL_MASK = 63,
	XDP_BORDER_MASK = 31,
};

enum xdp_verdict {
	XDP_VERDICT_PASS, /* to the sockets */
	XDP_VERDICT_SEND,
	XDP_VERDICT_DROP,
};

/* What was done, for the counts. */
enum xdp_result {
	XDP_RESULT_NOERROR,
	XDP_RESULT_NODATA,
	XDP_RESULT_NXDOMAIN,
	XDP_RESULT_LIMITED, /* sent truncated, or dropped */
	XDP_RESULT_CHANGED,
};

struct xdp_found {
	bool is_name;	/* the name itself exists, with data or without */
	bool is_there;	/* it or the wildcard for it exists */
	bool is_bitmap; /* what answers has data */
	uint32_t where; /* the line of what answers, when it is there, or 0 without signatures */
	uint64_t bitmap[2]; /* of what answers, as in its record */
	uint32_t cover;	    /* the link whose NSEC speaks of the name, or XDP_NO_LINK */
	uint32_t wildcard;  /* the same of the wildcard */
};

#define XDP_NO_LINK UINT32_MAX

struct xdp_scratch {
	uint64_t is_busy; /* with another packet */
	uint8_t udp[8];	  /* the header: before the message, so that one checksum is of both */
	uint8_t wire[XDP_WIRE_MASK + 1 + XDP_WIRE_BEHIND];
	uint32_t size; /* of the message in wire */

	/* The packet. */
	uint32_t link_size; /* of what is before IP */
	uint32_t ip_size;   /* of its header */
	uint32_t message_size;
	uint32_t mtu;
	uint16_t port; /* ours, and the client's, as in the packet */
	uint16_t client_port;
	uint8_t client[16];  /* IPv4 behind ::ffff:0:0/96 */
	uint64_t address[2]; /* ours, in the same way, as in the packet */
	uint64_t now_ns;

	/* The question. */
	uint32_t name_size;
	uint32_t label_count; /* without the root */
	uint32_t end;	      /* of the question in wire */
	uint16_t qtype;
	uint16_t payload;
	bool has_edns;
	bool has_do;
	bool has_cookie;     /* the answer has one */
	bool is_cookie_good; /* of what came: ours, and of this client */
	bool is_cookie_bad;  /* it should have been */
	uint8_t cookie[XDP_COOKIE_SIZE];
	uint8_t cookie_size;		      /* 0: none */
	uint8_t offsets[XDP_LABEL_MASK + 1];  /* where each label begins, the root last */
	uint8_t name[XDP_NAME_MASK + 1 + 64]; /* lower case, a word of zeros behind */

	/* Where it belongs. */
	uint32_t zone;
	uint32_t labels_size; /* of the name, without the apex */
	bool has_number;      /* it is that of an IPv4 block */
	uint32_t number;      /* see xdp_hosts_number() */
	uint32_t relative_count;
	uint32_t key_size;
	uint64_t key[XDP_KEY_WORDS];
	uint8_t key_bytes[XDP_KEY_MASK + 1 + 64];
	uint8_t borders[XDP_BORDER_MASK + 1]; /* sizes of the keys of its parents, shortest first */

	/* What is looked up. */
	uint64_t sought[XDP_KEY_WORDS];
	uint32_t sought_size;
	uint8_t cut_bytes[XDP_KEY_MASK + 1 + 64];
	uint32_t same;	 /* bytes at the beginning of a key and the one that is asked */
	uint32_t shared; /* bytes of the key of what is above both */

	/* The answer. */
	struct xdp_found found;
	uint32_t at;	   /* where in wire the next goes */
	uint32_t doubtful; /* bytes of names that could be compressed further */
	uint32_t answer_count;
	uint32_t authority_count;
	uint32_t rcode;
	bool has_dnssec;
	bool is_truncated;
	enum xdp_result result;
	uint64_t barrier;
	uint64_t barrier_seen;
#ifndef __bpf__
	const struct xdp_native *tables;
#endif
};

/* ---- what answer.bpf.c and tests/lib/xdp_native.c have each in their own way ---- */

/* NULL when there is none of that number. */
XDP_INLINE const struct xdp_line *xdp_get_line(const struct xdp_scratch *scratch, uint32_t number);
XDP_INLINE const struct xdp_zone *xdp_get_zone(const struct xdp_scratch *scratch, uint32_t number);
/* The bucket of a network, a new one when it has none; NULL when there is no room. */
XDP_INLINE struct xdp_bucket_value *xdp_get_bucket(const struct xdp_scratch *scratch,
						   uint64_t network);
/* Calls step with 0, 1 and so on until it returns 1, count times at most. */
XDP_INLINE void xdp_loop(uint32_t count, long (*step)(uint32_t number, void *data), void *data);
/* Nothing that is read behind it is read before it. */
XDP_INLINE void xdp_barrier(struct xdp_scratch *scratch);
/* Called when an answer is made. */
XDP_INLINE void xdp_made(struct xdp_scratch *scratch);

/* ---- what more than one step asks ---- */

XDP_INLINE bool xdp_is_ipv4(const struct xdp_scratch *scratch)
{
	return xdp_load64(scratch->client) == 0 && xdp_get64(scratch->client + 8) >> 32 == 0xffff;
}
