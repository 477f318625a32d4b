/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * loginserver.h - the process that says whether a password is that of a user.
 *
 * Flow: stored.c forks -> loginserver_run(): the database of logins is opened, confinement -> a question of
 *       logins.h, one at a time -> users_find_secret(), users_password_is() -> the answer.
 *
 * A hash takes tens of milliseconds, and a process that can read the hashes of all users should do nothing
 * else: so this is one, as the checkers of pop-front are. Questions and answers are structs over a socket of
 * SOCK_SEQPACKET that outlives it: both ends are of one fork. When it begins it says so, with serial 0: a
 * question that the one before it had may have been lost.
 *
 * Nothing is logged about a name or a password.
 */

#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "lib/pop3/sasl.h"

#include <stdint.h>

/* To be wiped. */
struct login_question {
	uint64_t serial;
	char user[SASL_TEXT_MAX + 1]; /* with a NUL, as the next */
	char password[SASL_TEXT_MAX + 1];
};

struct login_answer {
	uint64_t serial;
	int32_t status; /* 0, -EACCES, or -EIO: the database cannot be read */
	char mailbox[USERS_ENTRY_SIZE];
};

struct loginserver_start {
	const struct stored_setup *setup;
	int fd;
	/* Called when the database is open; an exit status. May be NULL. */
	int (*confine)(const struct stored_setup *setup);
};

/* In a process of its own. An exit status; what is not EX_OK is logged. SIGTERM ends it, too. */
int loginserver_run(const struct loginserver_start *start);
