/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a next hop says to who asks it about recipients: whatever it is, a question has one answer
 * at most, and that is the reply to its RCPT: said when RCPT had been heard, and nothing else.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   how many questions, less one, in the lowest two bits; 0x04: with SMTPUTF8;
 *                   0x08: they come later, and not as soon as there may be one
 *        1      1   bytes that are sent at a time, less one; 255: as many as are read at once
 *        2      .   what is said: 01 ends what is for one command (or is the greeting), 02 hangs
 *                   up, 03 ends it too, but what follows waits for no command
 */

#include "integration/mail/smtp-front/recipients/hop.h"
#include "lib/smtp/replies.h"
#include "tests/fuzz/replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

#define WAITS	    0x01
#define HANGS_UP    0x02
#define WAITS_NOT   0x03
#define AT_ONCE	    2048 /* hop.c reads so many */
#define ROUNDS_MORE 100	 /* of the loop, beyond those for each byte */
#define HOSTNAME    "mx.example.org"
#define ADDRESS	    "inbox@example.com"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum command { EHLO, HELO, MAIL, RCPT, RSET, COMMANDS, NONE = COMMANDS };

struct server {
	int fd;
	const uint8_t *script;
	size_t script_size;
	size_t piece;
	uint8_t *said; /* the script without its marks, as far as it is due */
	size_t said_size;
	size_t sent_size;
	enum command last;
	size_t heard_at[COMMANDS]; /* sent_size then: no reply to it begins before */
	bool is_closing;
	char line[HOP_COMMANDS_MAX];
	size_t line_size;
};

struct run {
	struct hop hop;
	struct server server;
	unsigned question_count; /* that are left */
	bool is_utf8;
	bool is_late;
	bool is_asked; /* a question that has no answer yet */
	unsigned failed_count;
	unsigned closed_count;
};

static uv_loop_t loop;
static struct sockaddr_un place = { .sun_family = AF_UNIX };
static char directory[64];
static int listener = -1;

static void leave(void)
{
	unlink(place.sun_path);
	rmdir(directory);
}

/* One place for all inputs; the directory is gone when the process ends. */
static void listen_once(void)
{
	if (listener >= 0)
		return;
	snprintf(directory, sizeof(directory), "/tmp/dnsblv6-fuzz-XXXXXX");
	require(mkdtemp(directory) != NULL, "a directory");
	snprintf(place.sun_path, sizeof(place.sun_path), "%s/hop", directory);
	atexit(leave);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(listener >= 0 && uv_loop_init(&loop) == 0, "a loop");
	require(bind(listener, (const struct sockaddr *)&place, sizeof(place)) == 0 &&
			listen(listener, 4) == 0,
		"a place");
}

/* ---- replies, as they ought to be understood ---- */

/* As replies_parse(), of what was sent from *at on; *at becomes the end of the reply. */
static int reply_at(const struct server *server, size_t *at)
{
	static const struct replies_limits limits = { REPLIES_LINE_MAX, REPLIES_LINES_MAX };
	size_t size = 0;
	int code = replies_parse(server->said + *at, server->sent_size - *at, &limits, &size);
	*at += size;
	return code;
}

/* To a command that was said when the one before had its reply. */
static int reply_to(const struct server *server, enum command command)
{
	size_t at = server->heard_at[command];
	return reply_at(server, &at);
}

static bool offers(const struct server *server, const char *word)
{
	const size_t begin = server->heard_at[EHLO];
	size_t at = begin;
	return server->last != HELO && reply_at(server, &at) == 250 &&
	       replies_offer(server->said + begin, at - begin, word);
}

/*
 * What the replies to a question mean; each is behind those before, and behind its command. 0
 * when the sender was refused.
 */
static int find_answer(const struct server *server, size_t *ret_end)
{
	size_t at = server->heard_at[MAIL];
	const int sender = reply_at(server, &at);
	require(sender >= 200, "a reply to MAIL");
	*ret_end = at;
	if (server->last == RSET && server->heard_at[RCPT] < server->heard_at[MAIL])
		return 0; /* RCPT was not said */
	require(at >= server->heard_at[RCPT], "nothing is read before RCPT is said");
	const int code = reply_at(server, &at);
	require(code >= 200, "a reply to RCPT");
	*ret_end = at;
	return sender / 100 != 2 ? 0 : code / 100 == 2 ? 250 : code;
}

/* ---- the server ---- */

/* What is for one command. */
static void speak(struct server *server)
{
	while (server->script_size > 0 && *server->script != WAITS_NOT) {
		const uint8_t byte = *server->script++;
		server->script_size--;
		if (byte == WAITS)
			return;
		if (byte == HANGS_UP) {
			server->script_size = 0;
			server->is_closing = true;
			return;
		}
		server->said[server->said_size++] = byte;
	}
}

/* Also what would not have waited. */
static bool go_on(struct server *server)
{
	if (server->script_size == 0)
		return false;
	if (*server->script == WAITS_NOT) {
		server->script++;
		server->script_size--;
	}
	speak(server);
	return true;
}

static enum command find_command(const struct run *run)
{
	const char *const texts[COMMANDS] = {
		[EHLO] = "EHLO " HOSTNAME,
		[HELO] = "HELO " HOSTNAME,
		[MAIL] = run->is_utf8 ? "MAIL FROM:<> SMTPUTF8" : "MAIL FROM:<>",
		[RCPT] = "RCPT TO:<" ADDRESS ">",
		[RSET] = "RSET",
	};
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (strcmp(run->server.line, texts[i]) == 0)
			return (enum command)i;
	}
	return NONE;
}

/* One behind the other, each behind the reply to the one before unless that is offered. */
static void check_order(const struct server *server, enum command command)
{
	static const unsigned before[COMMANDS] = {
		[EHLO] = 1U << NONE,
		[HELO] = 1U << EHLO,
		[MAIL] = 1U << EHLO | 1U << HELO | 1U << RSET,
		[RCPT] = 1U << MAIL,
		[RSET] = 1U << MAIL | 1U << RCPT,
	};
	require(command != NONE && (before[command] & 1U << server->last) != 0,
		"a command in its place");
	if (command == HELO)
		require(reply_to(server, EHLO) / 100 == 5, "HELO when EHLO is refused");
	if ((command == RCPT || command == RSET) && reply_to(server, server->last) < 200)
		require(offers(server, "PIPELINING"), "a command that waits for its turn");
}

static void hear_line(struct run *run)
{
	struct server *server = &run->server;
	require(server->line_size > 0 && server->line[server->line_size - 1] == '\r',
		"a command ends in CRLF");
	server->line[server->line_size - 1] = '\0';
	server->line_size = 0;
	if (strcmp(server->line, "QUIT") == 0)
		return;
	const enum command command = find_command(run);
	check_order(server, command);
	if (command == MAIL) /* so that it is not taken for that of another question */
		server->heard_at[RCPT] = 0;
	server->heard_at[command] = server->sent_size;
	server->last = command;
	(void)go_on(server);
}

static bool hear(struct run *run)
{
	struct server *server = &run->server;
	char bytes[HOP_COMMANDS_MAX];
	const ssize_t size =
		server->fd < 0 ? 0 : recv(server->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	for (ssize_t i = 0; i < size; i++) {
		require(server->line_size < sizeof(server->line), "a command has its limit");
		if (bytes[i] == '\n')
			hear_line(run);
		else
			server->line[server->line_size++] = bytes[i];
	}
	return size > 0;
}

static bool send_some(struct server *server)
{
	size_t size = server->said_size - server->sent_size;
	if (server->fd < 0)
		return false;
	if (size == 0 && !server->is_closing)
		return false;
	size = size < server->piece ? size : server->piece;
	/* It may have gone. */
	(void)send(server->fd, server->said + server->sent_size, size, MSG_NOSIGNAL);
	server->sent_size += size;
	if (!server->is_closing || server->sent_size < server->said_size)
		return true;
	close(server->fd);
	server->fd = -1;
	return true;
}

/* ---- events ---- */

static void ask(struct run *run)
{
	if (run->question_count == 0 || run->hop.state != HOP_IDLE)
		return;
	run->question_count--;
	run->is_asked = true;
	run->is_utf8 = run->is_utf8 && run->hop.offers_utf8;
	hop_ask(&run->hop, ADDRESS, strlen(ADDRESS), run->is_utf8);
}

static void on_ready(struct hop *hop)
{
	struct run *run = hop->owner;
	size_t at = 0;
	require(hop->state == HOP_IDLE && !run->is_asked && run->server.last != NONE,
		"it is ready for a question");
	if (run->server.last == RSET) {
		(void)find_answer(&run->server, &at);
		require(at >= run->server.heard_at[RSET], "nothing is read before RSET is said");
		require(reply_at(&run->server, &at) == 250, "RSET is taken");
	} else {
		require(reply_to(&run->server, run->server.last) == 250, "EHLO or HELO is taken");
		require(!hop->offers_utf8 || offers(&run->server, "SMTPUTF8"), "it is offered");
	}
	if (!run->is_late)
		ask(run);
}

static void on_answer(struct hop *hop, const struct callforward_answer *answer)
{
	struct run *run = hop->owner;
	size_t end = 0;
	require(hop->state == HOP_BUSY && run->is_asked, "an answer to a question");
	run->is_asked = false;
	if (answer->code == 0 && run->server.last == MAIL) {
		require(reply_to(&run->server, MAIL) >= 300, "MAIL is refused");
		return;
	}
	require(answer->code == find_answer(&run->server, &end), "what the reply says");
	if (answer->code == 0)
		return;
	require(answer->code / 100 == answer->text[0] - '0' && answer->text[1] == '.',
		"an enhanced code");
	require(answer->code / 100 != 3 && answer->code != 421, "a code for a client");
	for (const char *c = answer->text; *c != '\0'; c++)
		require(*c >= ' ' && *c <= '~', "an answer is printable");
}

static void on_failed(struct hop *hop, enum hop_state state)
{
	struct run *run = hop->owner;
	require(hop->state == HOP_CLOSING && state != HOP_CLOSED && state != HOP_CLOSING,
		"it fails when it is open");
	run->failed_count++;
	run->question_count = 0;
}

static void on_closed(struct hop *hop)
{
	struct run *run = hop->owner;
	require(hop->state == HOP_CLOSED, "it is closed");
	run->closed_count++;
}

/* ---- one input ---- */

static void connect_all(struct run *run)
{
	static const struct hop_events events = { on_ready, on_answer, on_failed, on_closed };
	run->hop.owner = run;
	run->hop.events = &events;
	run->hop.hostname = HOSTNAME;
	require(hop_open(&run->hop, &loop, (const struct sockaddr *)&place, sizeof(place)) == 0,
		"a connection");
	run->server.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	require(run->server.fd >= 0, "the same");
	run->server.last = NONE;
	uv_run(&loop, UV_RUN_NOWAIT); /* which does not read yet */
	speak(&run->server);
}

/* Until nobody has anything to say. */
static void talk(struct run *run, size_t rounds_max)
{
	bool is_over = false;
	for (size_t i = 0; !is_over && run->closed_count == 0; i++) {
		require(i < rounds_max, "an end");
		const bool is_heard = hear(run);
		is_over = !send_some(&run->server) && !is_heard;
		if (is_over && run->server.fd >= 0 && run->server.script_size > 0 &&
		    *run->server.script == WAITS_NOT)
			is_over = !go_on(&run->server);
		uv_run(&loop, UV_RUN_NOWAIT);
		if (run->is_late && is_over && run->hop.state == HOP_IDLE &&
		    run->question_count > 0) {
			ask(run);
			is_over = false;
			uv_run(&loop, UV_RUN_NOWAIT);
		}
	}
}

static void finish(struct run *run)
{
	const bool is_idle = run->hop.state == HOP_IDLE;
	if (is_idle)
		hop_quit(&run->hop);
	else
		hop_close(&run->hop);
	while (uv_loop_alive(&loop))
		uv_run(&loop, UV_RUN_ONCE);
	require(run->closed_count == 1 && run->failed_count <= 1, "one end");
	if (run->server.fd >= 0)
		close(run->server.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	if (size < 2)
		return 0;
	listen_once();
	memset(&run, 0, sizeof(run));
	run.question_count = (data[0] & 3U) + 1;
	run.is_utf8 = (data[0] & 4) != 0;
	run.is_late = (data[0] & 8) != 0;
	run.server.piece = data[1] == 255 ? AT_ONCE : data[1] + 1U;
	run.server.script = data + 2;
	run.server.script_size = size - 2;
	run.server.said = malloc(size);
	require(run.server.said != NULL, "memory");
	connect_all(&run);
	talk(&run, 4 * size + ROUNDS_MORE);
	finish(&run);
	free(run.server.said);
	return 0;
}
