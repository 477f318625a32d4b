/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/syncer.h"

#include "integration/mail/base/nanny/confine.h"
#include "lib/process/callfilter.h"
#include "lib/process/capabilities.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the process ---- */

static void confine(void)
{
	static const char *const calls[] = { "fdatasync", "fsync" };
	const struct callfilter_list lists[] = {
		{ true, CALLFILTER_ALLOW, CALLFILTER_NAMES(calls) },
	};
	struct callfilter filter = { 0 };
	if (!callfilter_can_load() || prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
		return;
	if (callfilter_make(CALLFILTER_REFUSE, lists, 1, &filter) == 0)
		(void)callfilter_load(&filter);
	callfilter_deinit(&filter);
}

static int answer(int fd, const struct packet *packet)
{
	int32_t status = fdatasync(packet->fds[0]) == 0 ? 0 : -errno;
	return send(fd, &status, sizeof(status), MSG_NOSIGNAL) == sizeof(status) ? 0 : -errno;
}

static void serve(int fd)
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
		ret = packet.fd_count == 1 ? answer(fd, &packet) : -EBADMSG;
		packet_close(&packet);
		if (ret != 0)
			return;
	}
}

/* Signals are for its parent, whose end ends it. */
__attribute__((noreturn)) static void run(const struct owner *owner, int fd)
{
	prctl(PR_SET_NAME, "syncer");
	close_range((unsigned)fd + 1, ~0U, 0);
	for (int other = STDERR_FILENO + 1; other < fd; other++)
		close(other);
	/* In this order: another user, or fewer capabilities, take the signal away. */
	if (confine_user(owner) != 0 || capabilities_keep(0) != 0)
		_exit(EXIT_FAILURE);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	confine();
	serve(fd);
	_exit(EXIT_SUCCESS);
}

/* ---- the other side ---- */

pid_t syncer_begin(const struct owner *owner, int *ret_fd)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		run(owner, ends[1]);
	int ret = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (ret == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
		ret = -errno;
	if (ret != 0) {
		close(ends[0]);
		return ret;
	}
	*ret_fd = ends[0];
	return pid;
}

int syncer_ask(int fd, int descriptor)
{
	char byte = '\0';
	const struct iovec part = { &byte, sizeof(byte) };
	ssize_t sent = packet_send(fd, &part, 1, &descriptor, 1);
	return sent < 0 ? (int)sent : 0;
}

int syncer_take(int fd, int *ret_status)
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
