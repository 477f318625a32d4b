/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/nanny/listeners.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/process/listening.h"

#define BACKLOG 4096 /* the kernel takes net.core.somaxconn, when that is less */

static int bind_one(const struct place *place, unsigned options, int *ret_fd)
{
	/* :: and 0.0.0.0 are two places. */
	return listening_bind_port((const struct sockaddr *)&place->address, place->address_size,
				   LISTENING_IPV6_ONLY | options, ret_fd);
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
	int fd = -1;
	int ret = bind_one(place, 0, &fd);
	if (ret == 0)
		close(fd);
	return ret;
}

static int open_all(const struct listeners_wanted *wanted, const struct listeners *old,
		    struct listeners *opened, unsigned *ret_place)
{
	for (unsigned place = 0; place < wanted->place_count; place++) {
		*ret_place = place;
		int ret = find(old, 0, &wanted->places[place]) >= 0
				  ? 0
				  : is_free(&wanted->places[place]);
		for (unsigned row = 0; ret == 0 && row < LISTENERS_EDGES_MAX; row++) {
			int *fd = &opened->fds[row][place];
			*fd = find(old, row, &wanted->places[place]);
			if (*fd < 0 && row < wanted->edge_count)
				ret = bind_one(&wanted->places[place], LISTENING_SHARED, fd);
		}
		if (ret != 0)
			return ret;
	}
	return 0;
}

int listeners_open(const struct listeners_wanted *wanted, const struct listeners *old,
		   struct listeners *ret_listeners, const struct place **reterr_place)
{
	struct listeners opened = { .place_count = wanted->place_count,
				    .edge_count = wanted->edge_count };
	unsigned place = 0;
	memset(opened.fds, -1, sizeof(opened.fds));
	memcpy(opened.places, wanted->places, wanted->place_count * sizeof(*wanted->places));
	int ret = open_all(wanted, old, &opened, &place);
	if (ret == 0) {
		*ret_listeners = opened;
		return 0;
	}
	*reterr_place = &wanted->places[place];
	listeners_close(&opened, old);
	return ret;
}

static int listen_place(const struct listeners *listeners, unsigned place)
{
	/* For those that listen already it changes nothing. */
	for (unsigned row = 0; row < LISTENERS_EDGES_MAX; row++) {
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

static void keep(struct listeners_shared *shared, int fd, unsigned place)
{
	shared->fds[shared->count] = fd;
	shared->places[shared->count++] = (uint8_t)place;
}

void listeners_share(struct listeners *listeners, int edge, struct listeners_shared *ret_shared)
{
	if (edge >= 0)
		ret_shared->count = 0;
	if (listeners->edge_count == 0)
		return;
	for (unsigned row = 0; row < LISTENERS_EDGES_MAX; row++) {
		for (unsigned place = 0; place < listeners->place_count; place++) {
			int fd = listeners->fds[row][place];
			if (fd < 0)
				continue;
			if (edge >= 0 && row % listeners->edge_count == (unsigned)edge)
				keep(ret_shared, fd, place);
			else
				close(fd);
		}
	}
}

void listeners_close(struct listeners *listeners, const struct listeners *kept)
{
	for (unsigned row = 0; listeners->edge_count > 0 && row < LISTENERS_EDGES_MAX; row++) {
		for (unsigned place = 0; place < listeners->place_count; place++) {
			int fd = listeners->fds[row][place];
			if (fd >= 0 && find(kept, row, &listeners->places[place]) != fd)
				close(fd);
		}
	}
	listeners->edge_count = 0;
}
