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

#include "integration/mail/base/facts/bank.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POPCOUNT_MAP(X)                                                                            \
	/* edges */                                                                                \
	X(POP_ACCEPTED, "sessions-accepted", "Connections that an edge has accepted.")             \
	X(POP_LIMITED, "sessions-limited", "Of them, those beyond a limit of their prefix.")       \
	X(POP_FULL, "sessions-full", "Of them, those refused as all session slots were taken.")    \
	X(POP_PROXY_BAD, "proxy-bad", "Of them, those with a PROXY header missing or wrong.")      \
	X(POP_EXEMPT, "exempt", "Clients of own networks or on the allow list.")                   \
	X(POP_LISTED, "listed", "Clients whose score reached the threshold.")                      \
	X(POP_CLEAR, "clear", "Clients whose score did not.")                                      \
	X(POP_UNKNOWN, "unknown", "Clients that some zone gave no answer about.")                  \
	X(POP_LISTED_REFUSED, "listed-refused", "Logins refused as their client is listed.")       \
	X(POP_TIMEOUTS, "timeouts", "Sessions that an edge ended as they were silent.")            \
	X(POP_ERRORS, "sessions-errors", "Sessions that ended by too many errors or commands.")    \
	X(POP_UNFINISHED, "sessions-unfinished", "Sessions that ended without a login.")           \
	X(POP_REFUSED, "sessions-refused", "Sessions that ended after logins, all refused.")       \
	X(POP_TLS, "tls-sessions", "TLS sessions that were begun.")                                \
	X(POP_TLS_FAILED, "tls-failed", "TLS handshakes that failed.")                             \
	X(POP_LOGINS_WRONG, "logins-wrong", "Logins with a wrong name or password.")               \
	X(POP_LOGINS_LIMITED, "logins-limited",                                                    \
	  "Logins not looked at, as their network had too many wrong ones.")                       \
	X(POP_LOGINS_FAILED, "logins-failed", "Logins that could not be looked at.")               \
	X(POP_HANDED_OVER, "sessions-handed-over", "Sessions that went to the queue.")             \
	X(POP_QUEUE_FULL, "queue-full", "Sessions that found no worker idle.")                     \
	X(POP_QUEUE_REFUSED, "queue-refused", "Of them, those that were put off.")                 \
	X(POP_SHARE_FULL, "share-full",                                                            \
	  "Sessions that found their network with as many workers as it may have.")                \
	X(POP_SHARE_REFUSED, "share-refused", "Of them, those that were put off.")                 \
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
	X(POP_SESSIONS, "sessions", "Sessions that edges hold.")                                   \
	X(POP_PARKED, "sessions-waiting", "Of them, those that wait for a worker.")                \
	X(POP_ASKED, "logins-waiting", "Of them, those that wait for a checker.")                  \
	X(POP_RELAYED, "sessions-relayed", "Of them, TLS sessions that a worker has.")             \
	X(POP_HELD, "sessions-held",                                                               \
	  "Of them, others that a worker has and that count for their network.")                   \
	X(POP_BUSY, "workers-busy", "Workers that have a session.")

enum popcount_number {
	POPCOUNT_MAP(COUNTS_NUMBER) POP_COUNTERS,
	/* Gauges stand behind the counters. */
	POP_BEFORE_GAUGES = POP_COUNTERS - 1,
	POPCOUNT_GAUGE_MAP(COUNTS_NUMBER) POP_NUMBERS
};

extern const struct bank_table popcount_table;

#ifdef __cplusplus
}
#endif
