/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodework.h - a client's request to all nodes as one store: asked where its mailboxes are, answered once.
 *
 * Flow: nodemodule.c has a packet of a client -> nodework_begin() -> locate.h -> noderouter.h, one request
 *       for each node that it concerns -> the replies together -> answer() of the client.
 *
 * Clients see one store. The numbers of mails and segments of node n have n in their first byte. A mail of
 * another node is a segment of its own, in memory: see nodewire.h.
 *
 *     DELIVER              to each node that has mailboxes of it. When only some of them have it, the status
 *                          is that of one that has not, and the reply has a row of 4 bytes for each
 *                          recipient of the meta, in order: its status. LMTP tells each recipient so;
 *                          a client that has one reply for all tries again, and some get it twice
 *     BOXES, STAT          of all nodes together; FIND_ID without a mailbox of the first that has it. A node
 *                          that is down is to BOXES and STAT as if it were empty, and their replies say that it is
 *                          missing; FIND_ID is MAILSTORE_EAWAY then
 *     LIST with flag 8     of all nodes, in the order of their numbers; the one where the mailbox is now has to answer
 *     MAKE_ID, COLLECT     of the local store, as is STAT when it says so
 *     LOCATE               of the configuration and the database of users, without any other node
 *     ERASE                at the node of the mails, as their numbers say. A client that has the lock of their mailbox
 *                          has it at one node: MAILSTORE_ELOST_LOCK for mails of any other
 *     everything else      of the node of the mailbox, or of the mail; with the lock of the mailbox LIST and FIND_ID
 *                          stay at the node where that is, also when the database names another by now
 *
 * With two copies each mail has an id that is made here, and goes also to the node behind, into a mailbox
 * that no client sees (copyname.h). The answer waits for both, but a second copy that fails is
 * counted, and the mail is accepted: a copy is there for a disk that dies, and a node that is down is no
 * reason to refuse mail. An ERASE takes the copies with it, behind the answer, as does a DELIVER those of what the
 * node of a mailbox has not taken.
 *
 * One thread's. A work has memory of its own, until answer() returns. Nothing is logged but
 * that the list of users names a node that is no peer.
 */

#include "integration/mail/mail-stored/nodes/noderouter.h"
#include "integration/mail/mail-stored/store/questions.h"
#include "lib/common/counts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NODEWORK_NUMBER_BITS 56
#define NODEWORK_NUMBER_MASK ((UINT64_C(1) << NODEWORK_NUMBER_BITS) - 1)

struct nodework;

#define NODEWORK_COUNTER_MAP(X)                                                                    \
	X(NODEWORK_DELIVERED, "mails-delivered", "Mails that a node has taken.")                   \
	X(NODEWORK_RELAYED, "mails-relayed", "Mails, or parts of them, that went to other nodes.") \
	X(NODEWORK_PARTLY, "mails-partly", "Mails that only some of their nodes have taken.")      \
	X(NODEWORK_AWAY, "requests-away", "Requests for a node that was down.")                    \
	X(NODEWORK_COPIED, "mails-copied", "Mails with a second copy.")                            \
	X(NODEWORK_UNCOPIED, "mails-uncopied", "Mails whose second copy has failed.")              \
	X(NODEWORK_REFUSED, "connections-refused", "Clients too many.") /* of nodemodule.c */

enum nodework_counter { NODEWORK_COUNTER_MAP(COUNTS_NUMBER) NODEWORK_COUNTER_COUNT };

/* What works share; all is borrowed. */
struct nodework_parts {
	struct noderouter *router;
	const struct locate *locate;
	const struct nodesetup *setup;
	uint64_t *counters; /* NODEWORK_COUNTER_COUNT of them */
	bool *has_told; /* of each number up to NODE_NUMBER_MAX: the log has that it is no peer's */
	/* CLUSTER: a question of storewire.h; the status. NULL: -EOPNOTSUPP. */
	int (*ask)(const struct nodework_parts *parts, uint64_t question,
		   struct questions_rows *rows);
};

/* The rows are borrowed; fd goes with it, and is closed behind it; -1: none. */
typedef void (*nodework_answer_fn)(void *owner, const struct storewire_reply *reply, int fd);

struct nodework_start {
	const struct nodework_parts *parts;
	struct nodepin *pin; /* the client's; NULL: LOCK is -EOPNOTSUPP */
	bool is_brief;	     /* as few rows as go into the reply itself */
	nodework_answer_fn answer;
	void *owner;
};

/*
 * request is copied, and with it its memory; fd is duplicated. answer() is called once, also before this
 * returns.
 */
void nodework_begin(const struct nodework_start *start, const struct storewire_request *request,
		    int fd);

#ifdef __cplusplus
}
#endif
