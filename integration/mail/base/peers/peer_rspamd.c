/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rspamd's HTTP protocol: POST /checkv2 with the mail in chunks (RFC 9112 section 7.1), as its size
 * is not known before its end, and what is known of the envelope in header fields.
 */
#include <stdio.h>
#include <string.h>

#include "integration/mail/base/peers/peer_parts.h"

struct state {
	struct rspamd_reply reply;
};

/* ---- the request ---- */

/* Behind one another, in the room of a peer's buffer. */
struct head {
	char *text;
	size_t size;
	size_t room;
};

static void add_text(struct head *head, const char *text, size_t size)
{
	memcpy(head->text + head->size, text, size);
	head->size += size;
}

/*
 * A field with a value that is none of ours: what could end a line is "?". One that has no room is
 * left out, such as the last of thousands of recipients.
 */
static void add_field(struct head *head, const char *name, const char *value)
{
	const size_t name_size = strlen(name);
	const size_t value_size = value == NULL ? 0 : strlen(value);
	if (value == NULL || name_size + value_size + 4 > head->room - head->size)
		return;
	add_text(head, name, name_size);
	add_text(head, ": ", 2);
	for (size_t i = 0; i < value_size; i++) {
		const unsigned char c = (unsigned char)value[i];
		head->text[head->size++] = c < ' ' || c == 0x7f ? '?' : value[i];
	}
	add_text(head, "\r\n", 2);
}

#define REQUEST_MAX 65536

static void begin(struct peer *peer)
{
	static const char line[] = "POST /checkv2 HTTP/1.1\r\nHost: rspamd\r\n"
				   "Connection: close\r\nTransfer-Encoding: chunked\r\n";
	const struct scan_envelope *envelope = &peer->envelope;
	struct head head = { .text = (char *)peer_make(peer, REQUEST_MAX),
			     .room = REQUEST_MAX - 2 };
	if (head.text == NULL)
		return;
	add_text(&head, line, sizeof(line) - 1);
	add_field(&head, "IP", envelope->client);
	add_field(&head, "Helo", envelope->helo);
	add_field(&head, "Queue-Id", envelope->id);
	add_field(&head, "From", envelope->sender);
	for (size_t i = 0; i < envelope->recipient_count; i++)
		add_field(&head, "Rcpt", envelope->recipients[i]);
	head.room += 2;
	add_text(&head, "\r\n", 2);
	peer_made(peer, head.size);
}

static void push(struct peer *peer, const uint8_t *bytes, size_t size)
{
	char head[16];
	const int head_size = snprintf(head, sizeof(head), "%zx\r\n", size);
	peer_send(peer, head, (size_t)head_size, bytes, size, "\r\n", 2);
}

static void end(struct peer *peer)
{
	static const char last[] = "0\r\n\r\n";
	peer_send(peer, last, sizeof(last) - 1, NULL, 0, NULL, 0);
}

/* ---- the reply ---- */

struct row {
	const char *word;
	enum scan_action action;
	bool is_found;
};

/*
 * "greylist" is what rspamd's own milter lets pass: a mail that is to come again is "soft reject".
 * What it wants quarantined is decided by our settings, and nothing is thrown away silently.
 */
static const struct row rows[] = {
	{ "no action", SCAN_ACCEPT, false },  { "greylist", SCAN_ACCEPT, false },
	{ "add header", SCAN_MARK, false },   { "rewrite subject", SCAN_MARK, false },
	{ "soft reject", SCAN_DEFER, false }, { "reject", SCAN_REJECT, false },
	{ "quarantine", SCAN_REJECT, true },  { "discard", SCAN_REJECT, false },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void decide(struct peer *peer, const struct rspamd_reply *reply)
{
	size_t i = 0;
	if (!peer->is_ended) {
		peer_fail(peer, "a reply came before the end of the mail");
		return;
	}
	while (i < ROW_COUNT && strcmp(rows[i].word, reply->action) != 0)
		i++;
	/* Sites may have actions of their own, which are shown and do nothing. */
	const struct row row =
		i < ROW_COUNT ? rows[i] : (struct row){ reply->action, SCAN_MARK, false };
	const bool has_message = reply->message[0] != '\0' && row.action >= SCAN_DEFER;
	if (row.action == SCAN_ACCEPT)
		peer_finish(peer, SCAN_ACCEPT, false, "");
	else
		peer_finish(peer, row.action, row.is_found,
			    has_message ? reply->message : row.word);
}

static void take(struct peer *peer, const uint8_t *bytes, size_t size)
{
	struct state *state = peer->state;
	const enum reply_status status = size > 0 ? rspamd_reply_push(&state->reply, bytes, size)
						  : rspamd_reply_close(&state->reply);
	if (status == REPLY_WHOLE)
		decide(peer, &state->reply);
	else if (status == REPLY_BAD && state->reply.code != 0 && state->reply.code != 200)
		peer_fail(peer, "HTTP status is %u", state->reply.code);
	else if (status == REPLY_BAD)
		peer_fail(peer, size > 0 ? "reply is none" : "connection was closed");
}

const struct peer_kind peer_rspamd = {
	.state_size = sizeof(struct state),
	.open = begin,
	.push = push,
	.end = end,
	.take = take,
};
