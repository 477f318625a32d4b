/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/sinks/remote_smtp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/smtp/replies.h"
#include "lib/wire/proxy.h"

/* With its CRLF (RFC 5321 4.5.3.1.4). */
#define XCLIENT_LINE_MAX 512
#define XCLIENT_ADDR_MAX (sizeof(" ADDR=IPV6:") + DNSBLV6_IP_TEXT_SIZE)
/* Between two attempts at a UNIX socket whose backlog is full. */
#define CONNECT_PAUSE_MS 10

/*
 * What an XCLIENT command may hold; their order is that of being sent. Postfix authorizes each
 * command by the name and the address that the one before has set: these two are the last.
 */
enum told {
	TOLD_PORT,
	TOLD_DESTADDR,
	TOLD_DESTPORT,
	TOLD_PROTO,
	TOLD_HELO,
	TOLD_REVERSE_NAME,
	TOLD_NAME,
	TOLD_ADDR,
	TOLD_COUNT,
};

static const char *const xclient_names[TOLD_COUNT] = {
	"PORT", "DESTADDR", "DESTPORT", "PROTO", "HELO", "REVERSE_NAME", "NAME", "ADDR",
};

void remote_init(struct remote *ret_remote)
{
	ret_remote->fd = -1;
	ret_remote->features = ret_remote->xclient = 0;
}

bool remote_is_open(const struct remote *remote)
{
	return remote->fd >= 0;
}

void remote_close(struct remote *remote)
{
	if (remote->fd >= 0)
		(void)close(remote->fd);
	remote_init(remote);
}

/* ---- replies ---- */

static bool is_word(const char *line, const char *word)
{
	const size_t size = strlen(word);
	return strncasecmp(line, word, size) == 0 && (line[size] == '\0' || line[size] == ' ');
}

static void note_xclient(struct remote *remote, const char *words)
{
	while (*words != '\0') {
		words += strspn(words, " ");
		for (unsigned i = 0; i < TOLD_COUNT; i++) {
			if (is_word(words, xclient_names[i]))
				remote->xclient |= 1U << i;
		}
		words += strcspn(words, " ");
	}
}

/* A line of the reply to EHLO, without the code. */
static void note_feature(struct remote *remote, const char *line)
{
	static const struct {
		const char *word;
		unsigned feature;
	} features[] = {
		{ "SIZE", REMOTE_SIZE },
		{ "8BITMIME", REMOTE_8BITMIME },
		{ "SMTPUTF8", REMOTE_SMTPUTF8 },
		{ "DSN", REMOTE_DSN },
	};
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (is_word(line, features[i].word))
			remote->features |= features[i].feature;
	}
	if (is_word(line, "XCLIENT"))
		note_xclient(remote, line + strlen("XCLIENT"));
	/* Without an attribute that we have there is nothing to tell. */
	if (remote->xclient != 0)
		remote->features |= REMOTE_XCLIENT;
}

/* Behind what is there already; cut when there is no room. */
static void append_text(struct sink_reply *reply, const char *line)
{
	const size_t size = strlen(reply->text);
	(void)snprintf(reply->text + size, sizeof(reply->text) - size, "%s%s", size > 0 ? "\n" : "",
		       line);
}

static int read_reply(struct remote *remote, unsigned timeout_ms, bool is_hello,
		      struct sink_reply *ret_reply)
{
	const int64_t deadline_ms = stream_deadline(timeout_ms);
	struct replies replies;

	replies_begin(&replies);
	ret_reply->text[0] = '\0';
	for (;;) {
		size_t size = 0;
		size_t taken = 0;
		const uint8_t *bytes = stream_bytes(&remote->stream, &size);
		const enum replies_status status = replies_feed(&replies, bytes, size, &taken);
		stream_take(&remote->stream, taken);
		if (status == REPLIES_BROKEN) {
			/* What is behind it may be the rest of it, and is no reply to anything. */
			remote_close(remote);
			return -EPROTO;
		}
		if (status == REPLIES_MORE) {
			const int got = stream_fill(&remote->stream, deadline_ms);
			if (got <= 0)
				return got == 0 ? -ECONNRESET : got;
			continue;
		}
		ret_reply->code = replies.code;
		append_text(ret_reply, replies.text);
		if (is_hello && replies.line_count > 1 && replies.code == 250)
			note_feature(remote, replies.text);
		if (status == REPLIES_END)
			return 0;
	}
}

static int read_due(struct remote *remote, struct sink_reply *ret_reply)
{
	return read_reply(remote, remote->timeout_ms, false, ret_reply);
}

int remote_read_end(struct remote *remote, struct sink_reply *ret_reply)
{
	return read_reply(remote, remote->end_timeout_ms, false, ret_reply);
}

static int send_command(struct remote *remote, const char *command)
{
	return stream_put(&remote->stream, command, strlen(command),
			  stream_deadline(remote->timeout_ms));
}

/* Unasked, or twice: that would be taken for the answer to what is said next. */
static bool has_spoken(const struct remote *remote)
{
	size_t size = 0;
	char byte = 0;

	(void)stream_bytes(&remote->stream, &size);
	return size > 0 || recv(remote->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Are its unasked words the last ones, of a server that closes an idle connection? No wait. */
static bool has_said_421(struct remote *remote)
{
	static const char code[] = { '4', '2', '1' };
	size_t size = 0;
	const uint8_t *bytes = stream_bytes(&remote->stream, &size);

	while (size < sizeof(code) && stream_fill(&remote->stream, stream_deadline(0)) > 0)
		bytes = stream_bytes(&remote->stream, &size);
	return size >= sizeof(code) && memcmp(bytes, code, sizeof(code)) == 0;
}

int remote_read_excess(struct remote *remote, struct sink_reply *ret_reply)
{
	if (!remote_is_open(remote) || !has_spoken(remote) || has_said_421(remote))
		return -ENODATA;
	return read_reply(remote, 0, false, ret_reply);
}

static int exchange(struct remote *remote, const char *command, bool is_hello,
		    struct sink_reply *ret_reply)
{
	if (has_spoken(remote))
		return has_said_421(remote) ? -ECONNRESET : -EPROTO;
	const int ret = send_command(remote, command);
	return ret < 0 ? ret : read_reply(remote, remote->timeout_ms, is_hello, ret_reply);
}

int remote_command(struct remote *remote, const char *command, struct sink_reply *ret_reply)
{
	return exchange(remote, command, false, ret_reply);
}

void remote_quit(struct remote *remote)
{
	if (send_command(remote, "QUIT\r\n") == 0)
		(void)stream_flush(&remote->stream, stream_deadline(0));
}

/* ---- the connection ---- */

static int wait_connected(int fd, unsigned timeout_ms)
{
	int error = 0;
	socklen_t size = sizeof(error);

	const int ret = stream_wait(fd, POLLOUT, stream_deadline(timeout_ms));
	if (ret < 0)
		return ret;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		return -errno;
	return -error;
}

/* A UNIX socket whose backlog is full cannot be waited for. */
static int begin_connect(int fd, const struct setup_sink *setup)
{
	const int64_t deadline_ms = stream_deadline(setup->connect_timeout_ms);
	const struct sockaddr *address = (const struct sockaddr *)&setup->to.address;

	for (;;) {
		if (connect(fd, address, setup->to.address_size) == 0)
			return 0;
		if (errno != EAGAIN || address->sa_family != AF_UNIX)
			return -errno;
		if (stream_deadline(0) >= deadline_ms)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, CONNECT_PAUSE_MS);
	}
}

static int connect_to(struct remote *remote, const struct setup_sink *setup)
{
	const int on = 1;

	const int fd =
		socket(setup->to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = begin_connect(fd, setup);
	if (ret == -EINPROGRESS || ret == -EINTR)
		ret = wait_connected(fd, setup->connect_timeout_ms);
	if (ret < 0) {
		(void)close(fd);
		return ret;
	}
	/* Commands are written whole; waiting for more of them only costs time. Not for AF_UNIX. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	remote->fd = fd;
	remote->is_lmtp = setup->kind == SETUP_SINK_LMTP;
	remote->says_clients_helo = false;
	remote->timeout_ms = setup->connect_timeout_ms;
	remote->reach = REMOTE_CONNECTED;
	stream_init(&remote->stream, fd);
	return 0;
}

/* ---- what the next hop is told about the client ---- */

static bool is_ipv4(const struct dnsblv6_ip *ip)
{
	return dnsblv6_addr_is_ipv4(dnsblv6_addr_from_bytes(ip->bytes));
}

static int send_proxy(struct remote *remote, const struct setup_sink *setup,
		      const struct sink_session *session)
{
	const unsigned version = setup_proxy_version(setup);
	uint8_t header[PROXY_MADE_MAX];
	struct proxy proxy;

	if (version == 0)
		return 0;
	if (session != NULL) {
		proxy = (struct proxy){
			.client_addr = dnsblv6_addr_from_bytes(session->facts.client_ip.bytes),
			.local_addr = dnsblv6_addr_from_bytes(session->facts.local_ip.bytes),
			.client_port = session->facts.client_port,
			.local_port = session->facts.local_port
		};
	} else {
		struct sockaddr_storage own = { .ss_family = AF_UNSPEC };
		socklen_t size = sizeof(own);
		(void)getsockname(remote->fd, (struct sockaddr *)&own, &size);
		proxy_of_socket((const struct sockaddr *)&own,
				(const struct sockaddr *)&setup->to.address, &proxy);
	}
	return stream_put(&remote->stream, header, proxy_make(version, &proxy, header),
			  stream_deadline(remote->timeout_ms));
}

/* xtext (RFC 3461, 4); "[UNAVAILABLE]" for what is not known. Cut at room. */
static void format_xtext(const char *text, char *ret_text, size_t room)
{
	size_t size = 0;
	if (text[0] == '\0') {
		(void)snprintf(ret_text, room, "[UNAVAILABLE]");
		return;
	}
	for (; *text != '\0' && size + 4 <= room; text++) {
		const unsigned char byte = (unsigned char)*text;
		if (byte > ' ' && byte < 0x7f && byte != '+' && byte != '=')
			ret_text[size++] = (char)byte;
		else
			size += (size_t)snprintf(ret_text + size, room - size, "+%02X", byte);
	}
	ret_text[size] = '\0';
}

static void format_attribute(enum told attribute, const struct sink_session *session,
			     char *ret_text, size_t room)
{
	const bool is_client = attribute == TOLD_ADDR || attribute == TOLD_PORT;
	const struct dnsblv6_ip *ip =
		is_client ? &session->facts.client_ip : &session->facts.local_ip;
	char text[DNSBLV6_IP_TEXT_SIZE];

	switch (attribute) {
	case TOLD_ADDR:
	case TOLD_DESTADDR:
		(void)dnsblv6_ip_format(ip, text);
		(void)snprintf(ret_text, room, "%s%s", is_ipv4(ip) ? "" : "IPV6:", text);
		break;
	case TOLD_PORT:
	case TOLD_DESTPORT:
		(void)snprintf(ret_text, room, "%u",
			       is_client ? session->facts.client_port : session->facts.local_port);
		break;
	case TOLD_PROTO:
		(void)snprintf(ret_text, room, "%s", session->is_esmtp ? "ESMTP" : "SMTP");
		break;
	case TOLD_HELO:
		format_xtext(session->helo, ret_text, room);
		break;
	case TOLD_REVERSE_NAME: /* not asked for */
	case TOLD_NAME:
	case TOLD_COUNT:
		format_xtext("", ret_text, room);
		break;
	}
}

/*
 * The next XCLIENT command: as many of the attributes from *first on as are offered and fit into
 * its line; *first becomes the one behind them. Returns its size, 0 when none is left.
 */
static size_t make_xclient(unsigned offered, const struct sink_session *session, unsigned *first,
			   char *ret_command)
{
	char attribute[3 * ENVELOPE_HELO_MAX + 32];
	char value[3 * ENVELOPE_HELO_MAX + 4];
	size_t size = 0;

	for (; *first < TOLD_COUNT; (*first)++) {
		if ((offered & 1U << *first) == 0)
			continue;
		format_attribute((enum told) * first, session, value, sizeof(value));
		const size_t more = (size_t)snprintf(attribute, sizeof(attribute), " %s=%s",
						     xclient_names[*first], value);
		const size_t needed = strlen("XCLIENT") + more + strlen("\r\n");
		/* One that fits into no line is left away; EHLO says the same of HELO. */
		if (needed > XCLIENT_LINE_MAX)
			continue;
		/* NAME takes ADDR along. */
		const size_t reserved = *first == TOLD_NAME ? XCLIENT_ADDR_MAX : 0;
		if (size > 0 && size + more + reserved + strlen("\r\n") > XCLIENT_LINE_MAX)
			break;
		if (size == 0)
			size = (size_t)sprintf(ret_command, "XCLIENT");
		memcpy(ret_command + size, attribute, more);
		size += more;
	}
	if (size > 0)
		memcpy(ret_command + size, "\r\n", sizeof("\r\n"));
	return size;
}

/* ---- the beginning of a session ---- */

static bool is_good(int ret, const struct sink_reply *reply)
{
	return ret == 0 && reply->code >= 200 && reply->code < 300;
}

static int say_hello(struct remote *remote, const char *name, struct sink_reply *ret_reply)
{
	char command[ENVELOPE_HELO_MAX + 16];

	remote->features = remote->xclient = 0;
	(void)snprintf(command, sizeof(command), "%s %s\r\n", remote->is_lmtp ? "LHLO" : "EHLO",
		       name);
	const int ret = exchange(remote, command, true, ret_reply);
	if (ret < 0 || remote->is_lmtp || ret_reply->code < 500)
		return ret;
	/* A server from before 1995. */
	(void)snprintf(command, sizeof(command), "HELO %s\r\n", name);
	return remote_command(remote, command, ret_reply);
}

/* As the client has said it, so that it is the client that the next hop judges. */
static int repeat_hello(struct remote *remote, const char *hostname,
			const struct sink_session *session, struct sink_reply *reply)
{
	remote->says_clients_helo = session->helo[0] != '\0';
	return say_hello(remote, remote->says_clients_helo ? session->helo : hostname, reply);
}

/*
 * By XCLIENT, where it is offered: one command, but for names that are longer than its line. A
 * session begins anew behind each of them, which is why EHLO follows.
 */
static int introduce(struct remote *remote, const char *hostname,
		     const struct sink_session *session, const char **reterr_step,
		     struct sink_reply *reply)
{
	const unsigned offered = remote->xclient;
	char command[XCLIENT_LINE_MAX + 1];
	char next[XCLIENT_LINE_MAX + 1];
	unsigned first = 0;
	int ret = 0;

	for (size_t size = make_xclient(offered, session, &first, command); size > 0;) {
		*reterr_step = "XCLIENT";
		ret = remote_command(remote, command, reply);
		if (!is_good(ret, reply))
			return ret;
		size = make_xclient(offered, session, &first, next);
		*reterr_step = "EHLO after XCLIENT";
		ret = size > 0 ? say_hello(remote, hostname, reply)
			       : repeat_hello(remote, hostname, session, reply);
		if (!is_good(ret, reply))
			return ret;
		memcpy(command, next, sizeof(command));
	}
	remote->features |= REMOTE_XCLIENT; /* it is no longer offered when it was used */
	return ret;
}

static int greet(struct remote *remote, const struct setup_sink *setup, const char *hostname,
		 const struct sink_session *session, const char **reterr_step,
		 struct sink_reply *reply)
{
	const bool is_told = session != NULL && setup_proxy_version(setup) != 0;

	*reterr_step = "PROXY";
	int ret = send_proxy(remote, setup, session);
	if (ret < 0)
		return ret;
	*reterr_step = "greeting";
	ret = read_due(remote, reply);
	if (ret == 0)
		remote->reach = REMOTE_GREETED;
	remote->timeout_ms = setup->timeout_ms;
	remote->end_timeout_ms = setup->end_timeout_ms;
	if (!is_good(ret, reply))
		return ret;
	*reterr_step = remote->is_lmtp ? "LHLO" : "EHLO";
	ret = is_told ? repeat_hello(remote, hostname, session, reply)
		      : say_hello(remote, hostname, reply);
	if (!is_good(ret, reply) || setup->tell != SETUP_TELL_XCLIENT || session == NULL ||
	    (remote->features & REMOTE_XCLIENT) == 0)
		return ret;
	return introduce(remote, hostname, session, reterr_step, reply);
}

int remote_open(struct remote *remote, const struct setup_sink *setup, const char *hostname,
		const struct sink_session *session, const char **reterr_step,
		struct sink_reply *reterr_reply)
{
	struct sink_reply reply = { 0 };

	remote_close(remote);
	remote->reach = REMOTE_UNREACHED;
	reterr_reply->code = 0;
	*reterr_step = "connect";
	int ret = connect_to(remote, setup);
	if (ret < 0)
		return ret;
	ret = greet(remote, setup, hostname, session, reterr_step, &reply);
	if (is_good(ret, &reply))
		return 0;
	if (ret == 0) {
		*reterr_reply = reply;
		ret = remote->says_clients_helo && reply.code >= 500 ? -EACCES : -ECONNREFUSED;
	}
	remote_close(remote);
	return ret;
}

/* ---- the mail ---- */

void remote_begin(struct remote *remote)
{
	remote->is_at_line_start = true;
}

int remote_append(struct remote *remote, const uint8_t *bytes, size_t size)
{
	const int64_t deadline_ms = stream_deadline(remote->timeout_ms);

	while (size > 0) {
		const uint8_t *end = memchr(bytes, '\n', size);
		const size_t line_size = end != NULL ? (size_t)(end - bytes) + 1 : size;
		int ret = 0;
		if (remote->is_at_line_start && bytes[0] == '.')
			ret = stream_put(&remote->stream, ".", 1, deadline_ms);
		if (ret == 0)
			ret = stream_put(&remote->stream, bytes, line_size, deadline_ms);
		if (ret < 0)
			return ret;
		remote->is_at_line_start = end != NULL;
		bytes += line_size;
		size -= line_size;
	}
	return 0;
}

int remote_end(struct remote *remote, struct sink_reply *ret_reply)
{
	/* A mail can be refused before its end, and not be taken. */
	if (has_spoken(remote)) {
		/* A server that has hung up takes no more, and the refusal would be lost. */
		stream_drop(&remote->stream);
		const int ret = read_due(remote, ret_reply);
		remote_close(remote);
		return ret == 0 && ret_reply->code < 400 ? -EPROTO : ret;
	}
	/* Mail ends in CRLF; an end within a line would otherwise be none. */
	const int ret = send_command(remote, remote->is_at_line_start ? ".\r\n" : "\r\n.\r\n");
	return ret < 0 ? ret : remote_read_end(remote, ret_reply);
}

bool remote_has_refused(struct remote *remote, struct sink_reply *ret_reply)
{
	/* What came before a reset can be read behind it. */
	return remote_is_open(remote) && has_spoken(remote) && read_due(remote, ret_reply) == 0 &&
	       ret_reply->code >= 400;
}
