/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popretrieve.h - a mail on its way from a segment of the store to the client.
 *
 * Flow: popvisit.c has an answer to RETR or TOP -> maildrop_find() -> here -> stream.h, or the
 *       client's socket itself.
 *
 * The store has mails as POP3 sends them. A small one is read, compared with its sum and sent with
 * the reply. A large one goes from the file to the socket, by sendfile(2), and is read for its sum
 * while the client is waited for; the line that ends it is sent when the sum was right. So a client
 * never has a damaged mail that looks whole: without that line it has none, and deletes none.
 *
 * Nothing here allocates or logs.
 */

#include "integration/mail/base/worker/stream.h"
#include "lib/mailstore/mailrecord.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to here a mail is small. */
#define POPRETRIEVE_SMALL_MAX 65536

/* Where a mail is; a plain value. */
struct popretrieve {
	int fd; /* of the segment; borrowed */
	uint64_t at;
	uint64_t size; /* of the body, without the line that ends it */
	uint32_t crc;
	int64_t send_timeout_ms; /* in which the client takes at least a byte */
	int64_t end_ms; /* by stream_deadline(), when all of it has to be taken; 0: at any time */
};

/*
 * Reads a small mail into bytes, which has POPRETRIEVE_SMALL_MAX. 0, MAILSTORE_EDAMAGED, or -errno:
 * then nothing has been said of it, and it can be refused.
 */
int popretrieve_read(const struct popretrieve *mail, uint8_t *bytes);

/*
 * Sends a large mail, without the line that ends it, behind what was put into the stream. 0; or
 * -ETIMEDOUT, MAILSTORE_EDAMAGED, or -errno: the connection is of no use any more. room has
 * POPRETRIEVE_SMALL_MAX bytes and is used.
 */
int popretrieve_send(const struct popretrieve *mail, struct stream *stream, uint8_t *room);

/*
 * Puts the header and so many lines of the body of a mail, without the line that ends the answer.
 * The same results; the sum is looked at when all of the mail was read.
 */
int popretrieve_top(const struct popretrieve *mail, uint64_t line_count, struct stream *stream,
		    uint8_t *room);

#ifdef __cplusplus
}
#endif
