/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/storelink.h"

#include "lib/process/clock.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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

static int connect_to(const char *path, uint64_t deadline_ms, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	int ret = strlen(path) < sizeof(address.sun_path) ? -EAGAIN : -ENAMETOOLONG;
	/* A UNIX socket whose backlog is full cannot be waited for. */
	while (ret == -EAGAIN) {
		ret = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0
											   : -errno;
		if (ret == -EAGAIN && clock_now_ms() >= deadline_ms)
			ret = -ETIMEDOUT;
		if (ret == -EAGAIN)
			poll(NULL, 0, 10);
	}
	if (ret == 0)
		*ret_fd = fd;
	else
		close(fd);
	return ret;
}

static int take_greeting(struct storelink *link, uint64_t deadline_ms)
{
	struct storewire_reply reply;
	int fd = -1;
	int ret = wait_for(link->fd, POLLIN, deadline_ms);
	if (ret == 0)
		ret = storelink_take(link, &reply, &fd);
	if (fd >= 0)
		close(fd);
	if (ret == 0 && reply.type != STOREWIRE_HELLO)
		ret = -EPROTO;
	if (ret == 0)
		ret = reply.status;
	if (ret == 0)
		link->has_quotas = (reply.number & STOREWIRE_HAS_QUOTAS) != 0;
	return ret;
}

int storelink_open(const char *path, int timeout_ms, struct storelink *ret_link)
{
	uint64_t deadline_ms = clock_now_ms() + (uint64_t)timeout_ms;
	ret_link->fd = -1;
	ret_link->serial = 0;
	ret_link->has_quotas = false;
	int ret = connect_to(path, deadline_ms, &ret_link->fd);
	if (ret == 0)
		ret = take_greeting(ret_link, deadline_ms);
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
