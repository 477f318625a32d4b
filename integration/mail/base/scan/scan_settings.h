/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scan_settings.h - how mails are scanned: the section "scan" of a configuration.
 *
 * Flow: a program's setup -> scan_settings_read() -> scanner.h.
 *
 *     scan:
 *       signatures: /var/lib/dnsblv6/mail.signatures     mail-scan compile has made it
 *       clamd: /run/clamav/clamd.ctl                     or ADDRESS@PORT; besides
 *       rspamd: 127.0.0.1@11333
 *       milter: /run/other.sock
 *       on-found: reject                                 reject, mark, quarantine
 *       on-bomb: reject
 *       on-encrypted: accept
 *       on-suspicious: mark
 *       on-ambiguous: mark
 *       on-unavailable: defer                            or accept: without the one that is not there
 *
 * A plain value; texts are its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/inspect/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCAN_PATH_MAX 512

enum scan_action {
	SCAN_ACCEPT,
	SCAN_MARK,	 /* accepted, with a header field */
	SCAN_QUARANTINE, /* accepted for another mailbox than its recipients' */
	SCAN_DEFER,	 /* 451 */
	SCAN_REJECT,	 /* 550 */
};

enum scan_peer { SCAN_CLAMD, SCAN_RSPAMD, SCAN_MILTER, SCAN_PEER_COUNT };

struct scan_settings {
	bool is_on; /* there is a section */
	char signatures[SCAN_PATH_MAX];		     /* "" without */
	char peers[SCAN_PEER_COUNT][SCAN_PATH_MAX]; /* socket's path, or ADDRESS@PORT; "" */
	enum scan_action actions[INSPECT_CLASS_COUNT];
	enum scan_action on_unavailable;
	char quarantine[SCAN_PATH_MAX]; /* address of a mailbox; "" */
	unsigned mails;			/* scanned at a time, in a process */
	unsigned decoders;		/* decoder processes at a time, of a process */
	unsigned peer_timeout_ms;	/* until a peer has its verdict, behind the mail's end */
	unsigned cpu_ms;		/* of one decoder process */
	unsigned decoder_wait_ms;	/* for a decoder process to be free */
	struct unpack_budget budget;
};

#ifdef __cplusplus
}
#endif
