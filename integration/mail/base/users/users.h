/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users.h - is this a recipient of ours, what settings has its mailbox, and what checks a login?
 *           Asked of a database of full addresses.
 *
 * Flow: smtp-front-users build (users_build.h) writes the file -> an edge and the workers ask
 *       here at RCPT -> dialogue_accept() or dialogue_refuse(); settings are for programs that
 *       keep mailboxes, and for smtp-front-users find; secrets for one that logs users in.
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
 * never on a network file system, never the same file opened twice in one process by its lock file (also
 * not by a program's other part), never a handle carried through fork(). The file must not be replaced by
 * another while it is open, nor cut: it is only for smtp-front-users to write. Where the lock file is
 * deleted or replaced, new lists are seen all the same, and a question that two builds overtake says
 * -EAGAIN.
 *
 * A handle belongs to one thread of one process; it takes memory of its own, never logs and never
 * waits for a writer.
 */

#include "integration/mail/base/users/users_list.h"

#ifdef __cplusplus
extern "C" {
#endif

enum users_answer {
	USERS_VALID,
	USERS_UNKNOWN,	/* the domain is ours: 550 5.1.1 */
	USERS_NOT_OURS, /* 550 5.7.1, relaying denied */
};

struct users;

/*
 * Opens path and checks what can be checked in no time: that it is a database of recipients, whole
 * in length, of this version. Returns 0, -errno (-ENOENT, -EACCES, ...) or a status of lib/lmdb;
 * *ret_users on success only. A file whose inner pages were overwritten can make LMDB crash: ask
 * users_verify() before.
 */
int users_open(const char *path, struct users **ret_users);
/* Takes NULL. */
void users_close(struct users *users);

/*
 * An enum users_answer, or a negative status: then nothing is known, say 451 4.3.0. The address is
 * as in MAIL and RCPT without the angle brackets. "postmaster" without a domain is always valid
 * (RFC 5321, 4.5.1). It is what the list has of it, an alias; without that line it is postmaster@ the
 * domain of a list that has one domain and such an address; else a mailbox of that name, for which no
 * login is.
 */
int users_find(struct users *users, const char *address, size_t size);

/* An address of which users_find() says that it is valid, at its longest, and a NUL. */
#define USERS_ENTRY_SIZE 322

/* Each name has USERS_ENTRY_SIZE bytes; what is behind them is not touched. */
struct users_mailboxes {
	size_t count;
	char names[USERS_ALIAS_TARGETS_MAX][USERS_ENTRY_SIZE];
};

/*
 * The same, and the mailboxes that mail for a valid address goes to, each once: that of its entry,
 * or those of an alias. Otherwise the count is 0.
 */
int users_find_mailboxes(struct users *users, const char *address, size_t size,
			 struct users_mailboxes *ret_mailboxes);

/*
 * The same. Of a valid address *ret_entry becomes the entry that makes it valid, which names its
 * mailbox unless it is an alias: of "John\ Doe"@Example.ORG and john doe+x@example.org it is john doe@example.org, with
 * no quotes and in the case that the list keeps; of an address that a catch-all takes it is
 * @example.org. ret_entry has USERS_ENTRY_SIZE bytes. *ret_settings are those of that mailbox; an alias
 * has none, and neither has postmaster without a domain. Both outputs are written of a valid address only.
 */
int users_find_settings(struct users *users, const char *address, size_t size, char *ret_entry,
			struct users_settings *ret_settings);
/*
 * What checks a login with that name, for a process that logs users in and for none else: the only
 * function here that shows a secret. USERS_VALID says that the list has just this address, in any
 * case where it folds, quoted or not: neither an extension nor a catch-all makes a name to log in
 * with, and postmaster without a domain is none. *ret_secret is written with USERS_VALID only; both
 * members are "" when the list has no secret, as of an alias. The caller wipes it. *ret_entry becomes
 * the name as the list would have it, also when it has not; "" of what is no address.
 */
int users_find_secret(struct users *users, const char *address, size_t size, char *ret_entry,
		      struct users_secret *ret_secret);
/*
 * Settings of a mailbox by its entry, as the functions above return it. 0, DNSBLV6_ENOTFOUND when
 * no list has it any more, or another negative status: then nothing is known.
 */
int users_settings_of(struct users *users, const char *entry, struct users_settings *ret_settings);
/*
 * What would be the entry where there is no list: without quotes, in lower case. false: it is no
 * address, or longer than any that could be kept.
 */
bool users_make_entry(const char *address, size_t size, char *ret_entry);

/*
 * Calls fn for each entry as a line of a list ("john@example.org octets=500M", "@example.org",
 * "domain example.net"), in order, until it returns other than 0, which is returned. STORE_ESCHEMA
 * at an entry with a setting that only a later program knows. The list that is walked keeps its
 * pages meanwhile, also from a build.
 */
typedef int (*users_walk_fn)(void *context, const char *line, size_t size);
int users_walk(struct users *users, users_walk_fn fn, void *context);
/* The same, and what is known of that list, which is there before the first line. */
int users_walk_facts(struct users *users, struct users_facts *ret_facts, users_walk_fn fn,
		     void *context);

/*
 * Reads all of path and compares it with its checksum, in a child process where a crash is
 * harmless: verify_store() of lib/lmdb. The caller must not have set SIGCHLD to be ignored.
 */
int users_verify(const char *path, struct users_facts *ret_facts);

#ifdef __cplusplus
}
#endif
