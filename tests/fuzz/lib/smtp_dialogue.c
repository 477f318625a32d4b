/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a client says from its first byte on, in one piece and in pieces: the same replies, the
 * same mails and the same state at the end; and whatever it says, the state is one that a capsule
 * may carry, each reply is one of SMTP, and what is handed out can be written into a command.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what is offered, a bit each, and 0x20: limits are small; 0x80: LMTP
 *        1      1   bytes in a piece, less one
 *        2      .   the stream
 *
 * Recipients with a "b" at the beginning are refused; other letters have other answers.
 */

#include "lib/smtp/body.h"
#include "lib/smtp/dialogue.h"

#include <stdio.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNREAD_MAX 8192
#define ANSWER_MAX 64

enum reading { COMMANDS, DATA, CHUNK, SWALLOW, SKIP };

struct run {
	struct dialogue_limits limits;
	struct dialogue dialogue;
	struct dialogue_event event;
	struct body body;
	enum reading reading;
	uint64_t chunk_left;
	bool is_last;
	bool is_closed;
	uint8_t unread[UNREAD_MAX];
	size_t unread_size;
	uint64_t hash;	    /* of all that was said and taken */
	uint64_t mail_hash; /* of the mail that comes; worth nothing when it is refused */
	unsigned mail_count;
};

static void add_to(uint64_t *hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < size; i++)
		*hash = (*hash ^ at[i]) * 1099511628211U;
}

static void add(struct run *run, const void *bytes, size_t size)
{
	add_to(&run->hash, bytes, size);
}

/* ---- what has to be true ---- */

static void check_reply(const struct dialogue_event *event)
{
	const char *at = event->reply;
	require(strlen(at) == event->reply_size, "a reply is text");
	while (*at != '\0') {
		const char *end = strstr(at, "\r\n");
		require(end != NULL && end - at >= 4 && end - at <= 510, "a line of a reply");
		require(at[0] >= '2' && at[0] <= '5' && at[0] != '1' && at[1] >= '0' &&
				at[1] <= '9' && at[2] >= '0' && at[2] <= '9' &&
				(at[3] == ' ' || at[3] == '-'),
			"a line begins with its code");
		for (const char *c = at; c < end; c++)
			require(*c >= ' ' && *c <= '~', "a reply is printable");
		require(at[3] == ' ' || end[2] != '\0', "a reply goes on to its last line");
		at = end + 2;
	}
}

/* As a sink would write it, it would be one line with one path. */
static void check_text(const char *text, bool is_utf8)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		require(byte >= ' ' && byte != 0x7f, "no control character is handed out");
		require(byte < 0x80 || is_utf8, "nothing beyond ASCII is handed out");
	}
}

static void check_parsed_again(const char *address, bool is_utf8)
{
	char line[ENVELOPE_ADDRESS_MAX + 8];
	struct recipient again;
	struct command_bad bad = { 0, NULL };
	if (address[0] == '\0')
		return;
	int line_size = snprintf(line, sizeof(line), "TO:<%s>", address);
	require(command_parse_rcpt(line, (size_t)line_size, 0, is_utf8, &again, &bad) &&
			strcmp(again.address, address) == 0,
		"an address that was taken is taken again");
}

/* ---- the caller's part ---- */

static void act(struct run *run, enum dialogue_action action);

static void answer(struct run *run, const char *text)
{
	struct dialogue *dialogue = &run->dialogue;
	switch (text[0]) {
	case 'b':
		act(run,
		    dialogue_refuse(dialogue, &run->limits, DIALOGUE_NO_SUCH_USER, &run->event));
		break;
	case 'c':
		act(run, dialogue_answer(dialogue, &run->limits, 450, text, &run->event));
		break;
	case 'd':
		act(run, dialogue_answer(dialogue, &run->limits, 251, "a\nb\r\nc", &run->event));
		break;
	case 'e':
		act(run, dialogue_answer(dialogue, &run->limits, 42, text, &run->event));
		break;
	case 'f':
		act(run, dialogue_refuse(dialogue, &run->limits, DIALOGUE_BUSY, &run->event));
		break;
	default:
		act(run, dialogue_accept(dialogue, &run->limits, &run->event));
	}
}

static void answer_mail(struct run *run)
{
	const char *sender = run->dialogue.envelope.sender;
	if (run->body.refusal != BODY_FINE) {
		act(run, dialogue_answer(&run->dialogue, &run->limits, body_code(run->body.refusal),
					 body_text(run->body.refusal), &run->event));
		return;
	}
	run->mail_count++;
	add(run, &run->mail_hash, sizeof(run->mail_hash));
	add(run, sender, strlen(sender));
	answer(run, sender[0] == 'x' ? sender + 1 : "");
}

static void begin_mail(struct run *run)
{
	body_init(&run->body, run->limits.size_max);
	run->mail_hash = 0;
}

static void begin_tls(struct run *run)
{
	add(run, run->event.reply, run->event.reply_size);
	dialogue_tls(&run->dialogue);
}

static void act(struct run *run, enum dialogue_action action)
{
	struct dialogue_event *event = &run->event;
	bool is_utf8 = run->dialogue.envelope.is_utf8;
	check_reply(event);
	require(dialogue_is_valid(&run->dialogue), "a state that a capsule may carry");
	require(event->reply_count == 1 || (run->limits.is_lmtp && event->reply_count > 1),
		"one reply, but where LMTP has more");
	add(run, &event->reply_count, sizeof(event->reply_count));
	add(run, &action, sizeof(action));
	switch (action) {
	case DIALOGUE_MAIL:
		check_text(event->envelope->sender, is_utf8);
		check_parsed_again(event->envelope->sender, is_utf8);
		answer(run, event->envelope->sender);
		return;
	case DIALOGUE_RECIPIENT:
		require(dialogue_is_valid_recipient(&event->recipient, is_utf8), "a recipient");
		check_text(event->recipient.address, is_utf8);
		check_text(event->recipient.orcpt, is_utf8);
		check_parsed_again(event->recipient.address, is_utf8);
		answer(run, event->recipient.address);
		return;
	case DIALOGUE_XCLIENT:
		answer(run, (const char[]){ (char)event->xclient.client_port, '\0' });
		return;
	case DIALOGUE_STARTTLS:
		begin_tls(run);
		return;
	case DIALOGUE_BDAT:
	case DIALOGUE_DATA:
		if (action == DIALOGUE_DATA || event->is_first)
			begin_mail(run);
		run->is_last = event->is_last;
		run->chunk_left = event->chunk_size;
		run->reading = action == DIALOGUE_DATA ? DATA : CHUNK;
		break;
	case DIALOGUE_SWALLOW:
		run->chunk_left = event->chunk_size;
		run->reading = SWALLOW;
		break;
	case DIALOGUE_QUIT:
	case DIALOGUE_CLOSE:
		require(run->dialogue.state == DIALOGUE_AT_END, "the end is a state");
		run->is_closed = true;
		break;
	default:
		break;
	}
	require(event->reply_size > 0 || action == DIALOGUE_BDAT, "something is said");
	add(run, event->reply, event->reply_size);
}

/* ---- bytes ---- */

static void drop(struct run *run, size_t size)
{
	require(size <= run->unread_size, "not more is taken than there is");
	run->unread_size -= size;
	memmove(run->unread, run->unread + size, run->unread_size);
}

static bool read_command(struct run *run)
{
	char line[DIALOGUE_LINE_MAX];
	size_t size = 0;
	enum lines_status status =
		lines_take(run->unread, run->unread_size, DIALOGUE_LINE_MAX, &size);
	if (status == LINES_MORE)
		return false;
	if (status == LINES_TOO_LONG)
		run->reading = SKIP;
	if (status != LINES_READY) {
		act(run, dialogue_malformed(&run->dialogue, &run->limits, status, &run->event));
		return true;
	}
	memcpy(line, run->unread, size);
	drop(run, size + LINES_END_SIZE);
	act(run, dialogue_step(&run->dialogue, &run->limits, line, size, &run->event));
	return true;
}

static bool read_data(struct run *run)
{
	size_t used = 0;
	size_t out_size = 0;
	enum body_status status =
		body_take(&run->body, run->unread, run->unread_size, &used, run->unread, &out_size);
	require(out_size <= used, "not more comes out than goes in");
	add_to(&run->mail_hash, run->unread, out_size);
	drop(run, used);
	if (status == BODY_MORE)
		return false;
	run->reading = COMMANDS;
	answer_mail(run);
	return true;
}

static bool read_chunk(struct run *run)
{
	uint8_t end[BODY_END_MAX];
	size_t out_size = 0;
	size_t size =
		run->chunk_left < run->unread_size ? (size_t)run->chunk_left : run->unread_size;
	if (run->reading == CHUNK)
		body_take_chunk(&run->body, run->unread, size, run->unread, &out_size);
	add_to(&run->mail_hash, run->unread, out_size);
	drop(run, size);
	run->chunk_left -= size;
	if (run->chunk_left > 0)
		return false;
	bool is_swallowed = run->reading == SWALLOW;
	run->reading = COMMANDS;
	if (is_swallowed)
		return true;
	if (run->is_last)
		body_end(&run->body, end, &out_size);
	if (run->is_last || run->body.refusal != BODY_FINE)
		answer_mail(run);
	else
		answer(run, "");
	return true;
}

static bool read_rest_of_line(struct run *run)
{
	size_t used = 0;
	enum lines_status status = lines_skip(run->unread, run->unread_size, false, &used);
	drop(run, used);
	if (status == LINES_READY)
		run->reading = COMMANDS;
	return status == LINES_READY;
}

static bool read_some(struct run *run)
{
	switch (run->reading) {
	case COMMANDS:
		return read_command(run);
	case DATA:
		return read_data(run);
	case SKIP:
		return read_rest_of_line(run);
	default:
		return read_chunk(run);
	}
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
	bool is_small = (flags & 0x20) != 0;
	memset(run, 0, sizeof(*run));
	run->limits.offers_tls = (flags & 1) != 0;
	run->limits.requires_tls = (flags & 2) != 0;
	run->limits.offers_xclient = (flags & 4) != 0;
	run->limits.withheld = ((flags & 8) != 0 ? 0 : ENVELOPE_EXTENSION_SMTPUTF8) |
			       ((flags & 16) != 0 ? 0 : ENVELOPE_EXTENSION_DSN) |
			       ((flags & 0x40) != 0 ? ENVELOPE_EXTENSION_8BITMIME : 0);
	run->limits.is_lmtp = (flags & 0x80) != 0;
	run->limits.size_max = is_small ? 16 : 0;
	run->limits.recipients_max = is_small ? 2 : 0;
	run->limits.errors_max = is_small ? 5 : 0;
	run->limits.commands_max = is_small ? 20 : 0;
	run->limits.junk_max = is_small ? 5 : 0;
	run->limits.mails_max = is_small ? 2 : 0;
	run->limits.hostname = "mx.example.org";
	dialogue_init(&run->dialogue);
}

static void require_same(const struct dialogue *one, const struct dialogue *other)
{
	require(one->state == other->state && strcmp(one->helo, other->helo) == 0 &&
			one->is_esmtp == other->is_esmtp && one->is_tls == other->is_tls &&
			one->withheld == other->withheld &&
			strcmp(one->envelope.sender, other->envelope.sender) == 0 &&
			strcmp(one->envelope.envid, other->envelope.envid) == 0 &&
			one->recipient_count == other->recipient_count &&
			one->refused_count == other->refused_count &&
			one->mail_count == other->mail_count &&
			one->error_count == other->error_count &&
			one->command_count == other->command_count &&
			one->junk_count == other->junk_count && one->mail_size == other->mail_size,
		"the same state at the end");
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
	require(whole.hash == cut.hash && whole.mail_count == cut.mail_count,
		"pieces do not matter");
	require_same(&whole.dialogue, &cut.dialogue);
	return 0;
}
