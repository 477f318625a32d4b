/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popcount.h - what the processes of pop-front count.
 *
 * Flow: edges, checkers and workers: bank_add() of bank.h with a number of here -> the nanny writes
 *       them.
 *
 * A counter is a row of the table below: append where it belongs, nothing else has to change.
 */

#include "integration/mail/base/edge/edge_protocol.h"
#include "integration/mail/base/facts/bank.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POPCOUNT_MAP(X)                                                                            \
	/* edges */                                                                                \
	X(POP_LISTED_REFUSED, "listed-refused", "Logins refused as their client is listed.")       \
	X(POP_ERRORS, "sessions-errors", "Sessions that ended by too many errors or commands.")    \
	X(POP_UNFINISHED, "sessions-unfinished", "Sessions that ended without a login.")           \
	X(POP_REFUSED, "sessions-refused", "Sessions that ended after logins, all refused.")       \
	X(POP_LOGINS_WRONG, "logins-wrong", "Logins with a wrong name or password.")               \
	X(POP_LOGINS_LIMITED, "logins-limited",                                                    \
	  "Logins not looked at, as their network had too many wrong ones.")                       \
	X(POP_LOGINS_FAILED, "logins-failed", "Logins that could not be looked at.")               \
	/* checkers */                                                                             \
	X(POP_CHECKS, "checks", "Questions about passwords.")                                      \
	X(POP_CHECKS_CACHED, "checks-cached", "Of them, those answered without the hash.")         \
	X(POP_CHECKS_BAD, "checks-bad", "Questions of edges that could not be read.")              \
	/* workers */                                                                              \
	X(POP_TAKEN, "sessions-taken", "Sessions that a worker took from the queue.")              \
	X(POP_QUEUE_LATE, "queue-late", "Of them, those put off as they had waited too long.")     \
	X(POP_CAPSULES_BAD, "capsules-bad", "Capsules in the queue that were cut or altered.")     \
	X(POP_LOGINS, "logins", "Maildrops that were opened.")                                     \
	X(POP_IN_USE, "maildrops-in-use", "Maildrops that another session had open.")              \
	X(POP_STORE_FAILURES, "store-failures", "Times that the store was not reached or broke.")  \
	X(POP_RETRIEVED, "mails-retrieved", "Mails sent whole, by RETR.")                          \
	X(POP_BYTES, "mail-bytes", "Bytes of these mails.")                                        \
	X(POP_TOPS, "tops", "Mails of which TOP sent the beginning.")                              \
	X(POP_DAMAGED, "mails-damaged", "Mails cut off as their sum was wrong.")                   \
	X(POP_DELETED, "mails-deleted", "Mails deleted by QUIT.")                                  \
	X(POP_NOT_DELETED, "deletions-failed", "Sessions whose deletions were not done.")          \
	X(POP_FINISHED, "sessions-finished", "Sessions that ended with QUIT behind a login.")      \
	X(POP_CUT, "sessions-cut", "Sessions behind a login that ended without QUIT.")             \
	X(POP_RETIRED, "workers-retired", "Workers that ended after their number of sessions.")    \
	/* the nanny */                                                                            \
	X(POP_EDGE_RESTARTS, "edge-restarts", "Edges that died and were begun again.")             \
	X(POP_CHECKER_RESTARTS, "checker-restarts", "Checkers that died and were begun again.")    \
	X(POP_WORKER_RESTARTS, "worker-restarts", "Workers that died and were begun again.")       \
	X(POP_KEYHOLDER_RESTARTS, "keyholder-restarts",                                            \
	  "Key processes that died and were begun again.")                                         \
	X(POP_RELOADS, "reloads", "Configurations that SIGHUP has put to use.")                    \
	X(POP_RELOADS_REFUSED, "reloads-refused", "Configurations that SIGHUP found bad.")

#define POPCOUNT_GAUGE_MAP(X)                                                                      \
	X(POP_ASKED, "logins-waiting", "Of them, those that wait for a checker.")                  \
	X(POP_BUSY, "workers-busy", "Workers that have a session.")

/* Those that all edges have are before: edge_protocol.h. Gauges stand behind the counters. */
enum popcount_number {
	POP_BEFORE_COUNTERS = EDGE_EVENT_OWN - 1,
	POPCOUNT_MAP(COUNTS_NUMBER) POP_COUNTERS,
	POP_BEFORE_GAUGES = POP_COUNTERS + EDGE_GAUGE_COUNT - 1,
	POPCOUNT_GAUGE_MAP(COUNTS_NUMBER) POP_NUMBERS
};

extern const struct bank_table popcount_table;

#ifdef __cplusplus
}
#endif
