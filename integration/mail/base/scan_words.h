/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scan_words.h - what scanning a mail is called: actions, peers, and what is known of a mail.
 *
 * Flow: scan_settings.h, scanner.h and peer.h, which are in rooms above one another, have it in
 *       common.
 *
 * Plain values.
 */

#include <stddef.h>

#define SCAN_PIECE_MAX 65536 /* bytes of a mail at a time */
#define SCAN_TEXT_MAX  400

enum scan_action {
	SCAN_ACCEPT,
	SCAN_MARK,	 /* accepted, with a header field */
	SCAN_QUARANTINE, /* accepted for another mailbox than its recipients' */
	SCAN_DEFER,	 /* 451 */
	SCAN_REJECT,	 /* 550 */
};

enum scan_peer { SCAN_CLAMD, SCAN_RSPAMD, SCAN_MILTER, SCAN_PEER_COUNT };

/* For peers that ask; all borrowed until scan_free(), any may be NULL but recipients with a count. */
struct scan_envelope {
	const char *client; /* address as text */
	const char *helo;
	const char *sender; /* without <> */
	const char *const *recipients;
	size_t recipient_count;
	const char *id; /* the session's, for logs */
};
