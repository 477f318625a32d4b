/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/handover.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* More than SENT_MAX are refused; those beyond these are closed by the kernel. */
#define DESCRIPTORS_MAX 8
#define SENT_MAX	2

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

/* Into msg_control, which has room for SENT_MAX. */
static void put_descriptors(struct msghdr *message, const struct handover_fds *fds)
{
	const int sent[SENT_MAX] = { fds->connection, fds->hold };
	const size_t size = (fds->hold >= 0 ? 2 : 1) * sizeof(int);
	message->msg_controllen = CMSG_SPACE(size);
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(header), sent, size);
}

int handover_send(int queue_fd, const uint8_t *bytes, size_t size, const struct handover_fds *fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SENT_MAX * sizeof(int))];
	} control;
	struct iovec part = { (void *)(uintptr_t)bytes, size };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	memset(&control, 0, sizeof(control));
	put_descriptors(&message, fds);
	ssize_t sent;
	do {
		sent = sendmsg(queue_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	/* A message of this kind goes whole. */
	return sent >= 0 ? 0 : -errno;
}

/*
 * Of all control messages, descriptors into ret_list. How many; those that do not fit are closed.
 */
static unsigned collect(struct msghdr *message, int *ret_list)
{
	unsigned count = 0;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t size = header->cmsg_len - CMSG_LEN(0);
		for (size_t i = 0; i + sizeof(int) <= size && count < DESCRIPTORS_MAX;
		     i += sizeof(int))
			memcpy(&ret_list[count++], CMSG_DATA(header) + i, sizeof(int));
	}
	return count;
}

static bool is_of_type(int descriptor, mode_t type)
{
	struct stat st;
	return fstat(descriptor, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* What has come whole, with a socket, and with a pipe or nothing behind it. */
static int check(const struct msghdr *message, const int *descriptors, unsigned count)
{
	/* No room for a descriptor in this process: the kernel has closed it. */
	if ((message->msg_flags & MSG_CTRUNC) != 0 && count < SENT_MAX)
		return -EMFILE;
	if ((message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || count < 1 || count > SENT_MAX ||
	    !is_of_type(descriptors[0], S_IFSOCK))
		return -EBADMSG;
	return count == 1 || is_of_type(descriptors[1], S_IFIFO) ? 0 : -EBADMSG;
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
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	} control;
	struct iovec part = { ret_bytes, HANDOVER_SIZE_MAX };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int descriptors[DESCRIPTORS_MAX];
	ssize_t size = recvmsg(queue_fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (size < 0)
		return -errno;
	unsigned count = collect(&message, descriptors);
	/* No message is empty, nor without anything beside it. */
	if (size == 0 && message.msg_controllen == 0)
		return -EPIPE;
	int ret = check(&message, descriptors, count);
	if (ret == 0) {
		*ret_size = (size_t)size;
		ret_fds->connection = descriptors[0];
		ret_fds->hold = count > 1 ? descriptors[1] : -1;
		return 0;
	}
	for (unsigned i = 0; i < count; i++)
		close(descriptors[i]);
	return ret;
}
