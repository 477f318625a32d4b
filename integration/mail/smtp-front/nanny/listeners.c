/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/nanny/listeners.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 4096 /* the kernel takes net.core.somaxconn, when that is less */

/* *ret_fd is written on success only. */
static int open_one(const struct place *place, int *ret_fd)
{
	int one = 1;
	int ret = 0;
	int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) != 0)
		ret = -errno;
	/* :: and 0.0.0.0 are two places. */
	if (ret == 0 && place->address.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) != 0)
		ret = -errno;
	if (ret == 0 &&
	    bind(fd, (const struct sockaddr *)&place->address, place->address_size) != 0)
		ret = -errno;
	if (ret == 0)
		*ret_fd = fd;
	else
		close(fd);
	return ret;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->address_size == b->address_size &&
	       memcmp(&a->address, &b->address, a->address_size) == 0;
}

/* Of a row for a place, or -1. */
static int find(const struct listeners *listeners, unsigned row, const struct place *place)
{
	if (listeners == NULL || listeners->edge_count == 0)
		return -1;
	for (unsigned i = 0; i < listeners->place_count; i++) {
		if (is_same(&listeners->places[i], place))
			return listeners->fds[row][i];
	}
	return -1;
}

/*
 * SO_REUSEPORT lets all processes of one user share the port: with two smtp-fronts each would get
 * half of the clients. A socket without that option finds out.
 */
static int is_free(const struct place *place)
{
	int one = 1;
	int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int ret = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 ? 0 : -errno;
	if (ret == 0 && place->address.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) != 0)
		ret = -errno;
	if (ret == 0 &&
	    bind(fd, (const struct sockaddr *)&place->address, place->address_size) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int open_all(const struct setup_front *front, const struct listeners *old,
		    struct listeners *opened, unsigned *ret_place)
{
	for (unsigned place = 0; place < front->place_count; place++) {
		*ret_place = place;
		int ret = find(old, 0, &front->places[place]) >= 0 ? 0
								   : is_free(&front->places[place]);
		for (unsigned row = 0; ret == 0 && row < SETUP_EDGES_MAX; row++) {
			int *fd = &opened->fds[row][place];
			*fd = find(old, row, &front->places[place]);
			if (*fd < 0 && row < front->edges)
				ret = open_one(&front->places[place], fd);
		}
		if (ret != 0)
			return ret;
	}
	return 0;
}

int listeners_open(const struct setup_front *front, const struct listeners *old,
		   struct listeners *ret_listeners, const struct place **reterr_place)
{
	struct listeners opened = { .place_count = front->place_count, .edge_count = front->edges };
	unsigned place = 0;
	memset(opened.fds, -1, sizeof(opened.fds));
	memcpy(opened.places, front->places, sizeof(opened.places));
	int ret = open_all(front, old, &opened, &place);
	if (ret == 0) {
		*ret_listeners = opened;
		return 0;
	}
	*reterr_place = &front->places[place];
	listeners_close(&opened, old);
	return ret;
}

static int listen_place(const struct listeners *listeners, unsigned place)
{
	/* For those that listen already it changes nothing. */
	for (unsigned row = 0; row < SETUP_EDGES_MAX; row++) {
		int fd = listeners->fds[row][place];
		if (fd >= 0 && listen(fd, BACKLOG) != 0)
			return -errno;
	}
	return 0;
}

int listeners_listen(const struct listeners *listeners, const struct listeners *old,
		     const struct place **reterr_place)
{
	for (unsigned i = 0; i < listeners->place_count; i++) {
		const struct place *place = &listeners->places[i];
		/* Another program may have begun to listen since it was bound. */
		int ret = find(old, 0, place) >= 0 ? 0 : is_free(place);
		if (ret == 0)
			ret = listen_place(listeners, i);
		if (ret != 0) {
			*reterr_place = place;
			return ret;
		}
	}
	return 0;
}

unsigned listeners_share(struct listeners *listeners, int edge, int *ret_fds)
{
	unsigned count = 0;
	if (listeners->edge_count == 0)
		return 0;
	for (unsigned row = 0; row < SETUP_EDGES_MAX; row++) {
		for (unsigned place = 0; place < listeners->place_count; place++) {
			int fd = listeners->fds[row][place];
			if (fd < 0)
				continue;
			if (edge >= 0 && row % listeners->edge_count == (unsigned)edge)
				ret_fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count;
}

void listeners_close(struct listeners *listeners, const struct listeners *kept)
{
	for (unsigned row = 0; listeners->edge_count > 0 && row < SETUP_EDGES_MAX; row++) {
		for (unsigned place = 0; place < listeners->place_count; place++) {
			int fd = listeners->fds[row][place];
			if (fd >= 0 && find(kept, row, &listeners->places[place]) != fd)
				close(fd);
		}
	}
	listeners->edge_count = 0;
}
