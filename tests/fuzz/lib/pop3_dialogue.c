/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a client says from its first byte on, in one piece and in pieces: the same replies, the same
 * mails deleted and the same state at the end; and whatever it says, the state is one that a capsule
 * may carry, each reply is one of POP3, and a mail that is handed out is there.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what is offered, a bit each, and 0x20: limits are small
 *        1      1   bytes in a piece, less one
 *        2      .   the stream
 *
 * Users with a "b" at the beginning have a wrong password; other letters have other answers.
 */

#include "lib/pop3/pop3_dialogue.h"
#include "lib/pop3/scram.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNREAD_MAX    8192
#define MESSAGE_COUNT 3

struct run {
	struct pop3_limits limits;
	struct pop3_dialogue dialogue;
	struct pop3_event event;
	struct pop3_message messages[MESSAGE_COUNT];
	struct pop3_maildrop maildrop;
	struct scram scram;
	bool is_skipping;
	bool is_closed;
	uint8_t unread[UNREAD_MAX];
	size_t unread_size;
	uint64_t hash; /* of all that was said and done */
};

static void add(struct run *run, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < size; i++)
		run->hash = (run->hash ^ at[i]) * 1099511628211U;
}

/* ---- what has to be true ---- */

static void check_reply(const struct pop3_event *event)
{
	const char *at = event->reply;
	require(strlen(at) == event->reply_size, "a reply is text");
	require(at[0] == '\0' || strncmp(at, "+OK", 3) == 0 || strncmp(at, "-ERR", 4) == 0 ||
			strncmp(at, "+ ", 2) == 0,
		"a reply begins with its status");
	const bool is_one = event->verb != POP3_VERB_CAPA || at[0] == '-';
	while (*at != '\0') {
		const char *end = strstr(at, "\r\n");
		require(end != NULL && (end - at <= 510 || at[1] == ' '), "a line of a reply");
		for (const char *c = at; c < end; c++)
			require(*c >= ' ' && *c <= '~', "a reply is printable");
		at = end + 2;
		require(*at == '\0' || !is_one, "a reply has one line");
	}
}

static void check_maildrop(const struct run *run)
{
	size_t left = 0;
	uint64_t octets = 0;
	for (size_t i = 0; i < run->maildrop.message_count; i++) {
		left += run->messages[i].is_deleted ? 0 : 1;
		octets += run->messages[i].is_deleted ? 0 : run->messages[i].octets;
	}
	require(left == run->maildrop.left_count && octets == run->maildrop.left_octets,
		"what is left is counted");
}

/* ---- the caller's part ---- */

static void act(struct run *run, enum pop3_action action);

static void refuse(struct run *run, enum pop3_refusal refusal)
{
	act(run, pop3_dialogue_refuse(&run->dialogue, &run->limits, refusal, &run->event));
}

static void accept_question(struct run *run)
{
	act(run, pop3_dialogue_accept(&run->dialogue, &run->limits, &run->maildrop, &run->event));
}

static void open_maildrop(struct run *run)
{
	memset(run->messages, 0, sizeof(run->messages));
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		run->messages[i].octets = 100 * (i + 1);
		memset(run->messages[i].uid, 'u', i + 1);
	}
	pop3_maildrop_init(run->messages, MESSAGE_COUNT, &run->maildrop);
}

static void answer_login(struct run *run, const char *user)
{
	require(sasl_is_text(user, strlen(user)), "a name is text");
	switch (user[0]) {
	case 'b':
		refuse(run, POP3_BAD_LOGIN);
		break;
	case 'c':
		refuse(run, POP3_IN_USE);
		break;
	case 'd':
		refuse(run, POP3_BUSY);
		break;
	case 'e':
		act(run,
		    pop3_dialogue_answer(&run->dialogue, &run->limits, false, user, &run->event));
		break;
	default:
		open_maildrop(run);
		accept_question(run);
	}
}

static void challenge(struct run *run, const char *text, size_t size)
{
	act(run, pop3_dialogue_challenge(&run->dialogue, text, size, &run->event));
}

/* A proof is none; so that there is more than one way on, the name "a" is taken without. */
static void answer_scram(struct run *run)
{
	const struct pop3_login *login = &run->event.login;
	const struct scram_keys keys = { .salt_size = 16, .iterations = 4096 };
	char text[SCRAM_ANSWER_MAX];
	size_t size = 0;
	if (login->is_first)
		scram_init(&run->scram);
	if (run->scram.state == SCRAM_AT_FIRST) {
		if (scram_first(&run->scram, login->message, login->message_size) != SASL_FINE)
			refuse(run, POP3_MALFORMED);
		else
			challenge(run, text, scram_challenge(&run->scram, &keys, "server", text));
		return;
	}
	if (run->scram.state == SCRAM_AT_EMPTY) {
		require(pop3_dialogue_name(&run->dialogue, run->scram.user), "a name");
		answer_login(run, run->scram.user);
		return;
	}
	require(run->scram.state == SCRAM_AT_FINAL, "an exchange goes on");
	const bool is_taken = strcmp(run->scram.user, "a") == 0;
	if (scram_final(&run->scram, login->message, login->message_size, text, &size) ==
		    SASL_WRONG &&
	    is_taken) {
		run->scram.state = SCRAM_AT_EMPTY;
		challenge(run, "v=", 2);
		return;
	}
	refuse(run, POP3_BAD_LOGIN);
}

static void take_login(struct run *run)
{
	const struct pop3_login *login = &run->event.login;
	add(run, login->user, strlen(login->user));
	add(run, login->password, strlen(login->password));
	require(login->message_size <= sizeof(login->message), "a message fits");
	add(run, login->message, login->message_size);
	if (login->way == POP3_WAY_SCRAM) {
		answer_scram(run);
		return;
	}
	require(sasl_is_text(login->password, strlen(login->password)), "a password is text");
	answer_login(run, run->dialogue.user);
}

static void take_message(struct run *run)
{
	const size_t i = run->event.index;
	require(i < MESSAGE_COUNT && !run->messages[i].is_deleted, "a mail that is there");
	add(run, &i, sizeof(i));
	if (i == 1)
		refuse(run, POP3_TRY_LATER);
	else
		accept_question(run);
}

static void send_list(struct run *run)
{
	char out[POP3_LIST_ROOM_MIN];
	size_t size = 0;
	while ((size = pop3_list_fill(&run->event.list, &run->maildrop, out, sizeof(out))) > 0)
		add(run, out, size);
}

static void act(struct run *run, enum pop3_action action)
{
	struct pop3_event *event = &run->event;
	check_reply(event);
	check_maildrop(run);
	require(pop3_dialogue_is_valid(&run->dialogue), "a state that a capsule may carry");
	add(run, &action, sizeof(action));
	switch (action) {
	case POP3_AUTHENTICATE:
		take_login(run);
		return;
	case POP3_RETR:
	case POP3_TOP:
		take_message(run);
		return;
	case POP3_UPDATE:
		accept_question(run);
		return;
	case POP3_STLS:
		pop3_dialogue_tls(&run->dialogue);
		break;
	case POP3_LIST:
		send_list(run);
		break;
	case POP3_QUIT:
	case POP3_CLOSE:
		require(run->dialogue.state == POP3_AT_END, "the end is a state");
		run->is_closed = true;
		break;
	default:
		break;
	}
	require(event->reply_size > 0, "something is said");
	add(run, event->reply, event->reply_size);
}

/* ---- bytes ---- */

static void drop(struct run *run, size_t size)
{
	require(size <= run->unread_size, "not more is taken than there is");
	run->unread_size -= size;
	memmove(run->unread, run->unread + size, run->unread_size);
}

static bool skip_line(struct run *run)
{
	size_t used = 0;
	const enum lines_status status = lines_skip(run->unread, run->unread_size, false, &used);
	drop(run, used);
	run->is_skipping = status != LINES_READY;
	return !run->is_skipping;
}

static bool read_some(struct run *run)
{
	char line[POP3_AUTH_LINE_MAX];
	size_t size = 0;
	if (run->is_skipping)
		return skip_line(run);
	const enum lines_status status = lines_take(run->unread, run->unread_size,
						    pop3_dialogue_line_max(&run->dialogue), &size);
	if (status == LINES_MORE)
		return false;
	if (status != LINES_READY) {
		run->is_skipping = status == LINES_TOO_LONG;
		act(run,
		    pop3_dialogue_malformed(&run->dialogue, &run->limits, status, &run->event));
		return true;
	}
	memcpy(line, run->unread, size);
	drop(run, size + LINES_END_SIZE);
	act(run, pop3_dialogue_step(&run->dialogue, &run->limits, &run->maildrop, line, size,
				    &run->event));
	return true;
}

static void feed(struct run *run, const uint8_t *bytes, size_t size, size_t piece)
{
	for (size_t fed = 0; fed < size && !run->is_closed;) {
		size_t part = size - fed < piece ? size - fed : piece;
		if (part > UNREAD_MAX - run->unread_size)
			part = UNREAD_MAX - run->unread_size;
		require(part > 0, "there is always room");
		memcpy(run->unread + run->unread_size, bytes + fed, part);
		run->unread_size += part;
		fed += part;
		while (!run->is_closed && read_some(run))
			;
	}
}

static void begin(struct run *run, uint8_t flags)
{
	const bool is_small = (flags & 0x20) != 0;
	memset(run, 0, sizeof(*run));
	run->limits.offers_tls = (flags & 1) != 0;
	run->limits.requires_tls = (flags & 2) != 0;
	run->limits.offers_utf8 = (flags & 4) != 0;
	run->limits.ways = POP3_WAY_ALL & ~((flags & 8) != 0 ? 0U : POP3_WAY_APOP);
	run->limits.implementation = (flags & 16) != 0 ? "x" : NULL;
	run->limits.errors_max = is_small ? 5 : 0;
	run->limits.logins_max = is_small ? 2 : 0;
	run->limits.commands_max = is_small ? 12 : 0;
	run->limits.hostname = "mx.example.org";
	run->limits.apop_stamp = "<1@mx.example.org>";
	pop3_dialogue_init(&run->dialogue);
}

static void require_same(const struct run *one, const struct run *other)
{
	const struct pop3_dialogue *a = &one->dialogue;
	const struct pop3_dialogue *b = &other->dialogue;
	require(one->hash == other->hash, "pieces do not matter");
	require(a->state == b->state && strcmp(a->user, b->user) == 0 && a->way == b->way &&
			a->is_challenged == b->is_challenged && a->octets == b->octets &&
			a->is_tls == b->is_tls && a->is_utf8 == b->is_utf8 &&
			a->login_count == b->login_count && a->error_count == b->error_count &&
			a->command_count == b->command_count,
		"the same state at the end");
	for (size_t i = 0; i < MESSAGE_COUNT; i++)
		require(one->messages[i].is_deleted == other->messages[i].is_deleted,
			"the same mails are deleted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run whole;
	static struct run cut;
	if (size < 2)
		return 0;
	begin(&whole, data[0]);
	begin(&cut, data[0]);
	feed(&whole, data + 2, size - 2, UNREAD_MAX);
	feed(&cut, data + 2, size - 2, data[1] + 1U);
	require_same(&whole, &cut);
	return 0;
}
