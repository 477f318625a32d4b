/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxycount.h - what the processes of mail-proxy count.
 *
 * Flow: proxyloop_count() with a number of here, bank_add() of bank.h -> the nanny writes them.
 *
 * A counter is a row of the table below: append where it belongs, nothing else has to change.
 */

#include "integration/mail/base/facts/bank.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PROXYCOUNT_MAP(X)                                                                          \
	X(PROXY_ACCEPTED, "sessions-accepted", "Connections that were accepted.")                  \
	X(PROXY_LIMITED, "sessions-limited", "Of them, those beyond a limit of their prefix.")     \
	X(PROXY_FULL, "sessions-full", "Of them, those refused as there were too many.")           \
	X(PROXY_HEADER_BAD, "proxy-bad", "Of them, those with a PROXY header missing or wrong.")   \
	X(PROXY_TIMEOUTS, "timeouts", "Sessions that ended as a client was silent.")               \
	X(PROXY_HOP_FAILED, "next-hop-failed", "Next hops that were not reached.")                 \
	X(PROXY_HOP_LOST, "next-hop-lost",                                                         \
	  "Next hops that broke off, or said what they must not.")                                 \
	X(PROXY_TLS_SESSIONS, "tls-sessions", "TLS sessions that were begun.")                     \
	X(PROXY_TLS_FAILED, "tls-failed", "TLS handshakes that failed.")                           \
	X(PROXY_TUNNELS, "tunnels", "Sessions passed on unscanned behind STARTTLS or STLS.")       \
	/* SMTP and LMTP */                                                                        \
	X(PROXY_MAILS, "mails", "Mails that the next hop has taken.")                              \
	X(PROXY_MAIL_BYTES, "mail-bytes", "Bytes of these mails.")                                 \
	X(PROXY_REJECTED, "mails-rejected", "Mails refused for what was found in them.")           \
	X(PROXY_DEFERRED, "mails-deferred", "Mails put off as there was no verdict.")              \
	X(PROXY_MARKED, "mails-marked", "Mails passed on that were to be marked.")                 \
	X(PROXY_SPOILT, "mails-malformed", "Mails refused for their line ends, size or bytes.")    \
	X(PROXY_REFUSED, "mails-refused", "Mails that the next hop has refused.")                  \
	X(PROXY_UNKNOWN, "mails-unknown", "Mails whose end the next hop has not answered.")        \
	X(PROXY_BUSY, "mails-busy", "Mails put off as too many were scanned.")                     \
	X(PROXY_CLIENT_LOST, "mails-cut-off", "Mails whose client was gone before their end.")     \
	/* POP3 */                                                                                 \
	X(PROXY_RETRIEVED, "mails-retrieved", "Mails passed to POP3 clients.")                     \
	X(PROXY_NOTICES, "notices", "Mails replaced by a notice.")                                 \
	X(PROXY_CUT, "mails-cut", "Mails cut off for what was found in them.")                     \
	/* the nanny */                                                                            \
	X(PROXY_RESTARTS, "process-restarts", "Processes that died and were begun again.")         \
	X(PROXY_KEYHOLDER_RESTARTS, "keyholder-restarts",                                          \
	  "Key processes that died and were begun again.")                                         \
	X(PROXY_RELOADS, "reloads", "Configurations that SIGHUP has put to use.")                  \
	X(PROXY_RELOADS_REFUSED, "reloads-refused", "Configurations that SIGHUP found bad.")

#define PROXYCOUNT_GAUGE_MAP(X)                                                                    \
	X(PROXY_SESSIONS, "sessions", "Sessions that are open.")                                   \
	X(PROXY_BLOCKS, "buffers", "Buffers of 16 KiB that sessions have.")

enum proxycount_number {
	PROXYCOUNT_MAP(COUNTS_NUMBER) PROXY_COUNTERS,
	/* Gauges stand behind the counters. */
	PROXY_BEFORE_GAUGES = PROXY_COUNTERS - 1,
	PROXYCOUNT_GAUGE_MAP(COUNTS_NUMBER) PROXY_NUMBERS
};

extern const struct bank_table proxycount_table;

#ifdef __cplusplus
}
#endif
