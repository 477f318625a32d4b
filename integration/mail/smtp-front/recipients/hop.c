/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/recipients/hop.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/wire/proxy.h"

/* Whose reply is waited for. */
enum step { STEP_CONNECT, STEP_BANNER, STEP_EHLO, STEP_HELO, STEP_MAIL, STEP_RCPT, STEP_RSET };

/* ---- the connection ---- */

static void on_event(uv_poll_t *poll, int status, int events);

static void on_closed(uv_handle_t *handle)
{
	struct hop *hop = handle->data;
	close(hop->fd);
	hop->state = HOP_CLOSED;
	hop->events->on_closed(hop);
}

void hop_close(struct hop *hop)
{
	if (hop->state == HOP_CLOSED || hop->state == HOP_CLOSING)
		return;
	hop->state = HOP_CLOSING;
	uv_close((uv_handle_t *)&hop->poll, on_closed);
}

static void fail(struct hop *hop)
{
	enum hop_state state = hop->state;
	if (state == HOP_CLOSING)
		return;
	hop_close(hop);
	hop->events->on_failed(hop, state);
}

static void watch(struct hop *hop)
{
	int events = hop->step == STEP_CONNECT ? UV_WRITABLE : UV_READABLE;
	if (hop->out_start < hop->out_size)
		events |= UV_WRITABLE;
	if (uv_poll_start(&hop->poll, events, on_event) != 0)
		fail(hop);
}

/* The first bytes, of which the next hop has to have a client. */
static void put_header(struct hop *hop, const struct sockaddr *address)
{
	struct sockaddr_storage own = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(own);
	struct proxy proxy;
	if (hop->proxy_version == 0)
		return;
	(void)getsockname(hop->fd, (struct sockaddr *)&own, &size);
	proxy_of_socket((const struct sockaddr *)&own, address, &proxy);
	hop->out_size = proxy_make(hop->proxy_version, &proxy, (uint8_t *)hop->out);
}

int hop_open(struct hop *hop, uv_loop_t *loop, const struct sockaddr *address, socklen_t size)
{
	assert(hop->state == HOP_CLOSED);
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Commands go in one piece, and none is to wait for the acknowledgement of another. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	int ret = connect(fd, address, size) == 0 || errno == EINPROGRESS ? 0 : -errno;
	if (ret == 0)
		ret = uv_poll_init(loop, &hop->poll, fd);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	hop->poll.data = hop;
	hop->fd = fd;
	hop->state = HOP_OPENING;
	hop->step = STEP_CONNECT;
	hop->question_count = 0;
	hop->refused_count = 0;
	hop->offers_utf8 = false;
	hop->offers_pipelining = false;
	hop->out_start = 0;
	hop->out_size = 0;
	put_header(hop, address);
	replies_begin(&hop->replies);
	ret = uv_poll_start(&hop->poll, UV_WRITABLE, on_event);
	if (ret != 0)
		hop_close(hop); /* its owner hears of it by on_closed() */
	return 0;
}

static void flush(struct hop *hop)
{
	while (hop->out_start < hop->out_size) {
		ssize_t sent = send(hop->fd, hop->out + hop->out_start,
				    hop->out_size - hop->out_start, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0) {
			fail(hop);
			return;
		}
		hop->out_start += (size_t)sent;
	}
}

/* ---- commands ---- */

__attribute__((format(printf, 3, 4))) static void say(struct hop *hop, enum step step,
						      const char *format, ...)
{
	va_list arguments;
	if (hop->out_start == hop->out_size)
		hop->out_start = hop->out_size = 0;
	va_start(arguments, format);
	int size = vsnprintf(hop->out + hop->out_size, sizeof(hop->out) - hop->out_size, format,
			     arguments);
	va_end(arguments);
	/* A hostname and an address have their limits; at most three commands are on their way. */
	assert(size > 0 && (size_t)size < sizeof(hop->out) - hop->out_size);
	hop->out_size += (size_t)size;
	hop->step = (int)step;
}

static void say_mail(struct hop *hop)
{
	say(hop, STEP_MAIL, "MAIL FROM:<>%s\r\n", hop->is_utf8 ? " SMTPUTF8" : "");
}

static void say_rcpt(struct hop *hop)
{
	say(hop, STEP_RCPT, "RCPT TO:<%.*s>\r\n", (int)hop->address_size, hop->address);
}

static void say_rset(struct hop *hop)
{
	say(hop, STEP_RSET, "RSET\r\n");
}

void hop_ask(struct hop *hop, const char *address, size_t size, bool is_utf8)
{
	assert(hop->state == HOP_IDLE && size <= sizeof(hop->address));
	assert(memchr(address, '\r', size) == NULL && memchr(address, '\n', size) == NULL);
	memcpy(hop->address, address, size);
	hop->address_size = size;
	hop->is_utf8 = is_utf8;
	hop->state = HOP_BUSY;
	hop->question_count++;
	say_mail(hop);
	if (hop->offers_pipelining) {
		say_rcpt(hop);
		say_rset(hop);
		hop->step = STEP_MAIL;
	}
	/* Sent by the loop: an event is not to come before this has returned. The deadline ends
	 * what could not be begun. */
	(void)uv_poll_start(&hop->poll, UV_READABLE | UV_WRITABLE, on_event);
}

void hop_quit(struct hop *hop)
{
	static const char quit[] = "QUIT\r\n";
	assert(hop->state == HOP_IDLE);
	(void)send(hop->fd, quit, sizeof(quit) - 1, MSG_NOSIGNAL);
	hop_close(hop);
}

/* ---- replies ---- */

static bool is_code(const char *text, const char *code_class)
{
	return text[0] == code_class[0] && text[1] == '.' && text[2] >= '0' && text[2] <= '9';
}

/* The text of a reply in printable ASCII, with an enhanced code (RFC 3463) in front. */
static void put_text(struct callforward_answer *answer, const char *text)
{
	const char code_class[2] = { (char)('0' + answer->code / 100), '\0' };
	const char *code = is_code(text, code_class) ? "" : answer->code == 550 ? ".1.1 " : ".0.0 ";
	int size = snprintf(answer->text, sizeof(answer->text), "%s%s%s",
			    code[0] != '\0' ? code_class : "", code,
			    text[0] != '\0' ? text : "no reason given");
	/* What has no room is cut. */
	for (char *c = answer->text; size > 0 && *c != '\0'; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

static void become_ready(struct hop *hop)
{
	hop->state = HOP_IDLE;
	hop->events->on_ready(hop);
}

static void give_answer(struct hop *hop, const struct callforward_answer *answer)
{
	if (answer->code / 100 != 2)
		hop->refused_count++;
	hop->events->on_answer(hop, answer);
}

/* Without PIPELINING the next command waits for this. */
static void on_mail_reply(struct hop *hop)
{
	static const struct callforward_answer unknown = { .code = 0 };
	bool is_accepted = hop->answer.code / 100 == 2;
	hop->mail_code = hop->answer.code;
	hop->step = STEP_RCPT;
	if (hop->offers_pipelining)
		return;
	if (is_accepted) {
		say_rcpt(hop);
		return;
	}
	say_rset(hop);
	give_answer(hop, &unknown);
}

static void on_rcpt_reply(struct hop *hop)
{
	struct callforward_answer answer = hop->answer;
	/* 251 and 252 are as good. */
	if (answer.code / 100 == 2)
		answer.code = 250;
	/* The recipient was refused since there is no sender. */
	if (hop->mail_code / 100 != 2)
		answer = (struct callforward_answer){ .code = 0 };
	hop->step = STEP_RSET;
	if (!hop->offers_pipelining)
		say_rset(hop);
	give_answer(hop, &answer);
}

static void on_hello_reply(struct hop *hop)
{
	int code = hop->answer.code;
	if (code == 250)
		become_ready(hop);
	else if (hop->step == STEP_EHLO && code / 100 == 5 && !hop->is_lmtp)
		say(hop, STEP_HELO, "HELO %s\r\n", hop->hostname);
	else
		fail(hop);
}

static void on_reply(struct hop *hop)
{
	int code = hop->answer.code;
	/* The end, at whatever it is said; and what is said to DATA alone. */
	if (code == 421 || code / 100 == 3 || (hop->step == STEP_BANNER && code != 220) ||
	    (hop->step == STEP_RSET && code != 250)) {
		fail(hop);
		return;
	}
	switch ((enum step)hop->step) {
	case STEP_BANNER:
		say(hop, STEP_EHLO, hop->is_lmtp ? "LHLO %s\r\n" : "EHLO %s\r\n", hop->hostname);
		break;
	case STEP_EHLO:
	case STEP_HELO:
		on_hello_reply(hop);
		break;
	case STEP_MAIL:
		on_mail_reply(hop);
		break;
	case STEP_RCPT:
		on_rcpt_reply(hop);
		break;
	case STEP_RSET:
		become_ready(hop);
		break;
	case STEP_CONNECT:
		break;
	}
}

/* ---- lines ---- */

static void take_feature(struct hop *hop, const char *text)
{
	if (strcasecmp(text, "PIPELINING") == 0)
		hop->offers_pipelining = true;
	if (strcasecmp(text, "SMTPUTF8") == 0)
		hop->offers_utf8 = true;
}

static void on_line(struct hop *hop, enum replies_status status)
{
	const struct replies *replies = &hop->replies;
	if (status == REPLIES_BROKEN) {
		fail(hop);
		return;
	}
	if (replies->line_count == 1) {
		hop->answer.code = replies->code;
		put_text(&hop->answer, replies->text);
	} else if (hop->step == STEP_EHLO && replies->code == 250) {
		take_feature(hop, replies->text);
	}
	if (status == REPLIES_END)
		on_reply(hop);
}

/*
 * A server that speaks unasked closes, or is none; and what comes before a command was sent is no
 * reply to it, but the next one would be taken for that to another. Commands are sent whole: the
 * socket has room for more of them than are ever on their way.
 */
static bool is_asked(const struct hop *hop)
{
	return hop->state != HOP_IDLE && hop->step != STEP_CONNECT &&
	       hop->out_start == hop->out_size;
}

static void take(struct hop *hop, const char *bytes, size_t size)
{
	while (size > 0 && hop->state != HOP_CLOSING) {
		size_t taken = 0;
		if (!is_asked(hop)) {
			fail(hop);
			return;
		}
		const enum replies_status status = replies_feed(&hop->replies, bytes, size, &taken);
		bytes += taken;
		size -= taken;
		if (status != REPLIES_MORE)
			on_line(hop, status);
	}
}

static void receive(struct hop *hop)
{
	char bytes[2048];
	ssize_t size = recv(hop->fd, bytes, sizeof(bytes), 0);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0)
		fail(hop);
	else
		take(hop, bytes, (size_t)size);
}

static void finish_connect(struct hop *hop)
{
	int error = 0;
	socklen_t size = sizeof(error);
	if (getsockopt(hop->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
		fail(hop);
	else
		hop->step = STEP_BANNER;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct hop *hop = poll->data;
	/* libuv says so of a socket that has an error; reading it says which. */
	(void)status;
	if (hop->step == STEP_CONNECT)
		finish_connect(hop);
	else if (events == 0 || (events & UV_READABLE) != 0)
		receive(hop);
	if (hop->state != HOP_CLOSING)
		flush(hop);
	if (hop->state != HOP_CLOSING)
		watch(hop);
}
