/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop.h - one session of POP3 (RFC 1939) from the client's side: what session.h has for SMTP.
 *
 * Flow: trace.c says whose maildrop it is and how many mails it looks for -> session.c, with
 *       rules.is_pop, has its commands from here and puts replies in here.
 *
 * USER, PASS, STAT, then RETR of the newest mails, as many as the plan says and there are, each
 * with DELE behind it when rules.deletes; QUIT. A session that is to bounce has a wrong password.
 * One that the client leaves does so behind the greeting, USER, PASS or STAT: the points of trace.h
 * in order.
 *
 * A session was "delivered" when QUIT was answered with +OK, and its "recipients" are mails read. It
 * is deferred where a reply has [IN-USE] or [LOGIN-DELAY] of RFC 2449, or [SYS/TEMP] of RFC 3206.
 *
 * Nothing here allocates, logs, reads a clock or keeps a pointer.
 */

#include "bench/smtp-load/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The command of session->flight behind the greeting; ret_text has SESSION_OUTPUT_MAX. Its size. */
size_t pop_command(const struct session *session, const struct session_rules *rules,
		   char *ret_text);

/* As session_input(). */
enum session_status pop_input(struct session *session, const struct session_rules *rules,
			      const char *bytes, size_t size);

#ifdef __cplusplus
}
#endif
