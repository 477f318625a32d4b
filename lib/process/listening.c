/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/listening.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Then it is another socket's turn. */
#define GONE_MAX 64

static int open_socket(sa_family_t family, int type, int *ret_fd)
{
	*ret_fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *ret_fd >= 0 ? 0 : -errno;
}

/* Closes fd when ret is an error. */
static int settle(int ret, int fd, int *ret_fd)
{
	if (ret != 0)
		close(fd);
	else
		*ret_fd = fd;
	return ret;
}

/* ---- ports ---- */

static int enable(int fd, int level, int option)
{
	int on = 1;
	return setsockopt(fd, level, option, &on, sizeof(on)) == 0 ? 0 : -errno;
}

int listening_bind_port(const struct sockaddr *address, socklen_t size, unsigned options,
			int *ret_fd)
{
	int fd = -1;
	int ret = open_socket(address->sa_family, SOCK_STREAM, &fd);
	if (ret != 0)
		return ret;
	/* Connections of the process before us may still be waiting to end. */
	ret = enable(fd, SOL_SOCKET, SO_REUSEADDR);
	if (ret == 0 && (options & LISTENING_SHARED) != 0)
		ret = enable(fd, SOL_SOCKET, SO_REUSEPORT);
	if (ret == 0 && (options & LISTENING_IPV6_ONLY) != 0 && address->sa_family == AF_INET6)
		ret = enable(fd, IPPROTO_IPV6, IPV6_V6ONLY);
	if (ret == 0 && bind(fd, address, size) != 0)
		ret = -errno;
	return settle(ret, fd, ret_fd);
}

/* ---- paths ---- */

static int make_address(const char *path, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret_address->sun_path, path, strlen(path) + 1);
	return 0;
}

/* A process that listens takes the connection, or has a full queue, or one of another type. */
static int find_listener(const struct sockaddr_un *address, int type, bool *ret_is_used)
{
	int fd = -1;
	int ret = open_socket(AF_UNIX, type, &fd);
	if (ret != 0)
		return ret;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
		ret = -errno;
	close(fd);
	if (ret == -EACCES)
		return ret; /* it may not be connected to, which says nothing about a listener */
	*ret_is_used = ret != -ECONNREFUSED;
	return 0;
}

int listening_clear_path(const char *path, int type)
{
	struct sockaddr_un address;
	struct stat status;
	bool is_used = false;
	int ret = make_address(path, &address);
	if (ret != 0)
		return ret;
	if (lstat(path, &status) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	ret = find_listener(&address, type, &is_used);
	if (ret != 0)
		return ret;
	if (is_used)
		return -EADDRINUSE;
	return unlink(path) == 0 ? 0 : -errno;
}

int listening_bind_path(const char *path, int type, int *ret_fd)
{
	struct sockaddr_un address;
	int fd = -1;
	int ret = listening_clear_path(path, type);
	if (ret == 0)
		ret = make_address(path, &address);
	if (ret == 0)
		ret = open_socket(AF_UNIX, type, &fd);
	if (ret != 0)
		return ret;
	mode_t mask = umask(0777);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		ret = -errno;
	umask(mask);
	return settle(ret, fd, ret_fd);
}

int listening_connect_path(const char *path, int type, unsigned timeout_s, int *ret_fd)
{
	const struct timeval timeout = { .tv_sec = timeout_s };
	struct sockaddr_un address;
	int ret = make_address(path, &address);
	if (ret != 0)
		return ret;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		ret = -errno;
	return settle(ret, fd, ret_fd);
}

/* ---- clients ---- */

/* Linux has accept() tell what has befallen the connection: accept(2). A firewall says EPERM. */
static bool is_about_client(int error)
{
	switch (error) {
	case ECONNABORTED:
	case EINTR:
	case EPERM:
	case EPROTO:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENONET:
	case ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

int listening_accept(int fd, struct sockaddr_storage *ret_peer)
{
	for (unsigned i = 0; i < GONE_MAX; i++) {
		struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
		socklen_t size = sizeof(peer);
		int client =
			accept4(fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client >= 0) {
			if (ret_peer != NULL)
				*ret_peer = peer;
			return client;
		}
		if (!is_about_client(errno))
			return -errno;
	}
	return -EAGAIN;
}
