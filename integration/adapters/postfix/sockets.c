/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 1024 /* a mail server may have all its processes connect at once */

static bool is_path(const struct setup_place *place)
{
	return place->address.ss_family == AF_UNIX;
}

/* A process that listens answers at once, or has a full queue, which is an answer too. */
static bool is_in_use(const struct setup_place *place)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool is_used =
		connect(fd, (const struct sockaddr *)&place->address, place->address_size) == 0 ||
		errno == EAGAIN;
	close(fd);
	return is_used;
}

static int remove_stale(const struct setup_place *place)
{
	struct stat status;
	if (lstat(place->text, &status) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -ENOTSOCK;
	if (is_in_use(place))
		return -EADDRINUSE;
	return unlink(place->text) == 0 ? 0 : -errno;
}

static int bind_path(int fd, const struct setup_place *place, const struct owner *owner)
{
	int ret = remove_stale(place);
	if (ret != 0)
		return ret;
	mode_t mask = umask(0777);
	if (bind(fd, (const struct sockaddr *)&place->address, place->address_size) != 0)
		ret = -errno;
	umask(mask);
	return ret != 0 ? ret : owner_give(owner, place->text);
}

static int bind_port(int fd, const struct setup_place *place)
{
	int on = 1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (const struct sockaddr *)&place->address, place->address_size) != 0)
		return -errno;
	return 0;
}

static int open_place(const struct setup_place *place, const struct owner *owner, int *ret_fd)
{
	int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = is_path(place) ? bind_path(fd, place, owner) : bind_port(fd, place);
	if (ret == 0 && listen(fd, BACKLOG) != 0)
		ret = -errno;
	if (ret != 0) {
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

int sockets_open(const struct setup *setup, struct sockets *ret_sockets,
		 const struct setup_place **ret_place)
{
	struct sockets sockets = { .count = 0 };
	for (unsigned i = 0; i < setup->place_count; i++) {
		int ret = open_place(&setup->places[i], &setup->owner, &sockets.fds[i]);
		if (ret != 0) {
			*ret_place = &setup->places[i];
			sockets_close(setup, &sockets);
			return ret;
		}
		sockets.count++;
	}
	*ret_sockets = sockets;
	return 0;
}

void sockets_close(const struct setup *setup, struct sockets *sockets)
{
	for (unsigned i = 0; i < sockets->count; i++) {
		close(sockets->fds[i]);
		if (is_path(&setup->places[i]))
			unlink(setup->places[i].text);
	}
	sockets->count = 0;
}
