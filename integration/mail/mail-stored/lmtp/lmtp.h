/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp.h - the process of mail-stored that speaks LMTP (RFC 2033) with mail servers.
 *
 * Flow: stored.c forks -> lmtp_run() -> doors.h: clients -> lmtp_client.h -> lmtp_session.h ->
 *       lmtp_store.h -> the store process, which has no byte of a network in it that is not the text
 *       of a mail, and parses none of that.
 *
 * One loop, for as many sessions as "sessions" says; others hear 421. While there is no store, as it
 * is replaced or recovers, sessions stay, and RCPT and DATA are answered 451.
 *
 * The memory that mails may take is bounded: "sessions" times 58 KB, and "memory" for all large mails
 * and long lists of recipients together.
 *
 * At SIGTERM no client is taken any more, sessions end where they are between mails, and the others
 * when theirs is answered, or in LMTP_DRAIN_MS. SIGTERM must not be blocked; SIGINT and SIGHUP are the
 * parent's and ignored.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#define LMTP_DRAIN_MS 10000

struct lmtp_start {
	const struct stored_setup *setup;
	const int *listeners; /* borrowed; listen() has been called */
	unsigned listener_count;
	/*
	 * Called when all that is outside has been opened, but the connection to the store, which is
	 * made anew when it is lost. 0, or an exit status, which is returned. May be NULL.
	 */
	int (*confine)(const struct stored_setup *setup);
	/* Of nodes in version 2: the local store's own socket. Else NULL. */
	const char *store_path;
};

/* In a process of its own, after fork(). An exit status; what is not EX_OK is logged. */
int lmtp_run(const struct lmtp_start *start);
