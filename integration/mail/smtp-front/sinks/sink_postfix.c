/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sink_postfix.c - a connection that proved itself before the banner, given to Postfix' smtpd.
 *
 * This is what postscreen does (Postfix 2.10 and later; tested with 3.7). In master.cf stands
 *
 *     smtpd  pass  -  -  y  -  -  smtpd
 *
 * and master(8) listens on a UNIX socket of that name. To it goes one connection for each
 * descriptor:
 *
 *     one byte of value 0, with the descriptor (SCM_RIGHTS)
 *     NAME NUL VALUE NUL for client_address, client_port, server_address, server_port
 *     one NUL
 *
 * and when smtpd has taken them it closes. Waiting for that tells whether it did; closing first
 * could lose the bytes on some systems, as Postfix says. smtpd speaks from the banner on.
 */
#include "integration/mail/smtp-front/sinks/sink.h"
#include "integration/mail/base/worker/stream.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ATTRIBUTES_MAX 256 /* two addresses of 39, two ports of 5, four names */

static size_t add(char *text, size_t size, const char *name, const char *value)
{
	/* Both NULs count. */
	size += (size_t)snprintf(text + size, ATTRIBUTES_MAX - size, "%s", name) + 1;
	return size + (size_t)snprintf(text + size, ATTRIBUTES_MAX - size, "%s", value) + 1;
}

static size_t make_attributes(const struct sink_session *session, char *ret_text)
{
	char ip[DNSBLV6_IP_TEXT_SIZE];
	char port[8];
	size_t size = 0;

	(void)dnsblv6_ip_format(&session->facts.client_ip, ip);
	(void)snprintf(port, sizeof(port), "%u", session->facts.client_port);
	size = add(ret_text, size, "client_address", ip);
	size = add(ret_text, size, "client_port", port);
	(void)dnsblv6_ip_format(&session->facts.local_ip, ip);
	(void)snprintf(port, sizeof(port), "%u", session->facts.local_port);
	size = add(ret_text, size, "server_address", ip);
	size = add(ret_text, size, "server_port", port);
	ret_text[size++] = '\0';
	return size;
}

/* The descriptor goes with a byte of its own: smtpd reads that before the attributes. */
static int send_descriptor(int to, int fd)
{
	char byte = '\0';
	const struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	const ssize_t sent = packet_send(to, &part, 1, &fd, 1);

	return sent < 0 ? (int)sent : 0;
}

/* Until smtpd has closed. 0 or -errno. */
static int wait_taken(int fd, int64_t deadline_ms)
{
	char byte;

	const int ret = stream_wait(fd, POLLIN, deadline_ms);
	if (ret < 0)
		return ret;
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 ? 0 : -ECONNRESET;
}

/* A blocking connect(2): where the backlog is full it waits, at most for SO_SNDTIMEO. */
static int connect_to(const struct setup_sink *setup)
{
	const struct timeval timeout = { .tv_sec = setup->timeout_ms / 1000,
					 .tv_usec = setup->timeout_ms % 1000 * 1000 };
	const int64_t deadline_ms = stream_deadline(setup->timeout_ms);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int ret = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 ? -EINTR
											  : -errno;
	/* A worker that is told to end meanwhile has this client still; nothing is half made. */
	while (ret == -EINTR && stream_deadline(0) < deadline_ms)
		ret = connect(fd, (const struct sockaddr *)&setup->to.address,
			      setup->to.address_size) == 0
			      ? 0
			      : -errno;
	if (ret == 0)
		return fd;
	(void)close(fd);
	return ret;
}

static bool postfix_pass(struct sink *sink, int fd, struct sink_reply *reply)
{
	char attributes[ATTRIBUTES_MAX];
	const size_t size = make_attributes(sink->session, attributes);

	const int to = connect_to(sink->setup);
	if (to < 0) {
		(void)sink_fail(sink, reply, "connect", -to);
		return sink_say(reply, 421, "4.3.2 All server ports are busy");
	}
	int ret = send_descriptor(to, fd);
	if (ret == 0 && send(to, attributes, size, MSG_NOSIGNAL) != (ssize_t)size)
		ret = -errno;
	if (ret == 0)
		ret = wait_taken(to, stream_deadline(sink->setup->timeout_ms));
	if (ret == -ETIMEDOUT) {
		/* It may still take the descriptor: a 421 from here could mix with its banner. */
		sink->remark = "smtpd is slow to take a connection";
		ret = 0;
	}
	(void)close(to);
	if (ret == 0)
		return true;
	(void)sink_fail(sink, reply, "pass", -ret);
	return sink_say(reply, 421, "4.3.2 No system resources");
}

static bool refuse(struct sink *sink, struct sink_reply *reply)
{
	(void)snprintf(sink->trouble, sizeof(sink->trouble), "%s",
		       "a mail, for a sink that takes connections");
	return sink_say(reply, 451, "4.3.0 Mail system is out of order; try again later");
}

/* No edge hands over a mail with this kind of sink; one of an older setup may. */
static bool postfix_mail(struct sink *sink, const struct envelope *envelope,
			 struct sink_reply *reply)
{
	(void)envelope;
	return refuse(sink, reply);
}

int sink_postfix_open(struct sink **ret_sink)
{
	static const struct sink_ops ops = {
		.mail = postfix_mail,
		.pass = postfix_pass,
	};
	struct sink *sink = calloc(1, sizeof(*sink));
	if (sink == NULL)
		return -ENOMEM;
	sink->ops = &ops;
	*ret_sink = sink;
	return 0;
}
