/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/process/clock.h"

/* All of text is a decimal number of at most max: that number, otherwise -1. */
static long parse_number(const char *text)
{
	if (text == NULL || *text < '0' || *text > '9')
		return -1;
	char *end = NULL;
	errno = 0;
	long number = strtol(text, &end, 10);
	return errno == 0 && *end == '\0' && number <= INT_MAX ? number : -1;
}

static int count_sockets(void)
{
	const char *pid = getenv("LISTEN_PID");
	const char *count_text = getenv("LISTEN_FDS");
	/* Of another process: our parent's, which it has left in the environment. */
	if (pid == NULL || count_text == NULL || parse_number(pid) != getpid())
		return 0;
	long count = parse_number(count_text);
	if (count < 0)
		return -EINVAL;
	return count > SYSTEMD_SOCKETS_MAX ? -E2BIG : (int)count;
}

int systemd_take_sockets(void)
{
	int count = count_sockets();
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	for (int i = 0; i < count; i++) {
		if (fcntl(SYSTEMD_FIRST_FD + i, F_SETFD, FD_CLOEXEC) != 0)
			return -errno;
	}
	return count;
}

/* A path, or behind an "@" a name without one. */
static int read_address(const char *text, struct sockaddr_un *ret_address, socklen_t *ret_size)
{
	size_t size = strlen(text);
	if ((text[0] != '/' && text[0] != '@') || size < 2)
		return -EAFNOSUPPORT;
	if (size >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret_address->sun_path, text, size);
	if (text[0] == '@')
		ret_address->sun_path[0] = '\0';
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	return 0;
}

int systemd_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	if (path == NULL || *path == '\0')
		return 0;
	struct sockaddr_un address;
	socklen_t size = 0;
	int ret = read_address(path, &address, &size);
	if (ret != 0)
		return ret;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		   size) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int systemd_notify_reloading(void)
{
	char state[64];
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)clock_now_us());
	return systemd_notify(state);
}
