/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * store.h - what reading and writing a store have in common: tables, statuses.
 *
 * Flow: zone-tools/ writes through writer.h, server/ reads through reader.h.
 * lib/store alone knows LMDB. What the bytes mean is lib/format's business.
 *
 * A store is one file (PATH) and its lock file (PATH-lock). Readers need read
 * access to the first and write access to the second; in a setgid directory the
 * lock file is made writable for the group. LMDB's own caveats hold:
 * never on a network file system, never the same file opened twice in one
 * process, never an open reader carried through fork(): open after it.
 */

#include "lib/format/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STORE_STATUS_MAP(X)                                                                        \
	X(STORE_ENOTSTORE, -2100, "not a store")                                                   \
	X(STORE_ELMDB, -2101, "written by another LMDB version")                                   \
	X(STORE_ESCHEMA, -2102, "written with another schema version")                             \
	X(STORE_ECUT, -2103, "file is cut short")                                                  \
	X(STORE_ECORRUPT, -2104, "damaged store")                                                  \
	X(STORE_EFULL, -2105, "store has reached its size limit")                                  \
	X(STORE_EREADERS, -2106, "too many readers have the store open")                           \
	X(STORE_ELOCK, -2107, "no write permission for the lock file beside the store")            \
	X(STORE_EUNFINISHED, -2108, "store has never been finished")                               \
	X(STORE_EREPLACED, -2109, "file was replaced while it was being written")                  \
	X(STORE_EVERIFIER, -2110, "its verifier was ended before it had read all of it")           \
	X(STORE_EENDLESS, -2111, "reading all of it takes too long")

enum store_status {
	STORE_OK = 0,
#define X(name, code, text) name = code,
	STORE_STATUS_MAP(X)
#undef X
};

/* Text for these, for lib/format's and for -errno values. Never NULL. */
const char *store_strerror(int status);

enum store_table {
	STORE_RECORDS,
	STORE_SEGMENTS,
	STORE_SETS,
	STORE_FACTS,
	STORE_JOURNAL,
	STORE_TABLE_COUNT
};

struct store_bytes {
	const uint8_t *data;
	size_t size;
};

#ifdef __cplusplus
}
#endif
