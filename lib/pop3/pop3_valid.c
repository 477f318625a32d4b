/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_dialogue.h"

#include <string.h>

/* More than any session has, and far from where a counter turns over. */
#define COUNT_MAX 1000000000U

/* Sets of states, as in pop3_dialogue.c. */
#define AT(state) (1U << (POP3_AT_##state))

#define LOGGED_IN (AT(TRANSACTION) | AT(RETR_ASKED) | AT(TOP_ASKED) | AT(UPDATE_ASKED))
#define NO_USER	  AT(START)
#define NEEDS_WAY (AT(USER) | AT(SASL) | AT(LOGIN_ASKED) | LOGGED_IN)

static bool is_at(const struct pop3_dialogue *dialogue, unsigned set)
{
	return (set >> dialogue->state & 1U) != 0;
}

static bool is_way(unsigned way)
{
	return way == 0 || way == POP3_WAY_USER || way == POP3_WAY_APOP || way == POP3_WAY_PLAIN ||
	       way == POP3_WAY_SCRAM;
}

/* A way and a name come together, but for SCRAM and while PLAIN is waited for. */
static bool is_valid_login(const struct pop3_dialogue *dialogue)
{
	const unsigned way = dialogue->way;
	const char *end = memchr(dialogue->user, '\0', sizeof(dialogue->user));
	const size_t user_size = end != NULL ? (size_t)(end - dialogue->user) : 0;
	if (end == NULL || !is_way(way) || (dialogue->is_challenged && way != POP3_WAY_SCRAM))
		return false;
	if (user_size > 0 && !sasl_is_text(dialogue->user, user_size))
		return false;
	if (way == 0)
		return user_size == 0 && !is_at(dialogue, NEEDS_WAY);
	if (is_at(dialogue, NO_USER))
		return false;
	if (way == POP3_WAY_SCRAM)
		return !is_at(dialogue, AT(USER) | AT(TLS_ASKED));
	if (is_at(dialogue, AT(SASL)))
		return way == POP3_WAY_PLAIN && user_size == 0;
	const bool is_plain = way == POP3_WAY_USER || !is_at(dialogue, AT(USER) | AT(TLS_ASKED));
	return is_plain && (user_size > 0 || is_at(dialogue, AT(END)));
}

bool pop3_dialogue_is_valid(const struct pop3_dialogue *dialogue)
{
	if ((unsigned)dialogue->state >= POP3_STATE_COUNT || !is_valid_login(dialogue))
		return false;
	if (dialogue->is_utf8 && is_at(dialogue, AT(TLS_ASKED)))
		return false;
	if (dialogue->is_tls && is_at(dialogue, AT(TLS_ASKED)))
		return false;
	if (dialogue->octets > 0 && !is_at(dialogue, AT(RETR_ASKED) | AT(END)))
		return false;
	return dialogue->login_count <= dialogue->error_count &&
	       dialogue->error_count <= COUNT_MAX && dialogue->command_count <= COUNT_MAX;
}
