/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * verify.h - is a file a whole, undamaged store? Asked where a crash is harmless.
 *
 * Flow: dnsblv6-zone asks before it replaces or trusts a store, dnsblv6d
 *       before it serves one.
 *
 * LMDB trusts the pages inside a file: one that was overwritten can make it
 * read anywhere. So a child process reads all of it first (reader_verify())
 * and only its exit status comes back.
 */

#include "lib/store/store.h"

#include "lib/format/record.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 *     struct verify verify;
 *     int ret = verify_start(&verify, path);
 *     // ... until verify.fd is readable, in an event loop or at once ...
 *     ret = verify_finish(&verify, &facts);
 */
struct verify {
	pid_t pid;
	int fd; /* readable when the child is done, or dead */
};

/*
 * Starts a child that reads all of path: time and page cache of one pass over
 * the file. It has no open descriptor but its own, default signal handlers and
 * a limit of processor time, because damaged pages may lead in a circle. The
 * caller must not have set SIGCHLD to be ignored. 0 or -errno.
 */
int verify_start(struct verify *verify, const char *path);
/*
 * Waits for the child. DNSBLV6_OK with the zone's facts in *ret_facts;
 * STORE_ECORRUPT when the child died or the checksum differs; or what
 * reader_open() returned.
 */
int verify_finish(struct verify *verify, struct dnsblv6_facts *ret_facts);
/* Ends a child that nobody waits for any more. */
void verify_cancel(struct verify *verify);

/* Start and finish in one call. */
int verify_store(const char *path, struct dnsblv6_facts *ret_facts);

#ifdef __cplusplus
}
#endif
