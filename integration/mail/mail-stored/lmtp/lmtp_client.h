/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_client.h - mail servers that are connected: sockets around sessions.
 *
 * Flow: doors.h has a client -> lmtp_clients_take() -> lmtp_session.h with the bytes that come ->
 *       lmtp_store.h with its requests -> the socket.
 *
 * A client whose session waits for the store is not read, and has no deadline of its own: there will be
 * an answer, or the connection to the store ends, within LMTP_STORE_LIMIT_MS. All others have
 * setup->lmtp_timeout_ms from one event to the next. An object is freed in the close callback of its only
 * handle.
 */

#include "integration/mail/mail-stored/lmtp/lmtp_session.h"
#include "integration/mail/mail-stored/lmtp/lmtp_store.h"

struct lmtp_client;

TAILQ_HEAD(lmtp_client_list, lmtp_client);

struct lmtp_clients {
	uv_loop_t *loop;
	struct lmtp_world *world;
	struct lmtp_store *store;
	unsigned client_max;
	unsigned timeout_ms;
	uint64_t next_id;
	/* The one that was heard of last is the last. */
	struct lmtp_client_list list;
	unsigned count;
	uv_timer_t timer;
	/* The last one has gone, and the world is ending. */
	void (*end)(void *owner);
	void *owner;
};

/* The members above timer and those behind it are the caller's to set. */
void lmtp_clients_open(struct lmtp_clients *clients);
/* fd is handed over. One too many hears 421. */
void lmtp_clients_take(struct lmtp_clients *clients, int fd, const struct sockaddr *peer);
/* world->is_ending was set: those between mails end. */
void lmtp_clients_drain(struct lmtp_clients *clients);
/* All end now, also those whose mails the store has; lmtp_store_close() comes before. */
void lmtp_clients_close(struct lmtp_clients *clients);
