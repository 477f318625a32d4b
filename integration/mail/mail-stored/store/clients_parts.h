/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clients_parts.h - what the files of clients.h share: a connection, and the ways to answer it.
 *
 * Flow: clients.c reads a packet -> take() of the way -> client_say(), client_settle() of clients.c.
 *
 *     WAY               REQUESTS                    A DELIVERY IS ANSWERED
 *     clients_commit.c  at once, in the loop        when commit.h says that it is on disk
 *     clients_jobs.c    in threads, by jobs.h; the  when the layer has returned
 *                       layer is the client's own
 *     nodeclients.c     at nodes, by nodework.h     when the nodes have answered
 *
 * A client ends so: clients.c closes it, which cancel() hears; when nothing of it is under way any more
 * end() frees what the way keeps of it and says client_is_ended(); then its memory goes.
 */

#include "integration/mail/base/store/storelink.h"
#include "integration/mail/mail-stored/boxes/boxlocks.h"
#include "integration/mail/mail-stored/login/logins.h"
#include "integration/mail/mail-stored/store/clients_start.h"
#include "integration/mail/mail-stored/store/commit.h"
#include "integration/mail/mail-stored/store/jobs.h"
#include "lib/process/doors.h"
#include "lib/process/packet.h"

struct client {
	LIST_ENTRY(client) link;
	struct clients *clients;
	uv_poll_t poll;
	int fd;
	bool is_read; /* the loop tells when it says something */
	bool is_own;  /* see requests.h */
	bool is_closed;
	bool is_ending;	       /* end() was called */
	bool is_ended;	       /* and has done its work */
	bool is_gone;	       /* the descriptor is closed */
	unsigned open_count;   /* requests that have no reply yet */
	unsigned change_count; /* of them, those that change mailboxes */
	bool is_held;	       /* it is read when one of them is answered, and not before */
	/* Of clients_commit.c. */
	struct boxlock lock;
	/* Of clients_jobs.c. */
	struct jobs_owner owner;
	struct maillayer *layer; /* NULL: nothing was asked for yet */
	bool has_lock;
	unsigned locks_asked; /* LOCKs that have no reply yet */
};

struct clients_way {
	size_t client_size;		      /* of what begins with a client */
	int (*open)(struct clients *clients); /* may be NULL, as the others of clients */
	/* One packet; it closes what is left in it. */
	void (*take)(struct client *client, const struct storewire_request *request,
		     struct packet *packet);
	/* What is not under way yet will not be; may be NULL. */
	void (*cancel)(struct client *client);
	void (*end)(struct client *client);
	/* No request comes any more: what can be answered now is. */
	void (*finish)(struct clients *clients);
	void (*close)(struct clients *clients);
	void (*free)(struct clients *clients);
};

struct clients {
	struct clients_start start;
	struct doors *doors;
	struct logins *logins; /* NULL: none */
	uv_loop_t *loop;
	LIST_HEAD(client_list, client) list;
	unsigned count;
	bool is_closed;
	/* Of clients_commit.c. */
	struct commit *commit;
	struct boxlocks locks;
	/* Of clients_jobs.c. */
	struct jobs jobs;
	uint8_t bytes[STOREWIRE_PACKET_MAX]; /* the packet that is read */
};

/* ---- what clients.c does for the ways ---- */

void client_say(struct client *client, const struct storewire_reply *reply, int fd);
void client_refuse(struct client *client, const struct storewire_request *request, int status);
/* What it has done is committed with the rest; its replies go nowhere. */
void client_cut_off(struct client *client);
/* Behind the last use of a request: it may be read again, or its memory may go. */
void client_settle(struct client *client);
void client_is_ended(struct client *client);
/* The store is of no use any more. */
void clients_fail(struct clients *clients, int status);
