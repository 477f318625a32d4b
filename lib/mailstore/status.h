/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * status.h - what a function of the mail store returns when it fails.
 *
 * Flow: every other file of lib/mailstore; dnsblv6-mail.h has the text for callers.
 * 0 or a count is success; else -errno, a STORE_ status of lib/lmdb/store.h (the index), or one of
 * the values below.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAILSTORE_STATUS_MAP(X)                                                                    \
	X(MAILSTORE_ENOTSTORE, -2600, "not a mail store")                                          \
	X(MAILSTORE_ESCHEMA, -2601, "mail store of another schema version")                        \
	X(MAILSTORE_EDAMAGED, -2602, "damaged record")                                             \
	X(MAILSTORE_EINDEX, -2603, "the index belongs to another store")                           \
	X(MAILSTORE_EAHEAD, -2604, "the index is newer than the log")                              \
	X(MAILSTORE_EFAILED, -2605, "the store has stopped: its disk failed before")               \
	X(MAILSTORE_EID, -2606, "this mail id has another mail")                                   \
	X(MAILSTORE_EFOREIGN, -2607, "this store has not made that mail id")                       \
	X(MAILSTORE_EBOX, -2608, "a mailbox name has 1 to 255 bytes, none of them NUL")            \
	X(MAILSTORE_ERECIPIENTS, -2609, "a mail has 1 to 10,000 recipients")                       \
	X(MAILSTORE_ELINES, -2610, "too many line ends of two kinds")                              \
	X(MAILSTORE_ELOST, -2611, "a segment of the log is missing")                               \
	X(MAILSTORE_EMAIL, -2612, "no such mail in this mailbox")                                  \
	X(MAILSTORE_EQUOTA, -2613, "mailbox is full")                                              \
	X(MAILSTORE_EUNSEALED, -2614, "memory that is not sealed, or not as large as was said")    \
	X(MAILSTORE_ENOINDEX, -2615, "the index is not the one that the store has had open")       \
	X(MAILSTORE_ELOCK, -2616, "a connection has the lock of one mailbox at a time")            \
	X(MAILSTORE_ELOST_LOCK, -2617, "the lock of this mailbox has gone to another session")     \
	X(MAILSTORE_EAWAY, -2618, "the node that has this mailbox cannot be reached")              \
	X(MAILSTORE_EUNSURE, -2619, "the disk has failed, and may have kept what was refused")     \
	X(MAILSTORE_EOLD, -2620, "the index is not the last one that this log has had")

enum mailstore_status {
	MAILSTORE_OK = 0,
#define X(name, code, text) name = code,
	MAILSTORE_STATUS_MAP(X)
#undef X
};

/* Text for these, for STORE_ values and for -errno. Static, never NULL. */
const char *mailstore_strerror(int status);
/* The disk has no room, or a quota of it none: it may have some when something was deleted. */
bool mailstore_is_full(int status);
/* Where a file may not grow, by a limit of the process or the file system: -EFBIG would be the mail's fault. */
int mailstore_name_limit(int status);
/* Of sysexits.h, for a tool that ends with one of these. */
int mailstore_exit_status(int status);

#ifdef __cplusplus
}
#endif
