/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * verify.h - is a file a whole, undamaged store? Asked where a crash is harmless.
 *
 * Flow: dnsblv6-zone asks before it replaces or trusts a store, dnsblv6d
 *       before it serves one and again and again while it does, smtp-front before it
 *       opens its recipients.
 *
 * LMDB trusts the pages inside a file: one that was overwritten can make it
 * read anywhere. So a child process reads all of it first (reader_verify())
 * and only its exit status comes back.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 *     struct verify verify;
 *     int ret = verify_start(&verify, path, &zone_store, VERIFY_SOON);
 *     // ... until verify.fd is readable, in an event loop or at once ...
 *     ret = verify_finish(&verify, &facts);
 */
struct verify {
	const struct store_kind *kind;
	pid_t pid;
	int fd;		  /* readable when the child is done, or dead */
	uint64_t used_us; /* processor time of the child, once it has ended */
};

/* VERIFY_IDLE has the processor and the disk only while nothing else wants them. */
enum verify_pace { VERIFY_SOON, VERIFY_IDLE };

/*
 * Starts a child that reads all of path: time and page cache of one pass over
 * the file. It has no open descriptor but its own, default signal handlers and
 * a limit of processor time, because damaged pages may lead in a circle. The
 * caller must not have set SIGCHLD to be ignored. 0 or -errno.
 */
int verify_start(struct verify *verify, const char *path, const struct store_kind *kind,
		 enum verify_pace pace);
/*
 * Waits for the child. STORE_OK with what the kind's read_facts() found in *ret_facts, which has
 * kind->facts_size bytes;
 * STORE_ECORRUPT when the child crashed over it or the checksum differs;
 * STORE_EENDLESS when its processor time was up; STORE_EVERIFIER when it was
 * killed or could not begin, which says nothing about the file; or what
 * reader_open() returned.
 */
int verify_finish(struct verify *verify, void *ret_facts);
/*
 * verify_finish() that never waits: -EAGAIN while the child is there. For one that
 * is idle: it may have said all and still need a processor to end.
 */
int verify_try_finish(struct verify *verify, void *ret_facts);
/* Ends the child and waits for its end. */
void verify_cancel(struct verify *verify);
/* Ends the child; verify_try_finish() will say so, or the caller is about to exit. */
void verify_kill(const struct verify *verify);

/* Start and finish in one call. */
int verify_store(const char *path, const struct store_kind *kind, void *ret_facts);

#ifdef __cplusplus
}
#endif
