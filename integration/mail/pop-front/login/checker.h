/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * checker.h - a process that says whether passwords are right, and does nothing else.
 *
 * Flow: nanny.c forks -> checker_run(): requests of edges, one at a time -> users.h, then
 *       users_password.h, scram.h or logincache.h -> the reply.
 *
 * A hash of crypt(3) is made to take tens of milliseconds: an edge would stand still meanwhile. So
 * checkers are few, run below all other processes (nice), and have nothing but the users database and
 * their sockets: they hear clients only through edges.
 *
 * A name that no user has gets the same answer as a wrong password, and a hash is made for it, of the
 * kind that smtp-front-users makes; users with hashes of other kinds can be told by the time.
 *
 * checker_answer() is apart for tests. Nothing is logged about a password.
 */

#include "integration/mail/base/handover/nanny_child.h"
#include "integration/mail/pop-front/login/check.h"
#include "integration/mail/pop-front/setup/popsetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same for all. */
struct checker_keys {
	uint8_t salts[32];		  /* of unknown names */
	uint8_t tickets[TICKET_KEY_SIZE]; /* workers have it, too */
};

/* In a process of its own. Returns an exit status, when all edges have ended; SIGTERM ends it, too. */
int checker_run(const struct nanny_child *child, const struct checker_keys *keys);

struct checker; /* opaque */

/* EX_OK, or an exit status with a line of the log. */
int checker_open(const struct nanny_child *child, const struct checker_keys *keys,
		 struct checker **ret_checker);
/* Takes NULL. */
void checker_close(struct checker *checker);
/* Any request of that size may be given. */
void checker_answer(struct checker *checker, const struct check_request *request,
		    struct check_reply *ret_reply);

#ifdef __cplusplus
}
#endif
