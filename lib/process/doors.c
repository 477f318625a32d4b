/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/doors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/process/listening.h"

/* Clients that are taken at a time, and how often at the end. */
#define TAKE_MAX 64
#define LAST_MAX 64

struct door {
	struct doors *doors;
	uv_poll_t poll;
	int fd;
};

struct doors {
	const struct doors_rules *rules;
	void *owner;
	uv_timer_t pause;
	bool is_short;	     /* of descriptors, and it was said */
	unsigned count;	     /* of doors with a handle */
	unsigned open_count; /* of handles that are not closed, with that of the timer */
	struct door *all;
};

/* ---- clients ---- */

static void door_on_readable(uv_poll_t *poll, int status, int events);

int doors_watch(struct doors *doors)
{
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < doors->count; i++)
		ret = uv_poll_start(&doors->all[i].poll, UV_READABLE, door_on_readable);
	return ret;
}

static void pause_on_timer(uv_timer_t *timer)
{
	doors_watch(timer->data);
}

static void pause_doors(struct doors *doors, int error)
{
	if (!doors->is_short)
		doors->rules->wait(doors->owner, error);
	doors->is_short = true;
	for (unsigned i = 0; i < doors->count; i++)
		uv_poll_stop(&doors->all[i].poll);
	uv_timer_start(&doors->pause, pause_on_timer, doors->rules->pause_ms, 0);
}

/* False: no client waits any more, or none can be taken now. */
static bool take_some(const struct door *door)
{
	struct doors *doors = door->doors;
	for (unsigned i = 0; i < TAKE_MAX; i++) {
		struct sockaddr_storage peer;
		int fd = listening_accept(door->fd, &peer);
		if (fd == -EAGAIN)
			return false;
		if (fd < 0) {
			pause_doors(doors, -fd);
			return false;
		}
		doors->is_short = false;
		doors->rules->take(doors->owner, (unsigned)(door - doors->all), fd,
				   (const struct sockaddr *)&peer);
		if (uv_is_closing((const uv_handle_t *)&door->poll))
			return false;
	}
	return true;
}

static void door_on_readable(uv_poll_t *poll, int status, int events)
{
	const struct door *door = poll->data;
	const struct doors *doors = door->doors;
	(void)status;
	(void)events;
	if (doors->rules->begin != NULL)
		doors->rules->begin(doors->owner);
	take_some(door);
}

void doors_take_last(struct doors *doors)
{
	for (unsigned i = 0; i < doors->count; i++) {
		unsigned turns = LAST_MAX;
		while (turns > 0 && take_some(&doors->all[i]))
			turns--;
	}
}

/* ---- begin and end ---- */

static void handle_on_close(uv_handle_t *handle)
{
	struct doors *doors = handle->data;
	doors->open_count--;
	if (doors->open_count > 0)
		return;
	free(doors->all);
	free(doors);
}

static void door_on_close(uv_handle_t *handle)
{
	struct door *door = handle->data;
	handle->data = door->doors;
	handle_on_close(handle);
}

void doors_close(struct doors *doors)
{
	if (doors == NULL)
		return;
	for (unsigned i = 0; i < doors->count; i++)
		uv_close((uv_handle_t *)&doors->all[i].poll, door_on_close);
	uv_close((uv_handle_t *)&doors->pause, handle_on_close);
}

static int open_door(struct doors *doors, uv_loop_t *loop, int fd)
{
	struct door *door = &doors->all[doors->count];
	int ret = uv_poll_init(loop, &door->poll, fd);
	if (ret != 0)
		return ret;
	door->doors = doors;
	door->fd = fd;
	door->poll.data = door;
	doors->count++;
	doors->open_count++;
	return 0;
}

int doors_open(uv_loop_t *loop, const int *fds, unsigned count, const struct doors_rules *rules,
	       void *owner, struct doors **ret_doors)
{
	int ret = 0;
	struct doors *doors = calloc(1, sizeof(*doors));
	struct door *all = calloc((size_t)count + 1, sizeof(*all));
	if (doors == NULL || all == NULL) {
		free(doors);
		free(all);
		return -ENOMEM;
	}
	*doors = (struct doors){ .rules = rules, .owner = owner, .all = all, .open_count = 1 };
	uv_timer_init(loop, &doors->pause); /* cannot fail */
	doors->pause.data = doors;
	for (unsigned i = 0; ret == 0 && i < count; i++)
		ret = open_door(doors, loop, fds[i]);
	if (ret != 0)
		doors_close(doors);
	else
		*ret_doors = doors;
	return ret;
}
