/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_store.h - the one connection to the store process, which all sessions of LMTP share.
 *
 * Flow: lmtp_client.c has a request -> lmtp_store_ask() -> storelink.h -> the store process ->
 *       answer() of the request, by its serial.
 *
 * One connection with many requests under way lets one commit of the store take the mails of many
 * sessions. Requests are sent when the loop has dealt with all that has happened; when the socket is
 * full they wait until it is not. There are never more than there are sessions.
 *
 * A request that has no reply for LMTP_STORE_LIMIT_MS ends the connection, so that a late one finds no
 * session that has been told otherwise. With nodes the links of noderouter.h have limits of their own.
 *
 * When the connection ends each request under way is answered with an error, whether it was sent or
 * not, and another connection is made: at once, then later and later, up to some seconds. Meanwhile
 * change() has said that there is none, and nothing is to be asked.
 *
 * In the memory of its owner, for one thread. lmtp_store_close() ends it; its handles are closed when
 * the loop has run once more.
 */

#include "integration/mail/base/store/storelink.h"

#include <sys/queue.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Longer than a mail waits in the store or for a node, by default, and shorter than the five minutes that a
 * mail server waits for the reply to RCPT (RFC 5321, 4.5.3.2).
 */
#define LMTP_STORE_LIMIT_MS 240000

struct lmtp_nodes;

/* A request under way, in the memory of its session. */
struct lmtp_ask {
	TAILQ_ENTRY(lmtp_ask) link;
	struct storewire_request *request; /* borrowed until it is answered, as is the next */
	const struct storelink_memory *memory;
	/* Never called by lmtp_store_ask(). status is the store's, or -errno of the connection. */
	void (*answer)(struct lmtp_ask *ask, int status, const struct mailid *id);
	void *owner;
	uint64_t since_ms; /* lmtp_store.c's own */
	/* Of the reply, borrowed while it is answered: the fates of mailboxes, where they differ. */
	const uint8_t *rows;
	uint32_t row_count;
	/* lmtp_nodes.c's own: the answer until the loop waits, with rows of its own. */
	struct lmtp_nodes *nodes;
	int status;
	struct mailid id;
	uint8_t *fates;
};

TAILQ_HEAD(lmtp_asks, lmtp_ask);

/* There is a connection from now on, or none; also when the first attempt has failed. */
typedef void (*lmtp_store_fn)(void *owner, bool has_store, bool has_quotas);

struct lmtp_store {
	lmtp_store_fn change;
	void *owner;
	const char *path;
	uv_loop_t *loop;
	struct storelink link;
	uv_poll_t *poll; /* of link, with memory of its own: it is closed with each connection */
	uv_prepare_t prepare;
	uv_timer_t timer; /* for the next attempt to connect, for the greeting, then for replies */
	struct lmtp_asks unsent;
	/* In the order in which they are answered, each kind for itself. */
	struct lmtp_asks checks;
	struct lmtp_asks mails;
	struct lmtp_nodes *nodes; /* borrowed; NULL: all goes by the connection */
	unsigned pause_ms;
	unsigned limit_ms; /* of a request */
	bool is_greeted;
	bool is_full;	/* the socket takes no more now */
	bool is_missed; /* it has been said that there is none */
};

/* Begins to connect. path is borrowed until the end. 0 or a negative error. */
int lmtp_store_open(struct lmtp_store *ret_store, uv_loop_t *loop, const char *path,
		    lmtp_store_fn change, void *owner);
/* From now on requests go to the nodes of their mailboxes, and there is no connection. */
void lmtp_store_use_nodes(struct lmtp_store *store, struct lmtp_nodes *nodes);
/* Only while there is a connection, as change() has said. */
void lmtp_store_ask(struct lmtp_store *store, struct lmtp_ask *ask);
/* Requests under way are forgotten. */
void lmtp_store_close(struct lmtp_store *store);

#ifdef __cplusplus
}
#endif
