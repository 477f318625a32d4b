/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_file.h - what users.c and users_build.c share: the file of recipients. Not for others.
 *
 * Flow: users_list.c makes entries -> users_build.c writes them -> users.c looks them up.
 * LMDB is known in these three files alone, and its codes are translated here and nowhere else.
 *
 * One LMDB environment (MDB_NOSUBDIR) with one table, the unnamed one. A key begins with the
 * letter of its kind; values are empty but for the metadata's.
 *
 *     KEY                        MEANING
 *     "a" local "@" domain       this address is valid
 *     "c" domain                 every address of this domain is (catch-all)
 *     "d" domain                 this domain is ours; each that occurs above has one of these
 *     "m"                        metadata, in version 1:
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      4   version, big-endian as all below
 *        4      1   0x01: local parts were made lower case
 *        5      1   the character that begins an extension, such as "+"; 0 when there is none
 *        6      2   zero
 *        8      8   number of addresses
 *       16      8   number of catch-all domains
 *       24      8   number of domains
 *       32      8   when it was built, seconds since 1970
 *       40      8   sum of users_file_share() of every other entry, modulo 2^64
 *
 * Domains are in lower case (ASCII; nothing is converted between U-labels and A-labels), local
 * parts as they mean and not as they are quoted: "john doe"@example.org is john doe@example.org.
 *
 * Values are plain; no function here keeps a pointer, logs or exits.
 */

#include "integration/mail/base/users/users.h"

#include <lmdb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_FILE_VERSION   1
#define USERS_FILE_META_SIZE 48
#define USERS_FILE_ADDRESS   'a'
#define USERS_FILE_CATCHALL  'c'
#define USERS_FILE_DOMAIN    'd'
#define USERS_FILE_META	     'm'
/* RFC 5321 4.5.3.1: 64 octets, "@" and 255; with the letter less than LMDB's 511. */
#define USERS_FILE_KEY_MAX 321

/*
 * Address space, not memory or disk: as large a file may become. Fixed, so that a reader never
 * has to map anew, which one that is confined could not.
 */
#define USERS_FILE_MAP_SIZE ((size_t)1 << (sizeof(size_t) > 4 ? 34 : 29))
/* Processes that may read: the 64 edges and 1024 workers of setup.h, and as many that drain. */
#define USERS_FILE_READERS 2304
#define USERS_FILE_MODE	   0644 /* of the file and its lock file, less umask */

/* LMDB's code or errno to a status. */
int users_file_status(int code);

/*
 * Opens path, which must be the one name of the file: see users_file_resolve(). flags are those
 * of mdb_env_open() beside MDB_NOSUBDIR and MDB_NOTLS. *ret_env is the caller's.
 */
int users_file_open(const char *path, unsigned flags, MDB_env **ret_env);

/*
 * path with its symbolic links followed, to be freed: the lock file lies beside it, and two lock
 * files would let a writer use pages that are read. A path that is not there yet is copied. NULL
 * when memory ran out.
 */
char *users_file_resolve(const char *path);

/* A regular file that could be one of these? -ENOENT, -EISDIR, USERS_ENOTUSERS, USERS_EUNFINISHED.
 */
int users_file_check(const char *path);
/* Every page that the newest version may use lies inside the file, else USERS_ECUT. */
int users_file_check_length(MDB_env *env);

void users_file_encode(const struct users_facts *facts, uint8_t *ret_bytes);
int users_file_decode(const void *bytes, size_t size, struct users_facts *ret_facts);

/* One entry's share of the sum, which finds damage and not malice. */
uint64_t users_file_share(const void *key, size_t key_size);

/*
 * The key of a kind and an address, or of a domain for the other kinds: unquoted and in lower
 * case, as the facts say. Returns its size; 0 when it is no address, or too long for one.
 */
size_t users_file_key(char kind, const struct users_facts *facts, const char *text, size_t size,
		      char *ret_key);

/*
 * A key as a line of a list, in quotes where the list needs them: USERS_FILE_LINE_MAX bytes at
 * most, without a NUL. Returns its size; 0 when it is no key of an entry.
 */
#define USERS_FILE_LINE_MAX (2 * USERS_FILE_KEY_MAX + 8)
size_t users_file_line(const char *key, size_t key_size, char *ret_line);

#ifdef __cplusplus
}
#endif
