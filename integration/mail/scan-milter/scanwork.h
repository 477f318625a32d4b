/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scanwork.h - one scanner for many threads: each has it for a moment, and waits without it.
 *
 * Flow: scansession.c, in a thread of libmilter -> scanwork_...() -> scanner.h.
 *
 * A scanner is for one thread at a time, so that a lock is around every call of it. What a mail waits
 * for, a decoder process or a peer, is waited for outside of the lock: meanwhile the others go on.
 * The bytes of all mails are looked at by one processor at a time.
 */

#include <pthread.h>

#include "integration/mail/base/scan/scanner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lies in the memory of its owner and is not moved. */
struct scanwork {
	struct scanner *scanner; /* borrowed */
	pthread_mutex_t lock;
};

/* 0 or -errno. */
int scanwork_init(struct scanwork *ret_work, struct scanner *scanner);

/* As the functions of scanner.h, but that push and end wait until the scan is not busy. */
int scanwork_begin(struct scanwork *work, const struct scan_envelope *envelope,
		   struct scan **ret_scan);
void scanwork_push(struct scanwork *work, struct scan *scan, const uint8_t *bytes, size_t size);
/* The verdict is borrowed until scanwork_free(). */
const struct scan_verdict *scanwork_end(struct scanwork *work, struct scan *scan);
/* Takes NULL. */
void scanwork_free(struct scanwork *work, struct scan *scan);
void scanwork_refresh(struct scanwork *work);

#ifdef __cplusplus
}
#endif
