/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * counters.h - what dnsblv6-milter has done, counted by whatever thread does it.
 *
 * Flow: session.c -> counts_add() -> milterloop.c.
 */

#include "lib/common/counts.h"

#define COUNTERS_MAP(X)                                                                            \
	X(COUNTERS_CONNECTIONS, "connections", "Connections of SMTP clients.")                     \
	X(COUNTERS_NO_ADDRESS, "no-address", "Of them, those without an IP address.")              \
	X(COUNTERS_EXEMPT, "exempt", "Of them, those of own networks or on the allow list.")       \
	X(COUNTERS_LISTED, "listed", "Of them, those whose score reached the threshold.")          \
	X(COUNTERS_CLEAR, "clear", "Of them, those whose score did not.")                          \
	X(COUNTERS_UNKNOWN, "unknown", "Of them, those that some zone gave no answer about.")      \
	X(COUNTERS_AUTHENTICATED, "authenticated",                                                 \
	  "Mails that were left alone as their sender had authenticated.")                         \
	X(COUNTERS_REJECTED, "rejected", "Recipients that were refused for good.")                 \
	X(COUNTERS_DEFERRED, "deferred", "Recipients that were put off.")                          \
	X(COUNTERS_WARNED, "warned", "Mails that were let through with a line in the log.")        \
	X(COUNTERS_MARKED, "marked", "Mails that got a header.")                                   \
	X(COUNTERS_QUARANTINED, "quarantined", "Mails that were put into quarantine.")             \
	X(COUNTERS_CLEANED, "cleaned", "Mails that came with a header of that name already.")      \
	X(COUNTERS_FAILED, "failed", "Changes of mails that the mail server did not take.")

enum counters_number { COUNTERS_MAP(COUNTS_NUMBER) COUNTERS_COUNT };
