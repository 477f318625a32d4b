/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users.h - is this a recipient of ours? Asked of a database of full addresses.
 *
 * Flow: smtp-front-users build (users_build.h) writes the file -> an edge and the workers ask
 *       here at RCPT -> dialogue_accept() or dialogue_refuse().
 *
 *     struct users *users = NULL;
 *     int ret = users_open("/var/lib/smtp-front/users.mdb", &users);
 *     if (ret == 0) {
 *             int answer = users_find(users, "john+lists@example.org", 22);
 *             // USERS_VALID, USERS_UNKNOWN, USERS_NOT_OURS, or negative: users_strerror()
 *     }
 *     users_close(users);
 *
 * Every question is asked of the newest list: a build is one transaction in the same file, so
 * that a process that has it open, chrooted and confined, sees all of the new list at the next
 * question and never a part of it.
 *
 * Order for a process that confines itself: fork, users_open(), then chroot, privileges and
 * seccomp. Afterwards a question opens nothing, maps nothing, allocates nothing and makes no
 * system call. Opening needs write permission for the lock file PATH-lock. LMDB's caveats hold:
 * never on a network file system, never the same file opened twice in one process (also not by a
 * program's other part), never a handle carried through fork(). The file must not be replaced by
 * another while it is open, nor cut: it is only for smtp-front-users to write.
 *
 * A handle belongs to one thread of one process; it takes memory of its own, never logs and never
 * waits for a writer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_STATUS_MAP(X)                                                                        \
	X(USERS_ENOTUSERS, -2200, "not a database of recipients")                                  \
	X(USERS_ELMDB, -2201, "written by another LMDB version")                                   \
	X(USERS_EVERSION, -2202, "written with another version of the format")                     \
	X(USERS_ECUT, -2203, "file is cut short")                                                  \
	X(USERS_ECORRUPT, -2204, "damaged database")                                               \
	X(USERS_EFULL, -2205, "more recipients than a database can hold")                          \
	X(USERS_EREADERS, -2206, "too many readers have the database open")                        \
	X(USERS_ELOCK, -2207, "no write permission for the lock file beside the database")         \
	X(USERS_EUNFINISHED, -2208, "database has never been finished")                            \
	X(USERS_EREPLACED, -2209, "file was replaced while it was being written")                  \
	X(USERS_ESHRINK, -2210, "list would shrink too much")

enum users_status {
	USERS_OK = 0,
#define X(name, code, text) name = code,
	USERS_STATUS_MAP(X)
#undef X
};

/* Text for these and for -errno values. Never NULL. */
const char *users_strerror(int status);

enum users_answer {
	USERS_VALID,
	USERS_UNKNOWN,	/* the domain is ours: 550 5.1.1 */
	USERS_NOT_OURS, /* 550 5.7.1, relaying denied */
};

/* What the list was built with, and from. */
struct users_facts {
	bool folds_case; /* local parts are compared in lower case (ASCII) */
	char extension;	 /* user+x@ is user@ when it is '+'; 0: no such thing */
	uint64_t address_count;
	uint64_t catchall_count;
	uint64_t domain_count;
	int64_t built_at_s; /* seconds since 1970 */
	uint64_t sum;	    /* equal sums, equal lists */
};

struct users;

/*
 * Opens path and checks what can be checked in no time: that it is a database of recipients, whole
 * in length, of this version. Returns 0, -errno (-ENOENT, -EACCES, ...) or a status above;
 * *ret_users on success only. A file whose inner pages were overwritten can make LMDB crash: ask
 * users_verify() before.
 */
int users_open(const char *path, struct users **ret_users);
/* Takes NULL. */
void users_close(struct users *users);

/*
 * An enum users_answer, or a negative status: then nothing is known, say 451 4.3.0. The address is
 * as in MAIL and RCPT without the angle brackets. "postmaster" without a domain is always valid
 * (RFC 5321, 4.5.1).
 */
int users_find(struct users *users, const char *address, size_t size);

/* An address of which users_find() says that it is valid, at its longest, and a NUL. */
#define USERS_ENTRY_SIZE 322

/*
 * The same. Of a valid address *ret_entry becomes the entry that makes it valid, which names the
 * mailbox: of "John\ Doe"@Example.ORG and john doe+x@example.org it is john doe@example.org, with
 * no quotes and in the case that the list keeps; of an address that a catch-all takes it is
 * @example.org; else postmaster. ret_entry has USERS_ENTRY_SIZE bytes.
 */
int users_find_entry(struct users *users, const char *address, size_t size, char *ret_entry);
/*
 * What would be the entry where there is no list: without quotes, in lower case. false: it is no
 * address, or longer than any that could be kept.
 */
bool users_make_entry(const char *address, size_t size, char *ret_entry);

/* Of the newest list. */
int users_get_facts(struct users *users, struct users_facts *ret_facts);

/*
 * Calls fn for each entry as a line of a list ("john@example.org", "@example.org", "domain
 * example.net"), in order, until it returns other than 0, which is returned. The list that is
 * walked keeps its pages meanwhile, also from a build.
 */
typedef int (*users_walk_fn)(void *context, const char *line, size_t size);
int users_walk(struct users *users, users_walk_fn fn, void *context);

/*
 * Reads all of the newest list and compares it with the sum that was written. For a child process:
 * damaged pages can make LMDB crash, or go in a circle. *ret_facts on success.
 */
int users_check(struct users *users, struct users_facts *ret_facts);

/*
 * users_check() of path, in a child process where a crash is harmless. USERS_ECORRUPT when the
 * child died or the sum differs, else as users_open(). Waits for the child, which has a limit of
 * processor time. The caller must not have set SIGCHLD to be ignored.
 */
int users_verify(const char *path, struct users_facts *ret_facts);

#ifdef __cplusplus
}
#endif
