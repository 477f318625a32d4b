/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * logins.h - LOGIN of clients, asked of the process that checks passwords.
 *
 * Flow: clients.c has LOGIN of storewire.h -> logins_ask() -> loginserver.h -> answer() of
 *       the client: a row of text, or a status.
 *
 *     STATUS        WHEN
 *     0             the row is "mailbox=NAME"
 *     -EACCES       no such user, or another password: LOGINS_PAUSE_MS later
 *     -EAGAIN       LOGINS_WAITING_MAX wait, or the process of the clients ends
 *     -ETIMEDOUT    no answer for LOGINS_WAIT_MS
 *     -EIO          the database cannot be read, or the process has ended over this one twice
 *     -EOPNOTSUPP   there is no such process
 *
 * One password is under way at a time. When its process ends another one begins, and is asked again. Passwords
 * are wiped when they have been answered. A handle with memory of its own, of one loop. Nothing is logged.
 */

#include "integration/mail/base/store/storewire.h"

#include <uv.h>

#define LOGINS_WAITING_MAX 64
#define LOGINS_PAUSED_MAX  64 /* one more failure is told at once */
#define LOGINS_PAUSE_MS	   2000
#define LOGINS_WAIT_MS	   30000

struct logins;

/* The row is borrowed. */
typedef void (*logins_answer_fn)(void *owner, const struct storewire_reply *reply);

/* fd is borrowed, of SOCK_SEQPACKET and non-blocking. 0 or a status of libuv. */
int logins_open(uv_loop_t *loop, int fd, struct logins **ret_logins);
/* Answers all that is left; the memory goes in later rounds of the loop. Takes NULL. */
void logins_close(struct logins *logins);
/* answer() is called once, also before this returns. logins may be NULL. */
void logins_ask(struct logins *logins, const struct storewire_request *request,
		logins_answer_fn answer, void *owner);
