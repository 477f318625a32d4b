/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailcluster.h - mailboxes on several machines: any of them takes and gives the mail of all.
 *
 * Flow: mail-stored of each machine -> mailcluster_layer(), one for each client -> maillayer.h ->
 *       here -> objects.h.
 *
 *     "store"        bytes: name and key of the store, as in MAILSTORE.md part 2; made by the first
 *     "nodes"        a row for each machine, and one for each slot; what they say changes with each beat
 *     "b.NUMBER"     a mail: bytes are a record of MAILSTORE.md part 4 (type mail), "x.MAILBOX" are
 *                    its mailboxes that have it still, "owner" is what decides about it
 *     "x.MAILBOX"    a mailbox: rows "m.NUMBER" are its mails, "t.NUMBER" are mails that it had,
 *                    "lock" says which session has it for itself
 *     "d.0" ... "d.f" rows are the names of mailboxes, by a hash of the name
 *     "j.NODE.N"     the journal of a machine: rows are mails whose delivery is under way
 *     "i.ID"         the number of a mail that came with the id of another store
 *     "u", "u.N"     the users' database: version and digest; its bytes
 *
 * NUMBER is 16 hexadecimal digits: microseconds of Unix time, shifted by 10 bits, and the slot of the
 * machine that made it. It never comes twice, whatever the clock does. The id of a mail (mailid.h)
 * is made of its number, so that a mail is found by either.
 *
 * A delivery: (1) the journal's row and the mail, at the same time, and the names of mailboxes that
 * are new; (2) a row in each mailbox, guarded by there being no "t" row; then it is acknowledged, and
 * some time later the journal's row goes. What failed is taken back: the mail's owner says that it is
 * refused, then there are "t" rows, then bytes and mailboxes go. What a process that died has left is
 * rolled forward by its next incarnation, or by another machine: the owner says first that it is kept.
 * Of these two words one alone is ever said. A deletion: "m" row out, "t" row in, one write for each
 * mailbox: that is its commit. Then the mail's own row of the mailbox goes, and with the last of them
 * the mail. "t" rows and refusals keep away what was written late; they go after a day.
 *
 * A lock names machine, incarnation and session. It is void when the machine has another
 * incarnation, or its beat was seen not to change for MAILCLUSTER_DEAD_BEATS of our own: no clocks
 * are compared. A deletion by the session that has the lock is guarded by the lock's row: one that
 * has lost it deletes nothing (MAILSTORE_ELOST_LOCK).
 *
 * A handle may be used by any number of threads; it has one mutex, and waits for the network without
 * it. A layer belongs to one client: its functions one at a time, but for deliver, erase without a
 * lock, and make_id. Nothing here reads a clock, logs, forks or starts a thread: time comes with
 * mailcluster_beat().
 */

#include "lib/mailcluster/objects.h"
#include "lib/mailstore/maillayer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILCLUSTER_NODE_MAX   63
#define MAILCLUSTER_NODES_MAX  1024 /* slots */
#define MAILCLUSTER_BEAT_MS    1000
#define MAILCLUSTER_DEAD_BEATS 10

struct mailcluster;

struct mailcluster_setup {
	struct objects *objects; /* handed over, also when opening fails */
	const char *node;	 /* 1 to MAILCLUSTER_NODE_MAX of a-z, 0-9 and "-"; copied */
	uint64_t memory_max;	 /* bytes of mails that are being written at a time; more wait */
	uint64_t time_us;	 /* now */
	uint8_t incarnation[8];	 /* random */
};

/*
 * Makes the store when there is none, and takes the node's slot. 0, a status of status.h, or -errno.
 * Two machines of one name: the one that came first finds that out at its next beat, and
 * mailcluster_beat() is MAILSTORE_EFAILED.
 */
int mailcluster_open(const struct mailcluster_setup *setup, struct mailcluster **ret_cluster);
/* When no layer and no call is left. Takes NULL. */
void mailcluster_close(struct mailcluster *cluster);

/*
 * What one client has: its lock ends with it. erase() with the lock is guarded by it. A mail is a
 * segment of its own, whose number is the mail's: open() gives its record in memory (a memfd). Numbers
 * go by the clocks of machines: a mail may come into a mailbox before others that are there. deliver()
 * with an id whose delivery was refused is -ESTALE. describe() says what this process has done.
 * 0 or -ENOMEM.
 */
int mailcluster_layer(struct mailcluster *cluster, struct maillayer **ret_layer);

/* ---- in time: each by one thread that does nothing else ---- */

/* Once a MAILCLUSTER_BEAT_MS. Writes the node's row and reads those of the others. */
int mailcluster_beat(struct mailcluster *cluster, uint64_t time_us);

struct mailcluster_swept {
	uint64_t completed; /* deliveries rolled forward */
	uint64_t undone;    /* taken back */
};
/* The journals: one's own of an incarnation before, what failed here, those of machines that are dead. */
int mailcluster_sweep(struct mailcluster *cluster, struct mailcluster_swept *ret_swept);

/* ---- looking after all of it ---- */

struct mailcluster_found {
	uint64_t mails;
	uint64_t entries; /* mails in mailboxes, as the next */
	uint64_t octets;
	uint64_t boxes;
	uint64_t few_copies; /* objects with fewer copies than wanted */
	uint64_t orphans;    /* what an interruption left: it names what does not name it */
	uint64_t missing;    /* entries of mailboxes whose mail is not there: lost */
	uint64_t damaged;    /* what cannot be read, and mails whose checksum is wrong */
	uint64_t old;	     /* "t" rows and refusals that could go */
	uint64_t repaired;
};
/*
 * Reads everything (bodies only with is_deep). With is_repair a mail that some mailbox knows, and
 * others that it names do not, goes to these; one that none knows and no journal was never
 * acknowledged, and goes when it is older than MAILCLUSTER_OLD_US, as "t" rows and refusals do. What
 * a mailbox has is never removed. tell() has a line of "key=value" for each finding; it may be NULL.
 */
#define MAILCLUSTER_OLD_US (24ULL * 3600 * 1000000)
struct mailcluster_check {
	bool is_deep;
	bool is_repair;
	uint64_t time_us;
	void (*tell)(void *owner, const char *line);
	void *owner;
};
int mailcluster_check(struct mailcluster *cluster, const struct mailcluster_check *check,
		      struct mailcluster_found *ret_found);

struct mailcluster_node {
	char name[MAILCLUSTER_NODE_MAX + 1];
	unsigned slot;
	unsigned quiet_beats; /* of ours, in which it did not change */
	uint64_t time_us;     /* its clock, at its last beat */
	bool has_beaten;      /* since it was seen first: until then it may be dead for long */
	bool is_self;
};
/* As the last beat saw them; room is MAILCLUSTER_NODES_MAX. Returns the count. */
size_t mailcluster_nodes(struct mailcluster *cluster, struct mailcluster_node *ret_nodes);
int mailcluster_describe(struct mailcluster *cluster, struct objects_state *ret_state);

/* ---- the users' database ---- */

/* Replaces it as a whole: a reader sees the one before, or this one. */
int mailcluster_put_users(struct mailcluster *cluster, const void *bytes, size_t size,
			  uint64_t time_us);
/* 0 without any. */
int mailcluster_users_version(struct mailcluster *cluster, uint64_t *ret_version);
/* *ret_bytes is the caller's, to be freed. MAILSTORE_EDAMAGED when its digest is wrong. */
int mailcluster_get_users(struct mailcluster *cluster, uint64_t *ret_version, uint8_t **ret_bytes,
			  size_t *ret_size);

#ifdef __cplusplus
}
#endif
