/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clamd(8), INSTREAM: "zINSTREAM" and a NUL, then chunks of a size in four bytes, the last of size 0.
 * It may answer before that, when it has had enough, and closes.
 */

#include "integration/mail/base/peers/peer_parts.h"
#include "lib/format/bytes.h"

struct state {
	struct clamd_reply reply;
};

#define SIZE_SIZE 4

static void begin(struct peer *peer)
{
	static const char command[] = "zINSTREAM"; /* with its NUL */
	peer_send(peer, command, sizeof(command), NULL, 0, NULL, 0);
}

static void push(struct peer *peer, const uint8_t *bytes, size_t size)
{
	uint8_t head[SIZE_SIZE];
	uint8_t *end = head;
	bytes_put(&end, size, sizeof(head));
	peer_send(peer, head, sizeof(head), bytes, size, NULL, 0);
}

static void end(struct peer *peer)
{
	static const uint8_t last[SIZE_SIZE] = { 0 };
	peer_send(peer, last, sizeof(last), NULL, 0, NULL, 0);
}

static void decide(struct peer *peer, const struct clamd_reply *reply)
{
	enum clamd_word word;
	char text[REPLY_TEXT_MAX];
	if (!clamd_reply_read(reply, &word, text))
		peer_fail(peer, "reply is none");
	else if (word == CLAMD_FOUND)
		peer_finish(peer, SCAN_REJECT, true, text);
	else if (word == CLAMD_ERROR)
		peer_fail(peer, "%.120s", text);
	else if (!peer->is_ended)
		peer_fail(peer, "\"OK\" came before the end of the mail");
	else
		peer_finish(peer, SCAN_ACCEPT, false, "");
}

static void take(struct peer *peer, const uint8_t *bytes, size_t size)
{
	struct state *state = peer->state;
	if (size == 0) {
		peer_fail(peer, "connection was closed");
		return;
	}
	const enum reply_status status = clamd_reply_push(&state->reply, bytes, size);
	if (status == REPLY_BAD)
		peer_fail(peer, "reply is too long");
	else if (status == REPLY_WHOLE)
		decide(peer, &state->reply);
}

const struct peer_kind peer_clamd = {
	.state_size = sizeof(struct state),
	.open = begin,
	.push = push,
	.end = end,
	.take = take,
};
