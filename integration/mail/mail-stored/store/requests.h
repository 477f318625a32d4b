/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * requests.h - what a client asks for, done: requests of storewire.h on a layer.
 *
 * Flow: clients.c has a packet -> requests_take() -> the layer -> a reply, at once or, of what was
 *       appended, when commit.h says that it is on disk.
 *
 * No sockets here. What a client sends is foreign: sizes are those of the memory itself, and memory
 * that could still change is refused.
 */

#include "integration/mail/base/store/storewire.h"
#include "integration/mail/mail-stored/store/questions.h"
#include "integration/mail/mail-stored/boxes/quota.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of the process: buffers, and what is asked. */
struct requests {
	struct maillayer *layer; /* borrowed, as the next two */
	const struct quota *quota;
	struct questions *questions; /* NULL: none */
	uint64_t *counters;
	uint64_t size_max;     /* of a mail */
	const char *directory; /* of the store */
	uint64_t reserve; /* of its file system, which mails leave free for index and deletions */
	uint8_t *rows;
	size_t rows_size;
	size_t rows_room;
	/* Of the next request: only as many rows as go into the reply itself, and not into memory. */
	bool is_brief;
	/* The client runs as root or as this process: it may give ids of other stores, and look after the cluster. */
	bool is_own;
};

/* 0 or -ENOMEM. requests_deinit() in any case. */
int requests_init(struct requests *ret_requests, struct maillayer *layer, const struct quota *quota,
		  const struct stored_setup *setup, uint64_t *counters);
void requests_deinit(struct requests *requests);
/* For another thread: what is asked is the same, buffers and counters are not. */
void requests_copy(const struct requests *requests, uint64_t *counters,
		   struct requests *ret_requests);

struct requests_answer {
	struct storewire_reply reply; /* its rows are borrowed until the next request */
	int fd;			      /* goes with it, to be closed; -1: none */
	bool waits; /* for a commit; the reply is then what is said if it succeeds */
};

/* fd came with the request, or is -1; it stays the caller's. time_us is that of now. */
void requests_take(struct requests *requests, const struct storewire_request *request, int fd,
		   uint64_t time_us, struct requests_answer *ret_answer);

#ifdef __cplusplus
}
#endif
