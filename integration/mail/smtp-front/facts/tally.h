/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tally.h - what the processes of smtp-front count.
 *
 * Flow: edges and workers: bank_add() of bank.h with a number of here -> the nanny writes them.
 *
 * A counter is a row of the table below: append where it belongs, nothing else has to change.
 */

#include "integration/mail/base/edge/edge_protocol.h"
#include "integration/mail/base/facts/bank.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_MAP(X)                                                                               \
	/* edges */                                                                                \
	X(TALLY_EARLY_TALKERS, "early-talkers", "Clients that spoke before the banner.")           \
	X(TALLY_SPARED, "pauses-spared",                                                           \
	  "Clients that did not wait for the banner, as they had before.")                         \
	X(TALLY_REFUSED, "refused", "Clients that were refused as they are listed.")               \
	X(TALLY_RECIPIENTS_UNKNOWN, "recipients-unknown", "Recipients that are no user.")          \
	X(TALLY_RECIPIENTS_RELAY, "recipients-relay", "Recipients of domains that are not ours.")  \
	X(TALLY_RECIPIENTS_FAILED, "recipients-failed", "Recipients that could not be looked up.") \
	X(TALLY_ERRORS, "sessions-errors", "Sessions that ended by too many errors or commands.")  \
	X(TALLY_BOUNCED, "sessions-bounced",                                                       \
	  "Sessions that ended in an edge with recipients, all of them refused.")                  \
	X(TALLY_UNFINISHED, "sessions-unfinished", "Sessions that ended without a recipient.")     \
	/* workers */                                                                              \
	X(TALLY_TAKEN, "sessions-taken", "Sessions that a worker took from the queue.")            \
	X(TALLY_QUEUE_LATE, "queue-late",                                                          \
	  "Of them, those that it put off, as they had waited too long.")                          \
	X(TALLY_CAPSULES_BAD, "capsules-bad", "Capsules in the queue that were cut or altered.")   \
	X(TALLY_GAVE_WAY, "sessions-gave-way",                                                     \
	  "Sessions that a worker ended as they were silent while others waited.")                 \
	X(TALLY_FINISHED, "sessions-finished", "Sessions that a worker took to their end.")        \
	X(TALLY_MAILS_COMMITTED, "mails-committed", "Mails that the sink has and 250 was said.")   \
	X(TALLY_MAILS_NORMALIZED, "mails-normalized",                                              \
	  "Of them, those in which lone LFs were taken as CR LF.")                                 \
	X(TALLY_MAILS_REFUSED, "mails-refused", "Mails that were refused for good.")               \
	X(TALLY_MAILS_DEFERRED, "mails-deferred", "Mails that were put off.")                      \
	X(TALLY_MAILS_CUT, "mails-cut", "Mails whose client was gone or silent before their end.") \
	X(TALLY_SCANNED_CLEAN, "scanned-clean", "Mails that the scanner has let by.")              \
	X(TALLY_SCANNED_MARKED, "scanned-marked", "Mails that it has marked.")                     \
	X(TALLY_SCANNED_QUARANTINED, "scanned-quarantined",                                        \
	  "Mails that it has sent to the mailbox of the quarantine.")                              \
	X(TALLY_SCANNED_DEFERRED, "scanned-deferred", "Mails that it has put off.")                \
	X(TALLY_SCANNED_REFUSED, "scanned-refused", "Mails that it has refused.")                  \
	X(TALLY_BYTES, "mail-bytes", "Bytes of the mails committed.")                              \
	X(TALLY_RECIPIENTS, "recipients", "Recipients of the mails committed.")                    \
	X(TALLY_PASSED, "clients-passed",                                                          \
	  "Clients that need not wait for the banner again, as a mail of them was taken.")         \
	X(TALLY_SINK_FAILURES, "sink-failures", "Times that the sink was not reached or broke.")   \
	X(TALLY_HOP_FAILURES, "next-hop-failures", "Times that the next hop was found down.")      \
	X(TALLY_RETIRED, "workers-retired", "Workers that ended after their number of mails.")     \
	/* the nanny */                                                                            \
	X(TALLY_EDGE_RESTARTS, "edge-restarts", "Edges that died and were begun again.")           \
	X(TALLY_WORKER_RESTARTS, "worker-restarts", "Workers that died and were begun again.")     \
	X(TALLY_KEYHOLDER_RESTARTS, "keyholder-restarts",                                          \
	  "Key processes that died and were begun again.")                                         \
	X(TALLY_TEMPLATE_RESTARTS, "decoders-restarts",                                            \
	  "Templates of decoder processes that died and were begun again.")                        \
	X(TALLY_RELOADS, "reloads", "Configurations that SIGHUP has put to use.")                  \
	X(TALLY_RELOADS_REFUSED, "reloads-refused", "Configurations that SIGHUP found bad.")

/* What rises and falls: set by the one process of the slot, and 0 again when it has ended. */
#define TALLY_GAUGE_MAP(X)                                                                         \
	X(TALLY_BUSY, "workers-busy", "Workers that have a session.")                              \
	/* the nanny, when it writes them */                                                       \
	X(TALLY_HOP_DOWN, "next-hop-down", "1 while the next hop is down.")

/* Those that all edges have are before: edge_protocol.h. Gauges stand behind the counters. */
enum tally_number {
	TALLY_BEFORE_COUNTERS = EDGE_EVENT_OWN - 1,
	TALLY_MAP(COUNTS_NUMBER) TALLY_COUNT,
	TALLY_BEFORE_GAUGES = TALLY_COUNT + EDGE_GAUGE_COUNT - 1,
	TALLY_GAUGE_MAP(COUNTS_NUMBER) TALLY_NUMBERS
};

extern const struct bank_table tally_table;

#ifdef __cplusplus
}
#endif
