/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * store.h - what reading and writing a store have in common: kinds, statuses.
 *
 * Flow: a kind, such as lib/store/tables.h has it for zones -> writer.h,
 *       reader.h and verify.h, which do the rest.
 * lib/lmdb alone knows LMDB. What the bytes mean is the kind's business.
 *
 * A store is one file (PATH) and its lock file (PATH-lock). Readers need read
 * access to the first and write access to the second; in a setgid directory the
 * lock file of a kind that is for a group is made writable for it. One that root
 * makes is the store's owner's, or its directory's. LMDB's own caveats hold:
 * never on a network file system, never the same file opened twice in one
 * process, never an open reader carried through fork(): open after it.
 *
 * A checksum over all entries is kept by each write. It finds damage, not malice.
 */

#include "lib/format/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
	X(STORE_EENDLESS, -2111, "reading all of it takes too long")                               \
	X(STORE_EMOVED, -2112,                                                                     \
	  "moved to the place of a store that is still open, whose lock file is there")

enum store_status {
	STORE_OK = 0,
#define X(name, code, text) name = code,
	STORE_STATUS_MAP(X)
#undef X
};

/* Text for these, for lib/format's and for -errno values. Never NULL. */
const char *store_strerror(int status);
/* What a program exits with, of sysexits.h; EX_DATAERR for a status of another library of ours. */
int store_exit_status(int status);

struct store_bytes {
	const uint8_t *data;
	size_t size;
};

struct reader;

#define STORE_TABLES_MAX 8
#define STORE_HEAD_MAX	 64   /* bytes of the value of a place */
#define STORE_FACTS_MAX	 1024 /* bytes of what read_facts() finds */

/* A number inside the value of an entry, big-endian. */
struct store_place {
	const char *key;
	size_t value_size;
	size_t offset;
};

/* What all stores of one kind have in common. Static and constant. */
struct store_kind {
	/* Their names. That of the only one may be NULL: LMDB's own, which has none. */
	const char *const *tables;
	unsigned table_count;

	/*
	 * Two entries, or one, that each store of this kind has and no other file of LMDB: where
	 * writer.h keeps the version, 4 bytes, and the checksum, 8 bytes, whatever else is in
	 * their values.
	 */
	unsigned head_table;
	struct store_place version_place;
	struct store_place sum_place;
	uint32_t version;

	unsigned reader_max; /* processes that may read at the same time */
	mode_t mode;	     /* of the file and of its lock file, less umask */
	/*
	 * The size limit, which is address space and neither memory nor disk. The first one of a
	 * new store; or a fixed one, so that a reader never maps anew, which a process without
	 * the system call could not.
	 */
	size_t limit;
	bool is_limit_fixed;
	/* Of mdb_env_open() for writing; 0 where each commit has to be on disk. */
	unsigned write_flags;

	/*
	 * What verify.h reports of a whole store, into facts_size bytes: called between
	 * reader_begin() and reader_end(), in a process of its own.
	 */
	int (*read_facts)(struct reader *reader, void *ret_facts);
	size_t facts_size;
};

#ifdef __cplusplus
}
#endif
