/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * cached.h - what clients and dnsblv6-cached say to each other.
 *
 * Flow: remote.c -> a request -> integration/adapters/cached -> a reply -> remote.c
 * This file alone knows these bytes.
 *
 * The daemon's directory has two files: "socket", a UNIX socket of type SOCK_SEQPACKET, where a
 * message is a packet, whole or not at all, and "cache", a copy of its table (cache.h), of
 * which a client reads the beat. Numbers are big-endian.
 *
 *     OFFSET  SIZE  DESCRIPTION of a greeting, the first packet that a client gets
 *        0      4   "b6t1", and with it a descriptor of the table (SCM_RIGHTS), when the system
 *                   has one to send
 *
 *     OFFSET  SIZE  DESCRIPTION of a request
 *        0      4   "b6c1": the last character is the version
 *        4      4   id, chosen by the client, repeated in the reply
 *        8     16   address, in network order; IPv4 is IPv4-mapped
 *       24      4   milliseconds that the client is going to wait, 1 to 3600000
 *       28     1-   zone, in presentation form without a final dot, in any case,
 *                   at most CACHED_ZONE_MAX bytes, up to the end of the packet
 *
 *     OFFSET  SIZE  DESCRIPTION of a reply
 *        0      4   "b6r1"
 *        4      4   id of the request
 *        8      1   outcome: enum cached_outcome
 *        9      1   flags: 1 listed, 2 stale, 4 secure; only with CACHED_ANSWERED
 *       10      2   zero
 *       12      4   TTL in seconds; 0 of what a zone settles by its format, which has no end
 *
 * There is one reply to each request, in any order. A packet that cannot be read is not answered:
 * its receiver closes the connection, and so a client and a daemon of different versions part.
 * "listed" of a classic zone means any 127/8 answer but 127.255.255/24; its values are in the cache
 * and not here.
 *
 * Values are plain. No function here allocates, locks, logs or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CACHED_SOCKET	     "socket" /* below the daemon's directory */
#define CACHED_COPY	     "cache"
#define CACHED_ZONE_MAX	     255 /* a name of 255 bytes has less text than that, or escapes */
#define CACHED_REQUEST_HEAD  28
#define CACHED_REQUEST_MAX   (CACHED_REQUEST_HEAD + CACHED_ZONE_MAX)
#define CACHED_REPLY_SIZE    16
#define CACHED_GREETING	     "b6t1"
#define CACHED_GREETING_SIZE 4
#define CACHED_TIMEOUT_MAX   3600000

/* A client has no more requests open than this; the daemon reads no more of them. */
#define CACHED_OPEN_MAX 128

enum cached_outcome {
	CACHED_ANSWERED = 1, /* the zone answered */
	CACHED_FAILED = 2,   /* it did not: silent, refused, filtered, ill */
	CACHED_LATE = 3,     /* nothing is known in time; the daemon goes on asking */
	CACHED_NO_ZONE = 4,  /* the daemon does not ask this zone */
	CACHED_BUSY = 5,     /* too much to do */
};

struct cached_request {
	uint32_t id;
	struct dnsblv6_ip ip;
	uint32_t timeout_ms;
	const char *zone; /* borrowed; no NUL behind it when decoded */
	size_t zone_size;
};

struct cached_reply {
	uint32_t id;
	enum cached_outcome outcome;
	bool is_listed;
	bool is_stale;
	bool is_secure;
	uint32_t ttl_s;
};

/* Any bytes may be given. */
bool cached_is_greeting(const uint8_t *bytes, size_t size);

/* ret_bytes has CACHED_REQUEST_MAX bytes. Returns the size, or -EINVAL for a value out of range. */
int cached_encode_request(const struct cached_request *request, uint8_t *ret_bytes);
/* 0, or -EPROTO; ret_request->zone points into bytes. Any bytes may be given. */
int cached_decode_request(const uint8_t *bytes, size_t size, struct cached_request *ret_request);

/* ret_bytes has CACHED_REPLY_SIZE bytes. */
void cached_encode_reply(const struct cached_reply *reply, uint8_t *ret_bytes);
/* 0, or -EPROTO. Any bytes may be given. */
int cached_decode_reply(const uint8_t *bytes, size_t size, struct cached_reply *ret_reply);

#ifdef __cplusplus
}
#endif
