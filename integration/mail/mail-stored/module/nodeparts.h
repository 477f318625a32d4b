/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeparts.h - the requests to nodes that one request of a client becomes.
 *
 * Flow: nodework.c, nodedeliver.c, nodeerase.c -> nodeparts_make(), nodeparts_ask() -> noderouter.h ->
 *       finish() of the work, when all have been answered.
 *
 * For these files alone.
 */

#include "integration/mail/mail-stored/module/nodework.h"

#define NODEPARTS_ROWS_MAX (8U << 20)

/* What one node is asked, and its answer. */
struct nodepart {
	struct nodework *work;
	struct nodeask ask;
	uint8_t *prefix;	      /* owned: memory of the request that is this part's own */
	int status;		      /* the node's, or why there is none */
	struct storewire_reply reply; /* without rows */
	uint8_t *rows;		      /* owned */
	size_t rows_size;
	int fd; /* owned; -1: none */
};

struct nodework {
	struct nodework_start start;
	struct storewire_request request; /* its memory is below */
	uint64_t serial;		  /* the client's */
	uint8_t name[MAILBOX_NAME_MAX];
	bool has_memory;
	struct nodewire_memory memory;
	uint8_t *copy; /* of few bytes */
	struct nodepart *parts;
	unsigned part_count;
	unsigned left;
	void (*finish)(struct nodework *work);
	/* ---- nodework.c ---- */
	bool is_first_lock;
	bool lists_all;
	bool is_answered;
	/* ---- nodedeliver.c ---- */
	uint8_t *meta;		/* of the mail, or of the deletion */
	struct mailname *names; /* borrowed from it */
	uint8_t *nodes;		/* of each name: the place of its peer */
	unsigned name_count;
	/* ---- nodeerase.c, and the step of nodedeliver.c ---- */
	unsigned step;
	struct mailid *ids;
	unsigned id_count;
	unsigned copy_count; /* of these ids, copies that were found */
	unsigned node;	     /* the peer's place that has the mails */
	uint64_t list_from;  /* of the list's next piece; 0: this was the last */
};

/* NULL: there is no memory. Those of before are freed. */
struct nodepart *nodeparts_make(struct nodework *work, unsigned count);
/* All of them; answers come from the loop. */
void nodeparts_ask(struct nodework *work);
/* The work, and all that it owns. */
void nodeparts_free(struct nodework *work);
/*
 * Does the client have the lock of that mailbox? Then it is about the node where it has it, also when the database
 * of users says another one by now.
 */
bool nodeparts_is_locked(const struct nodework *work, struct mailname mailbox);
/* size bytes of the work's memory, from its beginning, into new memory. 0, -errno or MAILSTORE_EUNSEALED. */
int nodeparts_read_memory(const struct nodework *work, uint64_t size, uint8_t **ret_bytes);
