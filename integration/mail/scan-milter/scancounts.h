/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scancounts.h - what mail-scan-milter has done, counted by whatever thread does it.
 *
 * Flow: scansession.c -> counts_add() -> milterloop.c: metrics, the log.
 */

#include "lib/common/counts.h"

#define SCANCOUNTS_MAP(X)                                                                          \
	X(SCANCOUNTS_CONNECTIONS, "connections", "Connections of SMTP clients.")                   \
	X(SCANCOUNTS_MAILS, "mails", "Mails that were scanned to their end.")                      \
	X(SCANCOUNTS_BYTES, "bytes", "Bytes of mails that the mail server has handed over.")       \
	X(SCANCOUNTS_ACCEPTED, "accepted", "Of these mails, those that nothing was done with.")    \
	X(SCANCOUNTS_MARKED, "marked", "Of these mails, those that got a header.")                 \
	X(SCANCOUNTS_QUARANTINED, "quarantined", "Of these mails, those put into quarantine.")     \
	X(SCANCOUNTS_DEFERRED, "deferred", "Of these mails, those that were put off.")             \
	X(SCANCOUNTS_REJECTED, "rejected", "Of these mails, those that were refused.")             \
	X(SCANCOUNTS_FOUND, "found", "Of these mails, those with a signature of our own.")         \
	X(SCANCOUNTS_ABORTED, "aborted", "Mails that ended before they had come whole.")           \
	X(SCANCOUNTS_BUSY, "busy", "Mails that came when as many were scanned as may be.")         \
	X(SCANCOUNTS_FAILED, "failed", "Changes of mails that the mail server did not take.")

enum scancounts_number { SCANCOUNTS_MAP(COUNTS_NUMBER) SCANCOUNTS_COUNT };
