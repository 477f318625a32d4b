/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/cluster/lister.h"

#include "integration/mail/base/store/storemail.h"
#include "integration/mail/base/users/users_copy.h"
#include "integration/mail/mail-stored/store/store_confine.h"
#include "lib/common/log.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* ---- the process ---- */

static int build_of(const struct stored_setup *setup, int fd)
{
	struct stat st;
	const char *path = NULL;
	const char *logins = setup->cluster.logins[0] != '\0' ? setup->cluster.logins : NULL;
	if (fstat(fd, &st) != 0)
		return -errno;
	void *list = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (list == MAP_FAILED)
		return -errno;
	int ret = users_copy_build(list, (size_t)st.st_size, setup->users, logins, &path);
	munmap(list, (size_t)st.st_size);
	return ret;
}

static void serve(const struct stored_setup *setup, int fd)
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
		int32_t status = packet.fd_count == 1 ? build_of(setup, packet.fds[0]) : -EBADMSG;
		packet_close(&packet);
		if (send(fd, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
			return;
	}
}

/* Signals are for its parent, whose end ends it. */
__attribute__((noreturn)) static void run(const struct stored_setup *setup, int fd)
{
	prctl(PR_SET_NAME, "lister");
	close_range((unsigned)fd + 1, ~0U, 0);
	for (int other = STDERR_FILENO + 1; other < fd; other++)
		close(other);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	umask(022);
	if (store_confine_lister(setup) != EX_OK)
		_exit(EXIT_FAILURE);
	/* Behind the change of user, which takes it away, and which made it another signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	serve(setup, fd);
	_exit(EXIT_SUCCESS);
}

/* ---- the other side ---- */

int lister_begin(const struct stored_setup *setup, int *ret_fd)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		run(setup, ends[1]);
	int ret = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (ret != 0)
		close(ends[0]);
	else
		*ret_fd = ends[0];
	return ret;
}

static int take_status(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	int32_t status;
	int ready;
	do
		ready = poll(&poller, 1, LISTER_TIMEOUT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready == 0 ? -ETIMEDOUT : -errno;
	ssize_t size = recv(fd, &status, sizeof(status), 0);
	if (size < 0)
		return -errno;
	return size == sizeof(status) ? status : -ECONNRESET;
}

int lister_build(int fd, const void *list, size_t size)
{
	char byte = '\0';
	const struct iovec part = { &byte, sizeof(byte) };
	int memory = storemail_seal(list, size);
	if (memory < 0)
		return memory;
	ssize_t sent = packet_send(fd, &part, 1, &memory, 1);
	close(memory);
	if (sent < 0)
		return sent == -EPIPE ? -ECONNRESET : (int)sent;
	return take_status(fd);
}
