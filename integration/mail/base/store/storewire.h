/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * storewire.h - what mail-stored and its clients say to each other.
 *
 * Flow: storelink.c of a client -> a request -> clients.c of mail-stored -> a reply -> storelink.c.
 * This file alone knows these bytes.
 *
 * The socket is a UNIX socket of type SOCK_SEQPACKET: a message is a packet, whole or not at all,
 * and may come with one descriptor (SCM_RIGHTS). Numbers are big-endian.
 *
 *     OFFSET  SIZE  DESCRIPTION of a request
 *        0      4   "Msr1": the last character is the version
 *        4      1   type: enum storewire_type
 *        5      1   flags: 1 an id is given; 2 what is in memory comes with the packet; 4 the id is
 *                   that of another store; 8 LIST is of all nodes
 *        6      2   zero
 *        8      8   serial, chosen by the client, repeated in the reply
 *       16      8   number, see below
 *       24      8   size
 *       32     16   id of a mail, or zero
 *       48      8   time of a mail, microseconds of Unix time; 0: that of the daemon
 *       56      1   size of the mailbox's name
 *       57      -   the name; then, with flag 2, the memory
 *
 *     OFFSET  SIZE  DESCRIPTION of a reply
 *        0      4   "Msa1"
 *        4      1   type of the request
 *        5      3   zero
 *        8      8   serial of the request
 *       16      4   status: 0, or a negative number of lib/mailstore/status.h
 *       20      4   rows that follow, or are in memory
 *       24      8   number
 *       32     16   id of a mail, or zero
 *       48      -   rows, up to the end of the packet
 *
 *     REQUEST   NUMBER, SIZE, MEMORY                 REPLY
 *     HELLO     (none is sent)                       the first packet to a client: number has flags
 *     CHECK     size: octets that are to come        may the mailbox get them?
 *     DELIVER   memory: meta, then the text, which   id; when it is committed
 *               begins at number and has size bytes
 *     ERASE     memory: size bytes of the meta of    when it is committed
 *               a deletion
 *     MAKE_ID                                        id
 *     LIST      number: the first mail               rows of entries, STOREWIRE_LIST_MAX at most;
 *                                                    number, with flag 8: nodes that these are without
 *     BOXES     name: the mailbox before             rows of mailboxes; none: it was the last;
 *                                                    number: nodes that these are without
 *     FIND_ID   id; name: a mailbox, whose node is    number: the mail
 *               asked; none: all nodes are
 *     ROW       number: the mail                     one row of mailindex.h: where it is
 *     SEGMENT   number: the segment                  a descriptor for reading it; another record at the
 *               row's place, or -ENOENT: the mail was moved, and ROW says where it is
 *     STAT      number: STOREWIRE_STAT_OWN: of the   one row: numbers; behind it the names of nodes
 *               daemon's own store; 0: of all nodes   that these are without, with "," between
 *     COLLECT   number: percent                      number: the segment that was emptied
 *     LOCK      name; number: a node, or 0: that     -EBUSY: another connection has the lock; -ENOENT:
 *               of the mailbox                       it is no node
 *     UNLOCK                                         the connection has no lock
 *     CLUSTER   number: enum storewire_question;     rows of text; -EOPNOTSUPP: there is no cluster
 *               memory: of USERS_PUT the list,
 *     LOCATE    name: a mailbox; number: a node,     number: the node; one row of text; -ENOENT: it is none
 *               or 0: that of the mailbox
 *     LOGIN     name: a user, as it was typed;       one row of text; -EACCES: no, or not that
 *               memory: the password                 password, after a pause; -EAGAIN: too many wait;
 *                                                    -EOPNOTSUPP: the daemon has no "logins"
 *
 * Rows of text are lines "key=value key=value ...\n", a line for each thing; a value has no space,
 * but for that of "text", which is the last of its line. A node is "node=NAME host=HOST port=PORT
 * up=yes self=no", and where its store says since when it is there, "since=MICROSECONDS"; a login
 * "mailbox=NAME".
 *
 * The lock of a mailbox is exclusive among the connections that ask for it; deliveries, and deletions
 * of others, go on. A mailbox needs no mail for it. It ends with UNLOCK or with the connection, then
 * behind the commit of its last ERASE, so that the next one lists none of these mails. A connection
 * has one lock at a time: MAILSTORE_ELOCK for another one, 0 for the same again. UNLOCK while a
 * commit is waited for is -EINPROGRESS. Locks do not outlive the daemon's process of the store.
 *
 * Memory is bytes behind the name, or else a descriptor of a memfd, sealed against writing,
 * growing and shrinking, so that what was checked is what is used. Rows that are more than
 * STOREWIRE_ROWS_MAX bytes are in a memfd likewise; to a client that has replies unread there are
 * fewer rows instead. Meta is as in MAILSTORE.md part 4, with no
 * exceptions of line ends: the store finds those. An id of another store (flag 4) is taken from a
 * client that runs as root or as the daemon's user, and else refused: MAILSTORE_EFOREIGN. So are
 * questions of CLUSTER but NODES, HEALTH and USERS_STATE: -EPERM.
 *
 * A mailbox is at one node, which LIST asks. With flag 8 it asks all of them, also for what was left at another node
 * when the list of users named a new one: the numbers of one node follow those of another.
 *
 * There is one reply to each request; those to DELIVER and ERASE come when their commit does, those to
 * CHECK, MAKE_ID, CLUSTER, LOCATE and LOGIN when the daemon has them, all others in order. A packet
 * that cannot be read is not answered: its receiver closes the connection, and so a client and a daemon
 * of different versions part.
 *
 * Values are plain. No function here allocates, logs or keeps a pointer.
 */

#include "lib/mailstore/mailstore.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum storewire_type {
	STOREWIRE_HELLO,
	STOREWIRE_CHECK,
	STOREWIRE_DELIVER,
	STOREWIRE_ERASE,
	STOREWIRE_MAKE_ID,
	STOREWIRE_LIST,
	STOREWIRE_BOXES,
	STOREWIRE_FIND_ID,
	STOREWIRE_ROW,
	STOREWIRE_SEGMENT,
	STOREWIRE_STAT,
	STOREWIRE_COLLECT,
	STOREWIRE_LOCK,
	STOREWIRE_UNLOCK,
	STOREWIRE_CLUSTER,
	STOREWIRE_LOCATE,
	STOREWIRE_LOGIN,
	STOREWIRE_TYPES
};

/* Of CLUSTER. */
enum storewire_question {
	STOREWIRE_NODES,
	STOREWIRE_HEALTH,
	STOREWIRE_CLUSTER_CHECK,
	STOREWIRE_CLUSTER_CHECK_DEEP,
	STOREWIRE_REPAIR,
	STOREWIRE_USERS_PUT,
	STOREWIRE_USERS_STATE,
	STOREWIRE_QUESTIONS
};

/* Of STAT. */
#define STOREWIRE_STAT_OWN 1U

/* Of HELLO. */
#define STOREWIRE_HAS_QUOTAS 1U

#define STOREWIRE_REQUEST_HEAD 57
#define STOREWIRE_REPLY_HEAD   48
/* Memory of more bytes comes as a memfd: one costs as much as copying these. */
#define STOREWIRE_INLINE_MAX (32U << 10)
#define STOREWIRE_ROWS_MAX   (16U << 10)
#define STOREWIRE_PACKET_MAX (STOREWIRE_REQUEST_HEAD + MAILBOX_NAME_MAX + STOREWIRE_INLINE_MAX)
#define STOREWIRE_REPLY_MAX  (STOREWIRE_REPLY_HEAD + STOREWIRE_ROWS_MAX)
#define STOREWIRE_LIST_MAX   65536U
#define STOREWIRE_TEXT_MAX   (16U << 20) /* of rows of text */
#define STOREWIRE_USERS_MAX  (64U << 20) /* of a list of users */

struct storewire_request {
	uint8_t type;
	bool has_id;
	bool is_moved;	 /* the id is that of another store */
	bool is_of_all;	 /* LIST, of all nodes */
	bool has_memory; /* behind the name, borrowed from the packet when it was decoded */
	uint64_t serial;
	uint64_t number;
	uint64_t size;
	struct mailid id;
	uint64_t time_us;
	struct mailname mailbox; /* borrowed; size 0: none */
	const uint8_t *memory;
	size_t memory_size;
};

struct storewire_reply {
	uint8_t type;
	uint64_t serial;
	int status;
	uint32_t count;
	uint64_t number;
	struct mailid id;
	const uint8_t *rows; /* borrowed */
	size_t rows_size;
};

/* The head and the name, without memory: out has STOREWIRE_REQUEST_HEAD + MAILBOX_NAME_MAX bytes. */
size_t storewire_encode_request(const struct storewire_request *request, uint8_t *out);
/* 0 or -EPROTO. Any bytes may be given. */
int storewire_decode_request(const uint8_t *bytes, size_t size,
			     struct storewire_request *ret_request);

/* Without rows: out has STOREWIRE_REPLY_HEAD bytes. */
void storewire_encode_reply(const struct storewire_reply *reply, uint8_t *out);
/* 0 or -EPROTO. Any bytes may be given. */
int storewire_decode_reply(const uint8_t *bytes, size_t size, struct storewire_reply *ret_reply);

/* ---- rows ---- */

#define STOREWIRE_ENTRY_SIZE   56
#define STOREWIRE_STAT_NUMBERS 12
#define STOREWIRE_STAT_SIZE    (8 * STOREWIRE_STAT_NUMBERS)
#define STOREWIRE_BOX_MAX      (17 + MAILBOX_NAME_MAX)

void storewire_encode_entry(const struct mailentry *entry, uint8_t *out);
void storewire_decode_entry(const uint8_t *bytes, struct mailentry *ret_entry);
void storewire_encode_stat(const struct mailstore_info *info, uint8_t *out);
void storewire_decode_stat(const uint8_t *bytes, struct mailstore_info *ret_info);
/* Returns the size, at most STOREWIRE_BOX_MAX. */
size_t storewire_encode_box(struct mailname name, const struct mailcounts *counts, uint8_t *out);
/*
 * The next of rows; false at the end, and with has_failed where they are none. ret_name is borrowed,
 * and not empty.
 */
bool storewire_next_box(struct bytes_input *rows, struct mailname *ret_name,
			struct mailcounts *ret_counts);

#ifdef __cplusplus
}
#endif
