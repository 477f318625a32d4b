/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/handover.h"

#include <errno.h>
#include <stdbool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/process/packet.h"

/* As it was asked for: the kernel says twice of it. */
static int get_size(int fd, int *ret_size)
{
	int doubled = 0;
	socklen_t length = sizeof(doubled);
	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &doubled, &length) != 0)
		return -errno;
	*ret_size = doubled / 2;
	return 0;
}

/* What the system gives to a process that may not exceed its limit. */
static int try_size(int size, int *ret_given)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int ret = setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0 ? 0 : -errno;
	if (ret == 0)
		ret = get_size(fd, ret_given);
	close(fd);
	return ret;
}

static int set_size(int fd, size_t buffer_size)
{
	int size = (int)(buffer_size < HANDOVER_SIZE_MAX ? HANDOVER_SIZE_MAX : buffer_size);
	int before = 0;
	int given = 0;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0)
		return 0;
	int ret = get_size(fd, &before);
	if (ret == 0)
		ret = try_size(size, &given);
	if (ret != 0 || (size > before && given <= before))
		return ret;
	return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0 ? 0 : -errno;
}

int handover_resize(int queue_fd, size_t buffer_size, size_t *ret_size)
{
	int size = 0;
	int ret = set_size(queue_fd, buffer_size);
	if (ret == 0)
		ret = get_size(queue_fd, &size);
	if (ret == 0)
		*ret_size = (size_t)size;
	return ret;
}

void handover_call(int queue_fd)
{
	(void)!send(queue_fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void handover_hear(int queue_fd)
{
	char call;
	while (recv(queue_fd, &call, sizeof(call), MSG_DONTWAIT) > 0)
		;
}

size_t handover_used(int queue_fd)
{
	int size = 0;
	return ioctl(queue_fd, SIOCOUTQ, &size) == 0 && size > 0 ? (size_t)size : 0;
}

static int set_up(const int *ends, size_t buffer_size)
{
	struct timeval wait = { .tv_sec = HANDOVER_WAIT_MS / 1000,
				.tv_usec = HANDOVER_WAIT_MS % 1000 * 1000 };
	int ret = set_size(ends[0], buffer_size);
	if (ret != 0)
		return ret;
	if (setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0)
		return -errno;
	return 0;
}

int handover_open(size_t buffer_size, int *ret_ends)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	int ret = set_up(ends, buffer_size);
	if (ret != 0) {
		close(ends[0]);
		close(ends[1]);
		return ret;
	}
	ret_ends[0] = ends[0];
	ret_ends[1] = ends[1];
	return 0;
}

int handover_send(int queue_fd, const uint8_t *bytes, size_t size, const struct handover_fds *fds)
{
	const int sent[] = { fds->connection, fds->hold };
	const struct iovec part = { (void *)(uintptr_t)bytes, size };
	/* A message of this kind goes whole. */
	ssize_t ret = packet_send(queue_fd, &part, 1, sent, fds->hold >= 0 ? 2 : 1);
	return ret >= 0 ? 0 : (int)ret;
}

static bool is_of_type(int descriptor, mode_t type)
{
	struct stat st;
	return fstat(descriptor, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* A socket, and a pipe or nothing behind it. */
static bool is_session(const struct packet *packet)
{
	return packet->fd_count > 0 && is_of_type(packet->fds[0], S_IFSOCK) &&
	       (packet->fd_count == 1 || is_of_type(packet->fds[1], S_IFIFO));
}

int handover_await(int queue_fd)
{
	char first;
	ssize_t size = recv(queue_fd, &first, sizeof(first), MSG_PEEK);
	return size < 0 ? -errno : 0;
}

int handover_receive(int queue_fd, uint8_t *ret_bytes, size_t *ret_size,
		     struct handover_fds *ret_fds)
{
	struct packet packet;
	int ret = packet_receive(queue_fd, ret_bytes, HANDOVER_SIZE_MAX, &packet);
	if (ret <= 0)
		return ret == 0 ? -EPIPE : ret;
	if (!is_session(&packet)) {
		packet_close(&packet);
		return -EBADMSG;
	}
	*ret_size = packet.size;
	ret_fds->connection = packet.fds[0];
	ret_fds->hold = packet.fd_count > 1 ? packet.fds[1] : -1;
	return 0;
}
