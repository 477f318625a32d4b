/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scan_parts.h - what scanner.c and scan.c share: a scanner, and a mail that it scans.
 *
 * Flow: scanner.c: signatures, their pools, the template -> scan.c: a mail, from scan_begin() to its
 *       verdict.
 */

#include "integration/mail/base/scan/apart.h"
#include "integration/mail/base/peers/peer.h"
#include "integration/mail/base/scan/scanner.h"
#include "lib/inspect/slots.h"

/* One database with what is made for it. */
struct signature_set {
	struct match_db *db; /* NULL without signatures */
	struct match_worker *worker;
	struct inspect_pool *pool;
	unsigned scan_count; /* that use it */
};

struct scanner {
	struct scan_settings settings;
	const char *context;
	struct signature_set *set; /* the newest */
	struct slots scans;
	int ask_fd;
	pid_t template_pid; /* 0: it is shared, and not forked here */
	uint64_t lost_ms;   /* when it was last said that it has gone */
	bool is_blind;	    /* it was said that the file of signatures cannot be seen */
};

/* Pages behind the first ones are taken when a mail has to wait. */
struct scan {
	struct scanner *scanner;
	struct signature_set *set;
	struct inspection *inspection;
	struct peer *peers[SCAN_PEER_COUNT]; /* NULL: not asked */
	bool has_ended;			     /* scan_end() was called */
	bool is_whole;
	bool is_decided; /* the verdict is made */
	size_t left_at;	 /* of left[], the bytes that are still to be looked at */
	size_t left_end;
	struct apart apart;
	struct scan_verdict verdict; /* with is_decided */
	uint8_t left[SCAN_PIECE_MAX];
	uint8_t kept[APART_KEPT]; /* of apart */
};

/* A scan that used it has ended. */
void scan_leave_set(struct scanner *scanner, struct signature_set *set);
/* There is no template: says so, not too often. */
void scan_note_lost(struct scanner *scanner);
