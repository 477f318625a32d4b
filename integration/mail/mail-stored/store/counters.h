/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * counters.h - what the store process of mail-stored counts.
 *
 * Flow: clients.c, commit.c, keeper.c add -> store_process.c, report.h: a file for Prometheus, the
 *       log. They are shared memory that the parent made, and outlive the process.
 */

#include "lib/common/counts.h"

#define STORED_COUNTER_MAP(X)                                                                      \
	X(STORED_CONNECTIONS, "connections", "Clients that have connected.")                       \
	X(STORED_CONNECTIONS_REFUSED, "connections-refused", "Clients too many.")                  \
	X(STORED_CONNECTIONS_CUT, "connections-cut",                                               \
	  "Clients that could not be understood, or did not take replies.")                        \
	X(STORED_REQUESTS, "requests", "Requests of clients.")                                     \
	X(STORED_MAILS, "mails-delivered", "Mails committed for all their mailboxes.")             \
	X(STORED_ENTRIES, "entries-delivered", "Mailboxes that these mails went to.")              \
	X(STORED_MAILS_FAILED, "mails-failed", "Mails that were not taken.")                       \
	X(STORED_DELETIONS, "deletions", "Deletions committed, of one mail or many.")              \
	X(STORED_QUOTA_REFUSALS, "quota-refusals", "Questions about mailboxes that were full.")    \
	X(STORED_COMMITS, "commits", "Syncs of the log, each for all that waited.")                \
	X(STORED_BYTES_IN, "bytes-delivered", "Bytes of the mails delivered.")                     \
	X(STORED_SEGMENTS_COLLECTED, "segments-collected", "Segments emptied and removed.")        \
	X(STORED_BYTES_COPIED, "bytes-copied", "Bytes that collection copied.")                    \
	X(STORED_BYTES_RECLAIMED, "bytes-reclaimed", "Bytes of segments that were removed.")       \
	X(STORED_EXPIRED, "mails-expired", "Mails deleted because of their age.")                  \
	X(STORED_IDS_REFUSED, "ids-refused", "Ids that were tried with another mail.")             \
	X(STORED_REQUESTS_REFUSED, "requests-refused",                                             \
	  "Requests refused because too many waited for a thread.")                                \
	X(STORED_TIMEOUTS, "requests-timed-out",                                                   \
	  "Requests that got no answer of the cluster, or no thread, in time.")                    \
	X(STORED_COMPLETED, "deliveries-completed",                                                \
	  "Deliveries of nodes that had ended, completed.")                                        \
	X(STORED_UNDONE, "deliveries-undone", "Deliveries that were refused, taken back.")         \
	X(STORED_LOCKS, "locks", "Mailboxes that a client has locked.")                            \
	X(STORED_LOCKS_REFUSED, "locks-refused", "Locks that another client had.")

enum stored_counter { STORED_COUNTER_MAP(COUNTS_NUMBER) STORED_COUNTER_COUNT };
