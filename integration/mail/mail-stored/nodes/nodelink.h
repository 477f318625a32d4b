/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodelink.h - one connection to a store: of this node by its UNIX socket, of another one by TLS.
 *
 * Flow: noderouter.c has a request, nodeserver.c a reply -> nodelink_ask(), nodelink_answer() -> packet.h,
 *       or nodewire.h over nodetls.h -> message() of the owner.
 *
 * All are the same to their owner: there is one request at a time, and memory goes with it, as a
 * descriptor where it stays on this machine. A link is made, becomes ready, takes requests, and is lost
 * or closed. One to another node is ready when the other side has shown the key that is pinned for it.
 *
 * A link has memory of its own, which the loop frees behind nodelink_close(), or behind lost(). Nothing
 * waits, and nothing is logged.
 */

#include "integration/mail/base/store/storelink.h"
#include "integration/mail/mail-stored/nodes/nodetls.h"
#include "integration/mail/mail-stored/nodes/nodewire.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nodelink; /* opaque */

/* A message: of a server's link a request, else a reply. All is borrowed. */
struct nodelink_message {
	const uint8_t *packet;
	size_t packet_size;	       /* 0: is this side there? */
	struct nodewire_memory memory; /* its descriptor may be taken, with -1 written here */
	/* Of a descriptor that came over TLS and is taken: to be given back to the room. */
	uint64_t room_size;
	int dropped; /* 0, or why there is none of its memory: -ENOSPC, -EFBIG */
};

struct nodelink_rules {
	void (*ready)(void *owner, struct nodelink *link);
	void (*message)(void *owner, struct nodelink *link, struct nodelink_message *message);
	/* It is closed. status says why: -ECONNRESET, -ETIMEDOUT, a TLS_ one ... */
	void (*lost)(void *owner, struct nodelink *link, int status);
};

/* Of such a status. Static, or strerror()'s. */
const char *nodelink_strerror(int status);

struct nodelink_start {
	uv_loop_t *loop;
	const struct nodelink_rules *rules; /* borrowed, as the rest */
	void *owner;
	/* For TLS. */
	struct nodetls *tls;
	const struct nodesetup *setup;
	struct nodewire_room *room;
	uint64_t memory_max; /* of one message */
};

/* 0, or -errno with nothing made. ready() or lost() comes from the loop, within "silence" over TLS. */
int nodelink_open_local(const struct nodelink_start *start, const char *path,
			struct nodelink **ret_link);
int nodelink_open_peer(const struct nodelink_start *start, const struct nodesetup_peer *peer,
		       struct nodelink **ret_link);
/*
 * fd is handed over, also when it fails. Any peer of the setup may be there. A message that has begun to come
 * and goes not on for "timeout" of the setup, or is not whole in twice of it, loses the link with -EPROTO.
 */
int nodelink_open_server(const struct nodelink_start *start, int fd, struct nodelink **ret_link);

/*
 * Of one that is ready. The packet's flag of memory is set here, and to the local store its serial; memory may
 * be NULL, and all of it but its descriptor is copied: that is duplicated. 0, or -errno: the link is of no use
 * any more, and the owner closes it.
 */
int nodelink_ask(struct nodelink *link, struct storewire_request *request,
		 const struct nodewire_memory *memory);
/* Packet and rows as storewire.h has them. */
int nodelink_answer(struct nodelink *link, const struct storewire_reply *reply,
		    const struct nodewire_memory *memory);
/* An empty packet. */
int nodelink_ping(struct nodelink *link);

/*
 * Without an answer in time it is lost with -ETIMEDOUT; 0: it has all the time there is. Over TLS it begins anew
 * with each byte that comes, and when it is over and began with much still to be sent, to twice of it in all; and once
 * when the loop has stood still.
 */
void nodelink_limit(struct nodelink *link, unsigned timeout_ms);
/* Is that time just over, or nearly? The other side may be the first to close it then. */
bool nodelink_is_due(const struct nodelink *link);
/* Of one over TLS: is something still to be written? */
bool nodelink_is_sending(const struct nodelink *link);
/* Of one over TLS that is ready: the node at its other end. */
const struct nodesetup_peer *nodelink_peer(const struct nodelink *link);
/* Of the store's greeting. */
bool nodelink_has_quotas(const struct nodelink *link);
/* lost() does not come any more. Takes NULL. */
void nodelink_close(struct nodelink *link);

#ifdef __cplusplus
}
#endif
