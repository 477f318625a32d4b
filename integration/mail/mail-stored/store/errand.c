/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/errand.h"

#include "lib/process/child.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void serve(const struct errand *errand, int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	char byte;
	for (;;) {
		struct packet packet;
		int ret = packet_receive(fd, &byte, sizeof(byte), &packet);
		if (ret == -EAGAIN || ret == -EINTR) {
			poll(&poller, 1, -1);
			continue;
		}
		if (ret <= 0)
			return;
		int32_t status = packet.fd_count == 1 ? errand->answer(errand->data, packet.fds[0])
						      : -EBADMSG;
		packet_close(&packet);
		if (send(fd, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
			return;
	}
}

__attribute__((noreturn)) static void run(const struct errand *errand, int fd)
{
	prctl(PR_SET_NAME, errand->name);
	close_range((unsigned)fd + 1, ~0U, 0);
	for (int other = STDERR_FILENO + 1; other < fd; other++)
		close(other);
	signal(SIGTERM, SIG_IGN);
	child_ignore_signals();
	if (errand->confine(errand->data) != 0)
		_exit(EXIT_FAILURE);
	serve(errand, fd);
	_exit(EXIT_SUCCESS);
}

int errand_begin(const struct errand *errand, int *ret_fd)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		run(errand, ends[1]);
	int ret = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (ret != 0)
		close(ends[0]);
	else
		*ret_fd = ends[0];
	return ret;
}

int errand_ask(int fd, int descriptor)
{
	char byte = '\0';
	const struct iovec part = { &byte, sizeof(byte) };
	ssize_t sent = packet_send(fd, &part, 1, &descriptor, 1);
	if (sent < 0)
		return sent == -EPIPE ? -ECONNRESET : (int)sent;
	return 0;
}

int errand_take(int fd, int *ret_status)
{
	int32_t status;
	ssize_t size = recv(fd, &status, sizeof(status), MSG_DONTWAIT);
	if (size < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (size != sizeof(status))
		return -ECONNRESET;
	*ret_status = status;
	return 1;
}
