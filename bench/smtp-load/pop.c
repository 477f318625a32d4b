/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/pop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum step {
	STEP_GREETING, /* as session.c's, which has the PROXY header */
	STEP_USER,
	STEP_PASS,
	STEP_STAT,
	STEP_RETR,
	STEP_DELE,
	STEP_QUIT,
};

/* ---- what is sent ---- */

static unsigned wanted(const struct session *session)
{
	const unsigned there = session->pop.messages;
	return session->plan.messages < there ? session->plan.messages : there;
}

/* The newest, oldest of them first. */
static unsigned number_of(const struct session *session)
{
	return session->pop.messages - wanted(session) + 1 + session->pop.index;
}

size_t pop_command(const struct session *session, const struct session_rules *rules, char *ret_text)
{
	static const char *const verbs[] = { [STEP_STAT] = "STAT",
					     [STEP_RETR] = "RETR",
					     [STEP_DELE] = "DELE",
					     [STEP_QUIT] = "QUIT" };
	const enum step step = session->flight;
	const struct session_template *user = &rules->valid;
	int size = 0;
	if (step == STEP_USER)
		size = snprintf(ret_text, SESSION_OUTPUT_MAX, "USER %s%u%s\r\n", user->before,
				session->plan.first_user, user->behind);
	else if (step == STEP_PASS)
		size = snprintf(ret_text, SESSION_OUTPUT_MAX, "PASS %s%s\r\n", rules->password,
				session->plan.kind == TRACE_BOUNCE ? "-not" : "");
	else if (step == STEP_RETR || step == STEP_DELE)
		size = snprintf(ret_text, SESSION_OUTPUT_MAX, "%s %u\r\n", verbs[step],
				number_of(session));
	else
		size = snprintf(ret_text, SESSION_OUTPUT_MAX, "%s\r\n", verbs[step]);
	return (size_t)size;
}

/* ---- what comes back ---- */

static void decide(struct session *session, enum session_outcome outcome)
{
	if (session->outcome == SESSION_OPEN)
		session->outcome = outcome;
}

static enum session_status say(struct session *session, enum step step)
{
	session->flight = session->step = (uint8_t)step;
	session->flight_size = session->sent_bytes = 0;
	session->pop.line_size = 0;
	return session->outcome == SESSION_LEFT || session->outcome == SESSION_BROKEN
		       ? SESSION_OVER
		       : SESSION_GOES_ON;
}

static void leave_after(struct session *session, enum trace_point point)
{
	if (session->plan.kind == TRACE_UNFINISHED && session->plan.point == point)
		decide(session, SESSION_LEFT);
}

static enum session_status refuse(struct session *session)
{
	static const char *const later[] = { "[IN-USE]", "[LOGIN-DELAY]", "[SYS/TEMP]" };
	const char *code = strchr(session->pop.line, '[');
	const bool is_bounce = session->step == STEP_PASS && session->plan.kind == TRACE_BOUNCE;
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		if (code != NULL && strncmp(code, later[i], strlen(later[i])) == 0)
			decide(session, SESSION_DEFERRED);
	}
	decide(session, is_bounce ? SESSION_BOUNCED : SESSION_REFUSED);
	return session->step == STEP_QUIT ? SESSION_OVER : say(session, STEP_QUIT);
}

static enum session_status next_mail(struct session *session)
{
	return say(session, session->pop.index < wanted(session) ? STEP_RETR : STEP_QUIT);
}

static enum session_status take_stat(struct session *session)
{
	char *end = NULL;
	const unsigned long messages = strtoul(session->pop.line + strlen("+OK "), &end, 10);
	if (session->pop.line_size <= strlen("+OK ") || *end != ' ' || messages > UINT32_MAX)
		decide(session, SESSION_BROKEN);
	session->pop.messages = (unsigned)messages;
	leave_after(session, TRACE_AFTER_RCPT);
	return next_mail(session);
}

static enum session_status take_ok(struct session *session)
{
	switch (session->step) {
	case STEP_GREETING:
		leave_after(session, TRACE_AFTER_CONNECT);
		return say(session, STEP_USER);
	case STEP_USER:
		leave_after(session, TRACE_AFTER_HELO);
		return say(session, STEP_PASS);
	case STEP_PASS:
		if (session->plan.kind == TRACE_BOUNCE)
			decide(session, SESSION_BROKEN); /* a wrong password was right */
		leave_after(session, TRACE_AFTER_MAIL);
		return say(session, STEP_STAT);
	case STEP_STAT:
		return take_stat(session);
	case STEP_RETR:
		session->pop.is_in_mail = true;
		session->pop.matched = 2;
		return SESSION_GOES_ON;
	case STEP_DELE:
		session->pop.index++;
		return next_mail(session);
	default:
		decide(session, SESSION_DELIVERED);
		return SESSION_OVER;
	}
}

/* The mail's last byte. */
static enum session_status take_mail(struct session *session, const struct session_rules *rules)
{
	session->accepted++;
	session->pop.is_in_mail = false;
	if (rules->deletes)
		return say(session, STEP_DELE);
	session->pop.index++;
	return next_mail(session);
}

/* A status line has ended; what is longer than its room is cut. */
static enum session_status take_line(struct session *session)
{
	session->pop.line[session->pop.line_size] = '\0';
	if (strncmp(session->pop.line, "+OK", 3) == 0)
		return take_ok(session);
	if (strncmp(session->pop.line, "-ERR", 4) == 0)
		return refuse(session);
	decide(session, SESSION_BROKEN);
	return SESSION_OVER;
}

/* Is it the last byte of CR LF dot CR LF? */
static bool is_end(struct session_pop *pop, char byte)
{
	static const char end[] = "\r\n.\r\n";
	pop->matched = byte == end[pop->matched] ? pop->matched + 1 : byte == '\r';
	return pop->matched == sizeof(end) - 1;
}

enum session_status pop_input(struct session *session, const struct session_rules *rules,
			      const char *bytes, size_t size)
{
	struct session_pop *pop = &session->pop;
	enum session_status status = SESSION_GOES_ON;
	for (size_t at = 0; at < size && status == SESSION_GOES_ON; at++) {
		if (pop->is_in_mail) {
			if (is_end(pop, bytes[at]))
				status = take_mail(session, rules);
		} else if (bytes[at] == '\n') {
			status = take_line(session);
		} else if (pop->line_size < sizeof(pop->line) - 1) {
			pop->line[pop->line_size++] = bytes[at];
		}
	}
	return status;
}
