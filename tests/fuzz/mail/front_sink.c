/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a next hop says while it is given mails, by SMTP or LMTP: whatever it is, a mail is taken
 * when all of it was there and the replies to its end are 2xx, those too many as well, and refused
 * for good when the next hop has said so. No command is said before the reply to the last one was
 * read, and nothing behind it was; and how bytes come in pieces does not matter.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   0x01: LMTP; 0x06: how the client is told (enum setup_tell); 0x08: 8BITMIME;
 *                   0x10: SMTPUTF8; 0x20: SIZE and DSN; 0x40: three recipients; 0x80: a large mail
 *        1      1   how many mails, less one, in the lowest two bits; 0x04: the first is given up
 *                   before its end; 0x08: each is a session
 *        2      1   bytes that are read at a time, less one
 *        3      .   what is said: 01 ends what is for one command (or is the greeting), 02 hangs
 *                   up, 03 ends it too, but what follows comes amid a mail without being asked for
 *
 * The system calls of a connection are here, so that no time passes and no race is lost: a reply
 * is there as soon as its command is, and who waits for more has waited in vain.
 */

#include "integration/mail/smtp-front/sinks/remote_smtp.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "lib/smtp/replies.h"
#include "tests/fuzz/replies.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/fuzz/require.h"

#define WAITS	    0x01
#define HANGS_UP    0x02
#define UNASKED	    0x03
#define MAIL_MAX    (32 * 1024)
#define LINES_LARGE 800	   /* of a mail that does not go at once */
#define CALLS_MORE  100000 /* beyond those for each byte that is read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum hop_command { HELLO, HELO, XCLIENT, MAIL, RCPT, DATA, END, RSET, QUIT, COMMANDS, NONE };
enum hearing { PROXY, COMMAND_LINES, CONTENT };

/* One connection at a time. */
struct server {
	int fd; /* the client's; -1: none has come */
	const uint8_t *script;
	size_t script_size;
	uint8_t *said;
	size_t said_size; /* on this connection */
	size_t read_size; /* of it, by the client */
	bool is_closing;
	enum hearing hearing;
	enum hop_command last;
	size_t reply_at;     /* of what is said, where that to the last command begins */
	size_t hello_at;     /* the same to EHLO */
	int data_code;	     /* of that to DATA, when RSET has come behind it */
	bool is_told;	     /* by XCLIENT */
	bool is_open;	     /* a transaction, in which */
	unsigned rcpt_count; /* were taken */
	char line[REMOTE_COMMAND_MAX];
	size_t line_size;
	size_t content_size;
};

struct run {
	struct setup_sink setup;
	struct server server;
	unsigned tell;
	size_t piece;
	size_t calls_left;
	uint64_t hash; /* of all that was said on both sides, and of what came of it */
};

#define HOSTNAME  "mx.example.org"
#define HELO_NAME "a=b"

static struct run *current; /* that a connection is of */
static uint8_t mail[MAIL_MAX];
static size_t mail_size;
static uint8_t stuffed[MAIL_MAX];
static size_t stuffed_size;
static uint8_t content[MAIL_MAX]; /* as it has come */

static void add(struct run *run, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < size; i++)
		run->hash = (run->hash ^ at[i]) * 1099511628211U;
}

/* ---- replies, as they ought to be understood ---- */

/* As replies_parse(), of what is said from *at on; *at becomes the end of the reply. */
static int reply_at(const struct server *server, size_t *at)
{
	static const struct replies_limits limits = { REPLIES_LINE_MAX, REPLIES_LINES_MAX };
	size_t size = 0;
	const int code = replies_parse(server->said + *at, server->said_size - *at, &limits, &size);
	*at += size;
	return code;
}

/* To the last command. */
static int last_reply(const struct server *server)
{
	size_t at = server->reply_at;
	return reply_at(server, &at);
}

static unsigned count_replies(const struct run *run)
{
	const bool is_end = run->server.last == END;
	return is_end && run->setup.kind == SETUP_SINK_LMTP ? run->server.rcpt_count : 1;
}

/* How many of those to the end of the mail are of that class; *ret_end is where they end. */
static unsigned count_class(const struct run *run, int class, size_t *ret_end)
{
	unsigned count = 0;
	size_t at = run->server.reply_at;
	for (unsigned i = 0; i < count_replies(run); i++)
		count += reply_at(&run->server, &at) / 100 == class;
	*ret_end = at;
	return count;
}

static bool offers(const struct server *server, const char *word)
{
	size_t at = server->hello_at;
	return reply_at(server, &at) / 100 == 2 &&
	       replies_offer(server->said + server->hello_at, at - server->hello_at, word);
}

/* ---- the server ---- */

/* What is for one command. */
static void speak(struct server *server)
{
	while (server->script_size > 0 && *server->script != UNASKED) {
		const uint8_t byte = *server->script++;
		server->script_size--;
		server->is_closing = byte == HANGS_UP;
		if (byte == WAITS || byte == HANGS_UP)
			return;
		server->said[server->said_size++] = byte;
	}
}

/* Also what would not have waited. */
static void go_on(struct server *server)
{
	if (server->script_size > 0 && *server->script == UNASKED) {
		server->script++;
		server->script_size--;
	}
	speak(server);
}

static enum hop_command find_command(const struct run *run)
{
	const char *const beginnings[COMMANDS] = {
		[HELLO] = run->setup.kind == SETUP_SINK_LMTP ? "LHLO " : "EHLO ",
		[HELO] = "HELO ",
		[XCLIENT] = "XCLIENT ",
		[MAIL] = "MAIL FROM:<sender@example.net>",
		[RCPT] = "RCPT TO:<",
		[DATA] = "DATA",
		[END] = ".", /* none */
		[RSET] = "RSET",
		[QUIT] = "QUIT",
	};
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (strncmp(run->server.line, beginnings[i], strlen(beginnings[i])) == 0)
			return (enum hop_command)i;
	}
	return NONE;
}

/* What was said to the last command, when there is another. */
static void learn(struct run *run, int code)
{
	struct server *server = &run->server;
	size_t end = 0;
	(void)count_class(run, 2, &end);
	require(code >= 200 && end == server->said_size && end == server->read_size,
		"a command comes when a reply was read, and nothing else was said");
	if (server->last == MAIL && code / 100 == 2) {
		server->is_open = true;
		server->rcpt_count = 0;
	}
	server->rcpt_count += server->last == RCPT && code / 100 == 2;
	server->data_code = server->last == DATA ? code : 0;
	if (server->last == END || (server->last == RSET && code / 100 == 2))
		server->is_open = false;
}

static void check_place(const struct run *run, enum hop_command command, int code)
{
	static const unsigned before[COMMANDS] = {
		[HELLO] = 1U << NONE | 1U << XCLIENT,
		[HELO] = 1U << HELLO,
		[XCLIENT] = 1U << HELLO,
		[MAIL] = 1U << HELLO | 1U << HELO | 1U << RSET | 1U << END | 1U << MAIL,
		[RCPT] = 1U << MAIL | 1U << RCPT,
		[DATA] = 1U << RCPT,
		[RSET] = 1U << MAIL | 1U << RCPT | 1U << DATA,
	};
	const struct server *server = &run->server;
	require(command < COMMANDS && (before[command] & 1U << server->last) != 0,
		"a command in its place");
	if (command == HELO)
		require(code / 100 == 5, "HELO when EHLO is refused");
	else if (server->last == NONE || server->last <= XCLIENT)
		require(code / 100 == 2, "nothing is said to one that refuses us");
	require(server->is_open == (command == RCPT || command == DATA || command == RSET),
		"a transaction is open, or none is");
	require(command != DATA || server->rcpt_count > 0, "a mail has a recipient");
}

static bool says_clients_name(const struct run *run)
{
	const enum setup_tell tell = run->setup.tell;
	return tell == SETUP_TELL_PROXY || tell == SETUP_TELL_PROXY2 || run->server.is_told;
}

/* The client's name is said where the next hop was told of the client, and nowhere else. */
static void check_name(const struct run *run)
{
	require(strcmp(run->server.line + 5, says_clients_name(run) ? HELO_NAME : HOSTNAME) == 0,
		"a name in its place");
}

/* Nothing that is not offered. */
static void check_words(const struct run *run)
{
	static const char *const words[][2] = {
		{ " SIZE=", "SIZE" },	     { " BODY=8BITMIME", "8BITMIME" },
		{ " SMTPUTF8", "SMTPUTF8" }, { " RET=", "DSN" },
		{ " ENVID=", "DSN" },	     { " NOTIFY=", "DSN" },
		{ " ORCPT=", "DSN" },	     { "XCLIENT", "XCLIENT" },
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		require(strstr(run->server.line, words[i][0]) == NULL ||
				offers(&run->server, words[i][1]),
			words[i][1]);
}

static void hear_line(struct run *run)
{
	struct server *server = &run->server;
	const enum hop_command command = find_command(run);
	if (command != QUIT) {
		const int code = last_reply(server);
		learn(run, code);
		check_place(run, command, code);
		check_words(run);
		server->is_told |= command == XCLIENT;
		if (command == HELLO || command == HELO)
			check_name(run);
		server->reply_at = server->said_size;
		if (command == HELLO)
			server->hello_at = server->said_size;
		go_on(server);
	}
	server->last = command;
}

static void hear_command(struct run *run, uint8_t byte)
{
	struct server *server = &run->server;
	require(server->last != QUIT, "QUIT is the last command");
	require(server->line_size < sizeof(server->line), "a command has its limit");
	require(byte != '\0', "a command is text");
	server->line[server->line_size++] = (char)byte;
	if (byte != '\n')
		return;
	require(server->line_size > 2 && server->line[server->line_size - 2] == '\r',
		"a command ends in CRLF");
	server->line[server->line_size - 2] = '\0';
	require(strpbrk(server->line, "\r\n") == NULL, "a command is one line");
	server->line_size = 0;
	hear_line(run);
}

static void hear_content(struct run *run, uint8_t byte)
{
	struct server *server = &run->server;
	size_t end = server->reply_at;
	require(server->content_size < sizeof(content), "no more than the mail");
	content[server->content_size++] = byte;
	/* No mail here is empty. */
	if (server->content_size < 5 ||
	    memcmp(content + server->content_size - 5, "\r\n.\r\n", 5) != 0)
		return;
	require(reply_at(server, &end) == 354 && end == server->said_size,
		"a mail has an end when nothing was said to it");
	require(server->content_size == stuffed_size + 3 &&
			memcmp(content, stuffed, stuffed_size) == 0,
		"the mail, with its dots doubled");
	server->hearing = COMMAND_LINES;
	server->last = END;
	server->reply_at = server->said_size;
	go_on(server);
}

static void hear_proxy(struct run *run, uint8_t byte)
{
	struct server *server = &run->server;
	const uint8_t *header = (const uint8_t *)server->line;
	const bool is_text = run->setup.tell == SETUP_TELL_PROXY;
	require(server->line_size < 108, "a header has its limit");
	server->line[server->line_size++] = (char)byte;
	if (is_text ? byte != '\n' : server->line_size < 16 || server->line_size < 16U + header[15])
		return;
	require(memcmp(header, is_text ? "PROXY " : "\r\n\r\n\0\r", 6) == 0, "a header");
	server->line_size = 0;
	server->hearing = COMMAND_LINES;
}

static void hear(struct run *run, uint8_t byte)
{
	struct server *server = &run->server;
	if (server->hearing == PROXY) {
		hear_proxy(run, byte);
		return;
	}
	if (server->hearing == COMMAND_LINES && server->last == DATA && last_reply(server) == 354) {
		server->hearing = CONTENT;
		server->content_size = 0;
	}
	if (server->hearing == CONTENT)
		hear_content(run, byte);
	else
		hear_command(run, byte);
}

/* ---- the connection, in the place of the system ---- */

int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);

static bool is_ours(int fd)
{
	return current != NULL && current->server.fd == fd;
}

static bool is_closed(int fd)
{
	return fd < 0 || fcntl(fd, F_GETFD) < 0;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	if (current == NULL)
		return __real_connect(fd, address, size);
	struct server *server = &current->server;
	require(server->fd == fd || is_closed(server->fd), "one connection");
	server->fd = fd;
	server->said_size = server->read_size = 0;
	server->is_closing = server->is_open = server->is_told = false;
	server->hearing = current->setup.tell >= SETUP_TELL_PROXY ? PROXY : COMMAND_LINES;
	server->last = NONE;
	server->reply_at = server->hello_at = 0;
	server->line_size = 0;
	go_on(server);
	return 0;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
	if (!is_ours(fd))
		return __real_send(fd, bytes, size, flags);
	struct server *server = &current->server;
	if (server->is_closing) {
		errno = EPIPE;
		return -1;
	}
	add(current, bytes, size);
	for (size_t i = 0; i < size; i++)
		hear(current, ((const uint8_t *)bytes)[i]);
	if (server->hearing == CONTENT && server->script_size > 0 && *server->script == UNASKED)
		go_on(server);
	return (ssize_t)size;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags)
{
	if (!is_ours(fd))
		return __real_recv(fd, bytes, size, flags);
	struct server *server = &current->server;
	size_t count = server->said_size - server->read_size;
	require(current->calls_left-- > 0, "an end");
	if (count == 0) {
		errno = EAGAIN;
		return server->is_closing ? 0 : -1;
	}
	count = count < size ? count : size;
	count = count < current->piece ? count : current->piece;
	memcpy(bytes, server->said + server->read_size, count);
	if ((flags & MSG_PEEK) == 0)
		server->read_size += count;
	return (ssize_t)count;
}

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	if (count != 1 || !is_ours(polled->fd))
		return __real_poll(polled, count, timeout_ms);
	const struct server *server = &current->server;
	require(current->calls_left-- > 0, "an end");
	polled->revents = polled->events;
	return (polled->events & POLLOUT) != 0 || server->is_closing ||
	       server->read_size < server->said_size;
}

/* ---- what becomes of a mail ---- */

/* In the client's place. */
static void take_reply(struct run *run, bool is_good, const struct sink_reply *reply)
{
	const int class = reply->code / 100;
	const size_t size = strnlen(reply->text, sizeof(reply->text));
	require(is_good ? class == 2 : class == 4 || class == 5, "a code that says the same");
	require(reply->code != 421, "the client's session goes on");
	require(size <= SINK_TEXT_MAX, "a text ends");
	require(reply->text[0] == '0' + class && reply->text[1] == '.', "an enhanced code");
	add(run, &reply->code, sizeof(reply->code));
	add(run, reply->text, size);
}

/* Of a command that is replayed: what is said of it is what was said to it. */
static void check_replayed(const struct run *run, enum hop_command command, bool is_good,
			   const struct sink_reply *reply)
{
	const bool is_said = run->server.last == command;
	const int class = (is_said	     ? last_reply(&run->server)
			   : command == DATA ? run->server.data_code
					     : 0) /
			  100;
	require(!is_good || class == 2, "it is taken by who has taken it");
	require(is_good || reply->code / 100 != 5 || class == 5, "it is refused by who refuses it");
}

static void check_mail(const struct run *run, const struct envelope *envelope, bool is_good,
		       const struct sink_reply *reply)
{
	const struct server *server = &run->server;
	const bool is_asked_for = reply->code == 550 && envelope->is_utf8;
	const bool is_greeting = server->last == HELLO || server->last == HELO;
	if (is_greeting && says_clients_name(run) && last_reply(server) / 100 == 5)
		require(!is_good && (reply->code == last_reply(server) || reply->code / 100 == 4),
			"the client's name is refused");
	else if (server->last != MAIL && is_asked_for)
		require(!offers(server, "SMTPUTF8"), "SMTPUTF8 is taken where it is offered");
	else if (server->last != MAIL && reply->code == 554 && envelope->body == ENVELOPE_8BITMIME)
		require(!offers(server, "8BITMIME"), "8BITMIME is taken where it is offered");
	else
		check_replayed(run, MAIL, is_good, reply);
}

/* Behind those that were due; the 421 of a server that ends is about no mail. */
static bool is_excess(const struct server *server, size_t at)
{
	return at < server->said_size &&
	       (server->said_size - at < 3 || memcmp(server->said + at, "421", 3) != 0);
}

static void check_end(const struct run *run, bool is_good, const struct sink_reply *reply)
{
	const struct server *server = &run->server;
	const unsigned count = count_replies(run);
	size_t at = server->reply_at;
	bool is_taken = count_class(run, 2, &at) == count;
	bool is_refused = count_class(run, 5, &at) > 0;
	int code = 1;
	while (code > 0 && is_excess(server, at)) {
		code = reply_at(server, &at);
		is_taken = is_taken && code / 100 == 2;
		is_refused = is_refused || code / 100 == 5;
	}
	require(!is_good || is_taken, "all say that they have it");
	require(is_good || reply->code / 100 != 5 || is_refused, "it is refused by who refuses it");
}

static void check_commit(const struct run *run, bool is_good, const struct sink_reply *reply)
{
	const struct server *server = &run->server;
	size_t at = server->reply_at;
	if (server->last == END) {
		check_end(run, is_good, reply);
		return;
	}
	require(!is_good && server->last == DATA, "a mail that has no end is not taken");
	require(reply_at(server, &at) == 354, "after DATA");
	require(reply->code / 100 != 5 || reply_at(server, &at) / 100 == 5,
		"it is refused by who refuses it");
}

static bool append(struct sink *sink, size_t size, struct sink_reply *reply)
{
	/* A piece that ends amid a line, and one that begins there. */
	const size_t half = size / 2 + 1;
	return sink_append(sink, mail, half, reply) &&
	       sink_append(sink, mail + half, size - half, reply);
}

static void send_content(struct run *run, struct sink *sink, bool is_given_up)
{
	struct sink_reply reply = { 0, "" };
	const bool is_begun = sink_begin(sink, &reply);
	if (is_begun) {
		require(run->server.last == DATA && last_reply(&run->server) == 354,
			"a mail is sent when it is waited for");
	} else {
		take_reply(run, false, &reply);
		check_replayed(run, DATA, false, &reply);
	}
	if (is_begun && append(sink, mail_size, &reply) && !is_given_up) {
		const bool is_good = sink_commit(sink, &reply);
		take_reply(run, is_good, &reply);
		check_commit(run, is_good, &reply);
		if (is_good)
			return;
	}
	sink_abort(sink);
}

static void deliver(struct run *run, struct sink *sink, uint8_t flags, bool is_given_up)
{
	struct envelope envelope = { .sender = "sender@example.net" };
	struct sink_reply reply = { 0, "" };
	unsigned good_count = 0;
	envelope.body = (flags & 0x08) != 0 ? ENVELOPE_8BITMIME : ENVELOPE_7BIT;
	envelope.is_utf8 = (flags & 0x10) != 0;
	envelope.size_bytes = (flags & 0x20) != 0 ? mail_size : 0;
	envelope.ret = (flags & 0x20) != 0 ? ENVELOPE_RET_HDRS : ENVELOPE_RET_NONE;
	bool is_good = sink_mail(sink, &envelope, &reply);
	take_reply(run, is_good, &reply);
	check_mail(run, &envelope, is_good, &reply);
	for (unsigned i = 0; is_good && i < ((flags & 0x40) != 0 ? 3 : 1); i++) {
		struct recipient recipient = { .notify = (flags & 0x20) != 0 ? 1 : 0 };
		snprintf(recipient.address, sizeof(recipient.address), "%u@example.org", i);
		const bool is_taken = sink_recipient(sink, &recipient, NULL, &reply);
		take_reply(run, is_taken, &reply);
		check_replayed(run, RCPT, is_taken, &reply);
		good_count += is_taken;
	}
	if (good_count > 0)
		send_content(run, sink, is_given_up);
	else
		sink_abort(sink);
}

static void make_mail(bool is_large)
{
	static const char line[] = ".dot\r\n..\r\n.\r\n\r\nmail.\r\n";
	static const char doubled[] = "..dot\r\n...\r\n..\r\n\r\nmail.\r\n";
	mail_size = stuffed_size = 0;
	for (unsigned i = 0; i < (is_large ? LINES_LARGE : 1); i++) {
		memcpy(mail + mail_size, line, sizeof(line) - 1);
		memcpy(stuffed + stuffed_size, doubled, sizeof(doubled) - 1);
		mail_size += sizeof(line) - 1;
		stuffed_size += sizeof(doubled) - 1;
	}
}

/* ---- one input ---- */

static void run_sessions(struct run *run, struct sink *sink, const uint8_t *flags)
{
	static const struct sink_session session = {
		.facts = { .client_port = 40112, .local_port = 25 },
		.helo = HELO_NAME,
		.is_esmtp = true,
	};
	char trouble[SINK_TROUBLE_MAX];
	sink_enter(sink, &session);
	for (unsigned i = 0; i < (flags[1] & 3U) + 1; i++) {
		deliver(run, sink, flags[0], i == 0 && (flags[1] & 4) != 0);
		(void)sink_trouble(sink, trouble);
		require(memchr(trouble, '\0', sizeof(trouble)) != NULL, "a trouble ends");
		if ((flags[1] & 8) == 0)
			continue;
		sink_leave(sink);
		sink_enter(sink, &session);
	}
	sink_leave(sink);
}

static uint64_t run_once(const uint8_t *data, size_t size, size_t piece)
{
	static struct run run;
	struct sink *sink = NULL;
	memset(&run, 0, sizeof(run));
	run.setup.kind = (data[0] & 1) != 0 ? SETUP_SINK_LMTP : SETUP_SINK_SMTP;
	run.setup.tell = (enum setup_tell)(data[0] >> 1 & 3);
	run.setup.timeout_ms = run.setup.connect_timeout_ms = 60000;
	run.setup.to.address.ss_family = AF_UNIX;
	run.setup.to.address_size = sizeof(struct sockaddr_un);
	run.server.fd = -1;
	run.server.script = data + 3;
	run.server.script_size = size - 3;
	run.server.said = malloc(size);
	run.piece = piece;
	run.calls_left = 4 * size + CALLS_MORE;
	require(run.server.said != NULL && sink_open(&run.setup, HOSTNAME, &sink) == 0, "memory");
	current = &run;
	run_sessions(&run, sink, data);
	sink_close(sink);
	current = NULL;
	require(is_closed(run.server.fd), "no connection is left");
	free(run.server.said);
	return run.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	make_mail((data[0] & 0x80) != 0);
	require(run_once(data, size, SIZE_MAX) == run_once(data, size, data[2] + 1U),
		"pieces do not matter");
	return 0;
}
