/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * maildrop.h - a mailbox of the store as a session sees it: locked, and as it was when it was opened.
 *
 * Flow: popvisit.c -> maildrop_open(): the lock, the list of mails -> pop3_dialogue.h works on .drop;
 *       popretrieve.c reads mails -> maildrop_update() at QUIT -> maildrop_close().
 *
 * RFC 1939, part 4, wants an exclusive lock: mail-stored has it, and it ends with the connection, so
 * that a killed worker leaves none. Mails that are delivered meanwhile are not seen; one that
 * mail-store removes meanwhile can be retrieved as long as another mailbox has it, and is said to be
 * gone else. Unique ids are the mails' own (lib/mailstore/mailid.h): the same in every mailbox and on
 * every store that the mail is moved to.
 *
 * A handle with memory of its own, used for all sessions of a worker, one after another. It keeps its
 * connection to the store, and makes another when that has ended. Nothing here logs.
 */

#include "lib/mailstore/maillayer.h"
#include "lib/pop3/pop3_maildrop.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILDROP_SEGMENTS 8

/* One that is open for reading: it can be read also when the store has emptied it. */
struct maildrop_segment {
	uint64_t number;
	int fd; /* -1: none */
};

struct maildrop {
	struct pop3_maildrop drop; /* of the mailbox that is open */
	int timeout_ms;		   /* for an answer of the store; a minute at first */
	/* The rest is maildrop.c's own. */
	const char *socket_path;
	struct maillayer *layer; /* NULL: not connected */
	bool is_locked;
	struct pop3_message *messages;
	uint64_t *mails; /* their numbers */
	size_t room;
	char mailbox[MAILBOX_NAME_MAX + 1];
	struct maildrop_segment segments[MAILDROP_SEGMENTS];
};

/* Opens nothing; socket_path is borrowed. */
void maildrop_init(const char *socket_path, struct maildrop *ret_maildrop);
void maildrop_deinit(struct maildrop *maildrop);

/*
 * The mails of a mailbox, the oldest first, messages_max of them at most. 0; -EBUSY when another
 * session has it; or another status of lib/mailstore or -errno: the store is not there.
 */
int maildrop_open(struct maildrop *maildrop, const char *mailbox, size_t messages_max);
/*
 * Where a mail is: its body is at *ret_at of *ret_fd, which is borrowed until the next call. 0;
 * DNSBLV6_ENOTFOUND when it has been removed; or another status.
 */
int maildrop_find(struct maildrop *maildrop, size_t index, struct mailrecord *ret_record,
		  uint64_t *ret_at, int *ret_fd);
/* Deletes what the session has deleted, all or nothing, in one commit. 0 or a status. */
int maildrop_update(struct maildrop *maildrop);
/* Takes one that is not open. */
void maildrop_close(struct maildrop *maildrop);

#ifdef __cplusplus
}
#endif
