/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A client of any bytes and a next hop of any replies, with the session of mail-proxy between them:
 *
 *     byte 0     bits: 1 LMTP, 2 filter, 4 a limit of 64 bytes for a mail, 8 the next hop closes at
 *                its last reply, 16 it is silent at the end of a mail, 32 it cannot be reached twice,
 *                64 TLS is offered, 128 that of the next hop is
 *     byte 1     how it is cut; 128: with TLS offered, no login before it
 *     to 0xff    what the client sends; with 64 it waits at 0xfe until there is nothing to wait for, or
 *                until TLS begins, which takes what stands before
 *     then       replies of the next hop, a line each; when there are no more, it says what is usual
 *
 * Whatever it is, the next hop hears lines of commands that are known, and mails that end in one
 * CR LF . CR LF, which are what was scanned; no mail with the word that stands for a signature
 * comes to its end. What was said before TLS counts for nothing behind it. Unless a connection ends, it
 * is the same however the bytes are cut.
 */

#include "integration/mail/mail-proxy/smtp/mailtalk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

#define BLOCK	  16384
#define INPUT_MAX 4096

struct bytes {
	uint8_t *at;
	size_t size;
	size_t room;
};

static void add(struct bytes *bytes, const void *more, size_t size)
{
	if (size == 0)
		return;
	if (bytes->size + size > bytes->room) {
		bytes->room = 2 * (bytes->size + size);
		bytes->at = realloc(bytes->at, bytes->room);
	}
	if (bytes->at == NULL)
		abort();
	memcpy(bytes->at + bytes->size, more, size);
	bytes->size += size;
}

/* What the next hop is, and has. */
struct hop {
	bool is_connected;
	bool is_in_data;
	bool is_in_auth; /* a line is a response */
	bool is_closed;	 /* says nothing more */
	bool has_mail;	 /* a transaction is open */
	bool is_bound;	 /* by a login, XCLIENT or XFORWARD */
	bool is_foreign; /* one of these is from before TLS */
	unsigned connections;
	struct bytes line;
	struct bytes body; /* of the mail that comes, without dots */
	unsigned mails;
};

struct run {
	uint8_t client[INPUT_MAX];
	size_t client_size;
	size_t client_limit; /* where it waits */
	size_t client_shown;
	size_t client_taken;
	const uint8_t *script;
	size_t script_size;
	size_t script_at;
	unsigned options;
	bool has_plain_logins;
	uint32_t seed; /* 0: not cut */
	struct hop hop;
	struct bytes replies; /* said and not taken */
	size_t replies_shown;
	struct bytes scanned;
	bool is_judged_good;
	bool is_cut; /* a mail was given up, as the client had ended */
	bool is_over;
	struct bytes to_client; /* all of it */
	struct bytes heard;	/* by the next hop: commands, and mails that came to their end */
	struct mailtalk talk;
	struct mailtalk_rules rules;
};

/* At least one; all without a seed. */
static size_t cut(struct run *run, size_t left)
{
	if (run->seed == 0 || left == 0)
		return left;
	run->seed = run->seed * 1664525U + 1013904223U;
	const size_t size = run->seed >> 24 & 15;
	return size < 1 ? 1 : size < left ? size : left;
}

/* ---- the next hop ---- */

static void say(struct run *run, const char *usual)
{
	if (run->hop.is_closed)
		return;
	if (run->script_at == run->script_size) {
		add(&run->replies, usual, strlen(usual));
		return;
	}
	const uint8_t *begin = run->script + run->script_at;
	const uint8_t *end = memchr(begin, '\n', run->script_size - run->script_at);
	const size_t size =
		end != NULL ? (size_t)(end - begin) + 1 : run->script_size - run->script_at;
	add(&run->replies, begin, size);
	if (end == NULL)
		add(&run->replies, "\r\n", 2);
	run->script_at += size;
	if (run->script_at == run->script_size && (run->options & 8) != 0)
		run->hop.is_closed = true;
}

static void check_command(const struct bytes *line)
{
	static const char *const known[] = { "HELO ",	    "EHLO ",	"LHLO ",    "MAIL FROM:<",
					     "RCPT TO:<",   "DATA\r\n", "RSET\r\n", "NOOP\r\n",
					     "QUIT\r\n",    "AUTH ",	"XCLIENT ", "XFORWARD ",
					     "STARTTLS\r\n" };
	bool is_known = false;
	require(line->size >= 2 && memcmp(line->at + line->size - 2, "\r\n", 2) == 0,
		"a command ends in CRLF");
	for (size_t i = 0; i + 2 < line->size; i++)
		require(line->at[i] >= ' ' && line->at[i] != 0x7f, "a command is text");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const size_t size = strlen(known[i]);
		is_known =
			is_known || (line->size >= size && memcmp(line->at, known[i], size) == 0);
	}
	require(is_known, "a command is one that is known");
}

/* Is the reply that begins there, of one line, one of that code? */
static bool is_code(const struct bytes *replies, size_t at, const char *code)
{
	const uint8_t *reply = replies->at + at;
	const size_t size = replies->size - at;
	return size >= 4 && memcmp(reply, code, 3) == 0 &&
	       (reply[3] == ' ' || reply[3] == '\n' ||
		(size >= 5 && reply[3] == '\r' && reply[4] == '\n'));
}

static bool begins(const struct bytes *line, const char *verb)
{
	return line->size >= strlen(verb) && memcmp(line->at, verb, strlen(verb)) == 0;
}

static bool has_word(const struct bytes *body)
{
	return body->size > 0 && memmem(body->at, body->size, "EVIL", 4) != NULL;
}

static void end_mail(struct run *run)
{
	struct hop *hop = &run->hop;
	require(run->is_judged_good, "a mail ends when its verdict is good");
	require(!has_word(&hop->body), "a mail that is not to be there has no end");
	require(hop->body.size == run->scanned.size &&
			(hop->body.size == 0 ||
			 memcmp(hop->body.at, run->scanned.at, hop->body.size) == 0),
		"what the next hop has is what was scanned");
	add(&run->heard, hop->body.at, hop->body.size);
	add(&run->heard, ".\r\n", 3);
	hop->is_in_data = false;
	hop->has_mail = false;
	hop->mails++;
	if ((run->options & 16) != 0) {
		hop->is_closed = true;
		return;
	}
	const unsigned count = run->rules.is_lmtp ? run->talk.recipient_count : 1;
	for (unsigned i = 0; i < count; i++)
		say(run, "250 2.0.0 Ok\r\n");
}

/* Of a command: what it does to a transaction, and whether it may. */
static void follow(struct hop *hop, const struct bytes *line)
{
	const bool is_begin = begins(line, "HELO ") || begins(line, "EHLO ") ||
			      begins(line, "LHLO ") || begins(line, "RSET");
	if (is_begin) {
		hop->has_mail = false;
		hop->is_foreign = hop->is_foreign && hop->is_bound;
	}
	require(!hop->is_foreign || begins(line, "QUIT") || begins(line, "NOOP"),
		"what was said before TLS counts for nothing");
	hop->has_mail = hop->has_mail || begins(line, "MAIL ");
	hop->is_bound = hop->is_bound || begins(line, "XFORWARD ");
}

static void take_line(struct run *run)
{
	struct hop *hop = &run->hop;
	struct bytes *line = &hop->line;
	if (hop->is_in_data) {
		require(memchr(line->at, '\0', line->size) == NULL, "a mail has no NUL");
		require(memchr(line->at, '\r', line->size) == line->at + line->size - 2,
			"lines of a mail end in CRLF, and have no CR");
		if (line->size == 3 && line->at[0] == '.') {
			end_mail(run);
		} else {
			const size_t dot = line->at[0] == '.' ? 1 : 0;
			require(dot == 0 || line->at[1] == '.', "dots are doubled");
			add(&hop->body, line->at + dot, line->size - dot);
		}
	} else {
		if (!hop->is_in_auth) {
			check_command(line);
			require(!begins(line, "AUTH ") || run->has_plain_logins ||
					!run->rules.offers_tls || run->talk.is_secure,
				"a login comes under TLS");
			follow(hop, line);
		}
		add(&run->heard, line->at, line->size);
		const size_t before = run->replies.size;
		say(run, begins(line, "DATA") ? "354 Go\r\n"
			 : begins(line, "QUIT")
				 ? "221 Bye\r\n"
				 : (begins(line, "EHLO") || begins(line, "LHLO")
					    ? "250-hop\r\n250-STARTTLS\r\n250-SIZE 99\r\n"
					      "250-AUTH PLAIN\r\n"
					      "250-XCLIENT ADDR\r\n250-XFORWARD ADDR\r\n"
					      "250-SMTPUTF8\r\n250-8BITMIME\r\n250 DSN\r\n"
					    : "250 2.1.0 Ok\r\n"));
		const bool binds =
			hop->is_in_auth || begins(line, "AUTH ") || begins(line, "XCLIENT ");
		hop->is_bound = hop->is_bound || (binds && is_code(&run->replies, before, "250"));
		hop->is_in_auth = (begins(line, "AUTH ") || hop->is_in_auth) &&
				  is_code(&run->replies, before, "334");
		hop->is_in_data = !hop->is_in_auth && begins(line, "DATA") &&
				  is_code(&run->replies, before, "354");
		hop->body.size = 0;
	}
	line->size = 0;
}

static void hear(struct run *run, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		add(&run->hop.line, &bytes[i], 1);
		if (bytes[i] == '\n')
			take_line(run);
	}
}

/* ---- what the talk asks for ---- */

static void connect_hop(struct run *run)
{
	struct hop *hop = &run->hop;
	const bool is_there = hop->connections == 0 || (run->options & 32) == 0;
	hop->connections++;
	run->replies.size = 0;
	run->replies_shown = 0;
	hop->line.size = 0;
	hop->is_in_data = false;
	hop->is_in_auth = false;
	hop->has_mail = false;
	hop->is_bound = false;
	hop->is_foreign = false;
	hop->is_closed = false;
	hop->is_connected = is_there;
	if (is_there)
		say(run, "220 hop ESMTP\r\n");
	add(&run->heard, "<connected>", 11);
	mailtalk_connected(&run->talk, is_there);
}

/* The client goes on, behind what is left of its bytes. */
static void wait_no_more(struct run *run, size_t left)
{
	const size_t behind = run->client_limit + (run->client_limit < run->client_size);
	memmove(run->client + left, run->client + behind, run->client_size - behind);
	run->client_size -= behind - left;
	const uint8_t *end = memchr(run->client + left, 0xfe, run->client_size - left);
	run->client_limit = end != NULL ? (size_t)(end - run->client) : run->client_size;
}

/* Whatever stands before it is no record of TLS, and there is none without a client that goes on. */
static void begin_tls(struct run *run)
{
	run->is_over = run->client_limit == run->client_size;
	run->client_shown = run->client_taken;
	wait_no_more(run, run->client_taken);
	run->hop.is_foreign = run->hop.is_bound || run->hop.has_mail;
	mailtalk_secured(&run->talk);
}

static void do_ask(struct run *run, enum mailtalk_ask ask, const struct mailtalk_io *io)
{
	switch (ask) {
	case MAILTALK_CONNECT:
		connect_hop(run);
		break;
	case MAILTALK_DROP:
		run->hop.is_connected = false;
		run->replies.size = 0;
		run->replies_shown = 0;
		break;
	case MAILTALK_SCAN_BEGIN:
		run->scanned.size = 0;
		run->is_judged_good = false;
		mailtalk_scan_begun(&run->talk, true);
		break;
	case MAILTALK_SCAN_PUSH:
		require(io->piece_size > 0, "a piece has bytes");
		add(&run->scanned, io->scratch, io->piece_size);
		break;
	case MAILTALK_SCAN_END:
		run->is_judged_good = !has_word(&run->scanned);
		mailtalk_judge(&run->talk, run->is_judged_good ? 250 : 550, "5.7.1 Evil");
		break;
	case MAILTALK_TLS:
		begin_tls(run);
		break;
	case MAILTALK_TUNNEL:
	case MAILTALK_CLOSE:
		run->is_over = true;
		break;
	case MAILTALK_MAIL:
		run->is_cut = run->is_cut || run->talk.outcome.end == MAILTALK_CUT;
		break;
	case MAILTALK_SCAN_DROP:
	case MAILTALK_WAIT:
		break;
	}
}

/* ---- a run ---- */

static enum mailtalk_ask turn(struct run *run)
{
	static uint8_t to_client[BLOCK];
	static uint8_t to_server[BLOCK];
	static uint8_t scratch[BLOCK];
	struct mailtalk_io io = {
		.client = run->client + run->client_taken,
		.client_size = run->client_shown - run->client_taken,
		.is_client_ended = run->client_shown == run->client_size,
		.server = run->replies.at,
		.server_size = run->replies_shown,
		.is_server_ended = run->hop.is_closed && run->replies_shown == run->replies.size,
		.to_client = to_client,
		.to_client_room = sizeof(to_client),
		.to_server = to_server,
		.to_server_room =
			run->hop.is_connected && !run->hop.is_closed ? sizeof(to_server) : 0,
		.scratch = scratch,
		.scratch_room = sizeof(scratch),
	};
	const enum mailtalk_ask ask = mailtalk_turn(&run->talk, &io);
	require(io.client_used <= io.client_size && io.server_used <= io.server_size,
		"no more is taken than there is");
	require(io.to_client_size <= sizeof(to_client) && io.to_server_size <= io.to_server_room,
		"no more is said than there is room for");
	run->client_taken += io.client_used;
	if (io.server_used > 0) {
		memmove(run->replies.at, run->replies.at + io.server_used,
			run->replies.size - io.server_used);
		run->replies.size -= io.server_used;
		run->replies_shown -= io.server_used;
	}
	add(&run->to_client, to_client, io.to_client_size);
	hear(run, to_server, io.to_server_size);
	do_ask(run, ask, &io);
	return ask;
}

static void go(struct run *run)
{
	run->rules = (struct mailtalk_rules){ .is_lmtp = (run->options & 1) != 0,
					      .is_filter = (run->options & 2) != 0,
					      .offers_tls = (run->options & 64) != 0,
					      .has_plain_logins = run->has_plain_logins,
					      .passes_tls = (run->options & 128) != 0,
					      .size_max = (run->options & 4) != 0 ? 64 : 0 };
	mailtalk_init(&run->talk, &run->rules);
	for (unsigned rounds = 0; !run->is_over; rounds++) {
		require(rounds < 1000000, "it comes to an end");
		const uint64_t before = run->talk.steps;
		while (!run->is_over && turn(run) != MAILTALK_WAIT)
			;
		const size_t client_left = run->client_limit - run->client_shown;
		const size_t replies_left = run->replies.size - run->replies_shown;
		run->client_shown += cut(run, client_left);
		run->replies_shown += cut(run, replies_left);
		if (client_left > 0 || replies_left > 0 || before != run->talk.steps)
			continue;
		/* Nothing more can come: it would wait until the time is over. */
		if (run->client_limit == run->client_size)
			mailtalk_expire(&run->talk);
		else
			wait_no_more(run, run->client_limit);
	}
}

static void check_client(const struct run *run)
{
	const struct bytes *said = &run->to_client;
	size_t begin = 0;
	for (size_t i = 0; i < said->size; i++) {
		if (said->at[i] != '\n')
			continue;
		require(i >= begin + 4 && said->at[i - 1] == '\r', "replies end in CRLF");
		require(said->at[begin] >= '2' && said->at[begin] <= '5', "and begin with a code");
		begin = i + 1;
	}
	require(begin == said->size, "and are whole");
}

static void end(struct run *run)
{
	free(run->hop.line.at);
	free(run->hop.body.at);
	free(run->replies.at);
	free(run->scanned.at);
	free(run->to_client.at);
	free(run->heard.at);
}

/* There are bytes behind STARTTLS when it is read, or they come later. */
static bool is_refused_tls(const struct run *run)
{
	const struct bytes *said = &run->to_client;
	return said->size > 0 && memmem(said->at, said->size, "521 5.5.1 Nothing", 17) != NULL;
}

static bool is_same(const struct bytes *a, const struct bytes *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

/* The next hop has said what is no reply, or nothing. */
static bool has_lost(const struct run *run)
{
	const struct bytes *said = &run->to_client;
	return said->size > 0 && (memmem(said->at, said->size, "4.5.0 Next", 10) != NULL ||
				  memmem(said->at, said->size, "4.4.2 Next", 10) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void begin(struct run *run, const uint8_t *data, size_t size)
{
	const uint8_t *end_of_client = memchr(data + 2, 0xff, size - 2);
	memset(run, 0, sizeof(*run));
	run->options = data[0];
	run->has_plain_logins = (data[1] & 128) == 0;
	run->client_size = end_of_client != NULL ? (size_t)(end_of_client - data - 2) : size - 2;
	memcpy(run->client, data + 2, run->client_size);
	const uint8_t *limit = memchr(run->client, 0xfe, run->client_size);
	run->client_limit = limit != NULL && (run->options & 64) != 0
				    ? (size_t)(limit - run->client)
				    : run->client_size;
	run->script = end_of_client != NULL ? end_of_client + 1 : data + size;
	run->script_size = (size_t)(data + size - run->script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run whole;
	static struct run parts;
	if (size < 2 || size > INPUT_MAX)
		return 0;
	begin(&whole, data, size);
	begin(&parts, data, size);
	parts.seed = data[1] * 2654435761U + 1;
	go(&whole);
	go(&parts);
	check_client(&whole);
	check_client(&parts);
	/*
	 * What a client hears of a connection that ends depends on what it has said by then. With no whole
	 * command behind its last mail, that is given up where its end comes together with the mail.
	 */
	if ((whole.options & (8 | 16)) == 0 && !has_lost(&whole) && !is_refused_tls(&whole) &&
	    whole.is_cut == parts.is_cut) {
		require(is_same(&whole.heard, &parts.heard),
			"the next hop hears the same, however it is cut");
		require(is_same(&whole.to_client, &parts.to_client), "and so does the client");
	}
	end(&whole);
	end(&parts);
	return 0;
}
