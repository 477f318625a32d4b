/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Those beyond are closed by the kernel. */
#define LOOKED_AT_MAX 8

ssize_t packet_send(int socket_fd, const struct iovec *parts, size_t part_count, const int *fds,
		    unsigned fd_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(PACKET_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts,
				  .msg_iovlen = part_count };
	memset(&control, 0, sizeof(control));
	if (fd_count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
	}
	ssize_t sent;
	do {
		sent = sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0 ? sent : -errno;
}

/* Of all control messages, descriptors into ret_list. How many. */
static unsigned collect(struct msghdr *message, int *ret_list)
{
	unsigned count = 0;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t size = header->cmsg_len - CMSG_LEN(0);
		for (size_t i = 0; i + sizeof(int) <= size && count < LOOKED_AT_MAX;
		     i += sizeof(int))
			memcpy(&ret_list[count++], CMSG_DATA(header) + i, sizeof(int));
	}
	return count;
}

static int check(int flags, unsigned fd_count)
{
	/* No room for a descriptor in this process: the kernel has closed it. */
	if ((flags & MSG_CTRUNC) != 0 && fd_count < PACKET_FDS_MAX)
		return -EMFILE;
	bool is_cut = (flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	return is_cut || fd_count > PACKET_FDS_MAX ? -EBADMSG : 0;
}

int packet_receive(int socket_fd, void *bytes, size_t room, struct packet *ret_packet)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(LOOKED_AT_MAX * sizeof(int))];
	} control;
	struct iovec part = { bytes, room };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int fds[LOOKED_AT_MAX];
	ssize_t size = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (size < 0)
		return -errno;
	unsigned count = collect(&message, fds);
	/* No packet is empty, nor without anything beside it. */
	if (size == 0 && message.msg_controllen == 0)
		return 0;
	int ret = check(message.msg_flags, count);
	if (ret != 0) {
		for (unsigned i = 0; i < count; i++)
			close(fds[i]);
		return ret;
	}
	*ret_packet = (struct packet){ .size = (size_t)size, .fd_count = count };
	memcpy(ret_packet->fds, fds, count * sizeof(int));
	return 1;
}

void packet_close(struct packet *packet)
{
	for (unsigned i = 0; i < packet->fd_count; i++)
		close(packet->fds[i]);
	packet->fd_count = 0;
}
