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

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads all of path in a child process and waits for it: time and page cache
 * of one pass over the file. The child does nothing but read; the caller must
 * not have the same file open in this process, and must not have set SIGCHLD to
 * be ignored. Returns DNSBLV6_OK with the zone's facts in *ret_facts (may be
 * NULL), STORE_ECORRUPT when the child crashed or the checksum differs, or
 * what reader_open() returned. No threads may be running.
 */
int verify_store(const char *path, struct dnsblv6_facts *ret_facts);

#ifdef __cplusplus
}
#endif
