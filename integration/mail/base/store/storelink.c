/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/storelink.h"

#include "lib/process/clock.h"
#include "lib/process/listening.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PARTS_MAX 3

static int wait_for(int fd, short events, uint64_t deadline_ms)
{
	struct pollfd poller = { .fd = fd, .events = events };
	for (;;) {
		uint64_t now_ms = clock_now_ms();
		int ready =
			poll(&poller, 1, now_ms < deadline_ms ? (int)(deadline_ms - now_ms) : 0);
		if (ready > 0)
			return 0;
		if (ready == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/* ---- begin and end ---- */

int storelink_begin(const char *path, struct storelink *ret_link)
{
	*ret_link = (struct storelink){ .fd = -1 };
	return listening_connect_path(path, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, &ret_link->fd);
}

int storelink_greet(struct storelink *link)
{
	struct storewire_reply reply;
	int fd = -1;
	int ret = storelink_take(link, &reply, &fd);
	if (ret != 0)
		return ret;
	if (fd >= 0)
		close(fd);
	if (reply.type != STOREWIRE_HELLO)
		return -EPROTO;
	link->has_quotas = (reply.number & STOREWIRE_HAS_QUOTAS) != 0;
	return reply.status;
}

/* A UNIX socket whose backlog is full cannot be waited for. */
static int begin_before(const char *path, uint64_t deadline_ms, struct storelink *ret_link)
{
	int ret = storelink_begin(path, ret_link);
	while (ret == -EAGAIN) {
		if (clock_now_ms() >= deadline_ms)
			return -ETIMEDOUT;
		poll(NULL, 0, 10);
		ret = storelink_begin(path, ret_link);
	}
	return ret;
}

int storelink_open(const char *path, int timeout_ms, struct storelink *ret_link)
{
	uint64_t deadline_ms = clock_now_ms() + (uint64_t)timeout_ms;
	int ret = begin_before(path, deadline_ms, ret_link);
	if (ret == 0)
		ret = wait_for(ret_link->fd, POLLIN, deadline_ms);
	if (ret == 0)
		ret = storelink_greet(ret_link);
	if (ret != 0)
		storelink_close(ret_link);
	return ret;
}

void storelink_close(struct storelink *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

/* ---- requests and replies ---- */

int storelink_send(struct storelink *link, struct storewire_request *request,
		   const struct storelink_memory *memory)
{
	uint8_t head[STOREWIRE_REQUEST_HEAD + MAILBOX_NAME_MAX];
	struct iovec parts[1 + PARTS_MAX];
	bool has_fd = memory != NULL && memory->fd >= 0;
	size_t count = 1;
	request->serial = ++link->serial;
	request->has_memory = memory != NULL && !has_fd;
	parts[0] = (struct iovec){ head, storewire_encode_request(request, head) };
	for (size_t i = 0; request->has_memory && i < memory->part_count && i < PARTS_MAX; i++)
		parts[count++] = memory->parts[i];
	ssize_t sent = packet_send(link->fd, parts, count, has_fd ? &memory->fd : NULL, has_fd);
	return sent < 0 ? (int)sent : 0;
}

int storelink_take(struct storelink *link, struct storewire_reply *ret_reply, int *ret_fd)
{
	struct packet packet;
	int ret = packet_receive(link->fd, link->bytes, sizeof(link->bytes), &packet);
	if (ret <= 0)
		return ret == 0 ? -ECONNRESET : ret;
	ret = storewire_decode_reply(link->bytes, packet.size, ret_reply);
	if (ret == 0 && packet.fd_count > 1)
		ret = -EPROTO;
	if (ret != 0) {
		packet_close(&packet);
		return ret;
	}
	*ret_fd = packet.fd_count > 0 ? packet.fds[0] : -1;
	return 0;
}

static int send_before(struct storelink *link, struct storewire_request *request,
		       const struct storelink_memory *memory, uint64_t deadline_ms)
{
	int ret = storelink_send(link, request, memory);
	while (ret == -EAGAIN) {
		ret = wait_for(link->fd, POLLOUT, deadline_ms);
		if (ret == 0)
			ret = storelink_send(link, request, memory);
	}
	return ret;
}

int storelink_call(struct storelink *link, struct storewire_request *request,
		   const struct storelink_memory *memory, int timeout_ms,
		   struct storewire_reply *ret_reply, int *ret_fd)
{
	uint64_t deadline_ms = clock_now_ms() + (uint64_t)timeout_ms;
	int fd = -1;
	int ret = link->fd < 0 ? -ENOTCONN : send_before(link, request, memory, deadline_ms);
	if (ret == 0)
		ret = wait_for(link->fd, POLLIN, deadline_ms);
	if (ret == 0)
		ret = storelink_take(link, ret_reply, &fd);
	bool is_other = ret == 0 && ret_reply->serial != request->serial;
	if (fd >= 0 && (is_other || ret_fd == NULL))
		close(fd);
	else if (ret_fd != NULL && ret == 0)
		*ret_fd = fd;
	return is_other ? -EPROTO : ret;
}

/* ---- the daemon's end ---- */

int storelink_answer(int socket_fd, const struct storewire_reply *reply, int fd)
{
	uint8_t head[STOREWIRE_REPLY_HEAD];
	const struct iovec parts[] = { { head, sizeof(head) },
				       { (void *)(uintptr_t)reply->rows, reply->rows_size } };
	storewire_encode_reply(reply, head);
	ssize_t sent = packet_send(socket_fd, parts, reply->rows_size > 0 ? 2 : 1, &fd, fd >= 0);
	return sent < 0 ? (int)sent : 0;
}

bool storelink_has_unread(int socket_fd)
{
	int size = 0;
	return ioctl(socket_fd, SIOCOUTQ, &size) == 0 && size > 0;
}

bool storelink_is_own(int socket_fd)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}
