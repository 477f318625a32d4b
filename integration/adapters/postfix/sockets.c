/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/sockets.h"

#include <errno.h>
#include <unistd.h>

#include "lib/process/listening.h"

#define BACKLOG 1024 /* a mail server may have all its processes connect at once */

static bool is_path(const struct place *place)
{
	return place->address.ss_family == AF_UNIX;
}

static int open_place(const struct place *place, const struct owner *owner, int *ret_fd)
{
	int fd = -1;
	int ret = is_path(place) ? listening_bind_path(place->text, SOCK_STREAM, &fd)
				 : listening_bind_port((const struct sockaddr *)&place->address,
						       place->address_size, 0, &fd);
	if (ret != 0)
		return ret;
	if (is_path(place))
		ret = owner_give(owner, place->text);
	if (ret == 0 && listen(fd, BACKLOG) != 0)
		ret = -errno;
	if (ret == 0) {
		*ret_fd = fd;
		return 0;
	}
	/* A next start could not even see that no process listens at one without a mode. */
	if (is_path(place))
		unlink(place->text);
	close(fd);
	return ret;
}

int sockets_open(const struct policy_setup *setup, struct sockets *ret_sockets,
		 const struct place **ret_place)
{
	struct sockets sockets = { .count = 0 };
	for (unsigned i = 0; i < setup->place_count; i++) {
		int ret = open_place(&setup->places[i].place, &setup->owner, &sockets.fds[i]);
		if (ret != 0) {
			*ret_place = &setup->places[i].place;
			sockets_close(setup, &sockets);
			return ret;
		}
		sockets.count++;
	}
	*ret_sockets = sockets;
	return 0;
}

void sockets_close(const struct policy_setup *setup, struct sockets *sockets)
{
	for (unsigned i = 0; i < sockets->count; i++) {
		close(sockets->fds[i]);
		if (is_path(&setup->places[i].place))
			unlink(setup->places[i].place.text);
	}
	sockets->count = 0;
}
