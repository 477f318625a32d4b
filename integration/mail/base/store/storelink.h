/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * storelink.h - a client's connection to mail-stored: requests and replies; and what the daemon does at its end.
 *
 * Flow: sink_store.c of smtp-front, the LMTP process of mail-stored, remote.c of mail-store -> here
 *       -> storewire.h, packet.h.
 *
 *     struct storelink link;
 *     int ret = storelink_open("/run/mail-stored/socket", 5000, &link);
 *     if (ret == 0)
 *             ret = storelink_call(&link, &request, NULL, 5000, &reply, &fd);
 *     storelink_close(&link);
 *
 * storelink_call() waits, for one request at a time. A program with a loop begins, sends and takes by
 * itself: replies may come in another order than requests, and are told apart by their serial. A
 * connection on which anything but -EAGAIN or a refusal happened is of no use any more.
 */

#include "integration/mail/base/store/storewire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Descriptor and buffer of one connection. */
struct storelink {
	int fd; /* -1: none */
	uint64_t serial;
	bool has_quotas; /* some mailbox has one: CHECK is worth asking */
	uint8_t bytes[STOREWIRE_REPLY_MAX];
};

/* What is sent beside a request: a memfd, or bytes in parts when they are few. */
struct storelink_memory {
	int fd; /* -1: the parts */
	const struct iovec *parts;
	size_t part_count; /* at most 3 */
};

/* 0 or -errno; a daemon that does not greet in time is -ETIMEDOUT. */
int storelink_open(const char *path, int timeout_ms, struct storelink *ret_link);
/*
 * Its two halves, for a program with a loop: neither waits. Of the first -EAGAIN means that too many
 * wait for the daemon, and there is no connection; of the second that the greeting has not come.
 */
int storelink_begin(const char *path, struct storelink *ret_link);
int storelink_greet(struct storelink *link);
/* Takes one that is closed. */
void storelink_close(struct storelink *link);

/* The serial is given here. 0, -EAGAIN when the socket is full, or -errno. memory may be NULL. */
int storelink_send(struct storelink *link, struct storewire_request *request,
		   const struct storelink_memory *memory);
/*
 * The next reply, whose rows are borrowed until the next call. 0, -EAGAIN, -ECONNRESET, or another
 * -errno. *ret_fd is the caller's, or -1.
 */
int storelink_take(struct storelink *link, struct storewire_reply *ret_reply, int *ret_fd);

/*
 * Both, with a deadline. 0 with the reply, whose status is the store's word, or -errno; what was
 * asked for may happen all the same then. ret_fd may be NULL where no descriptor is to come.
 */
int storelink_call(struct storelink *link, struct storewire_request *request,
		   const struct storelink_memory *memory, int timeout_ms,
		   struct storewire_reply *ret_reply, int *ret_fd);

/* ---- the daemon's end ---- */

/* A reply, with a descriptor that is the caller's or -1. 0 or -errno. */
int storelink_answer(int socket_fd, const struct storewire_reply *reply, int fd);
/*
 * Are there replies that the client has not read? One that comes in memory is small in the socket, which so
 * would hold a gigabyte of them for a client that asks and does not read.
 */
bool storelink_has_unread(int socket_fd);
/* Does the client run as root, or as this process does? */
bool storelink_is_own(int socket_fd);

#ifdef __cplusplus
}
#endif
