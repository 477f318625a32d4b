/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/waitset.h"

#include <errno.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#else
#include <fcntl.h>

#include <sys/event.h>
#endif

#ifdef __linux__

int waitset_new(void)
{
	int set = epoll_create1(EPOLL_CLOEXEC);

	return set >= 0 ? set : -errno;
}

void waitset_leave(int set)
{
	if (set >= 0)
		close(set);
}

static int control(int set, int operation, int fd, uint32_t events, uint64_t tag)
{
	struct epoll_event event = { .events = events, .data.u64 = tag };

	return epoll_ctl(set, operation, fd, &event) == 0 ? 0 : -errno;
}

int waitset_add(int set, int fd, uint64_t tag)
{
	return control(set, EPOLL_CTL_ADD, fd, EPOLLIN, tag);
}

int waitset_add_writer(int set, int fd, uint64_t tag)
{
	return control(set, EPOLL_CTL_ADD, fd, EPOLLOUT, tag);
}

int waitset_turn(int set, int fd, uint64_t tag)
{
	return control(set, EPOLL_CTL_MOD, fd, EPOLLIN, tag);
}

void waitset_remove(int set, int fd)
{
	(void)control(set, EPOLL_CTL_DEL, fd, 0, 0);
}

int waitset_take(int set, uint64_t *ret_tags, int count_max)
{
	struct epoll_event events[WAITSET_TAKE_MAX];
	int count = epoll_wait(set, events,
			       count_max < WAITSET_TAKE_MAX ? count_max : WAITSET_TAKE_MAX, 0);

	for (int i = 0; i < count; i++)
		ret_tags[i] = events[i].data.u64;
	return count > 0 ? count : 0;
}

void waitset_settle(int set)
{
	(void)set;
}

#else /* kqueue: reading and writing are two events of a descriptor */

int waitset_new(void)
{
	int set = kqueue();

	if (set < 0)
		return -errno;
	if (fcntl(set, F_SETFD, FD_CLOEXEC) == 0)
		return set;
	int ret = -errno;
	close(set);
	return ret;
}

/* fork() has closed it, and its number may be another descriptor's by now. */
void waitset_leave(int set)
{
	(void)set;
}

static int control(int set, int fd, short filter, unsigned short flags, uint64_t tag)
{
	struct kevent change;

	_Static_assert(sizeof(void *) == sizeof(tag), "a pointer holds a tag");
	EV_SET(&change, (uintptr_t)fd, filter, flags, 0, 0, (void *)(uintptr_t)tag);
	return kevent(set, &change, 1, NULL, 0, NULL) == 0 ? 0 : -errno;
}

int waitset_add(int set, int fd, uint64_t tag)
{
	return control(set, fd, EVFILT_READ, EV_ADD, tag);
}

int waitset_add_writer(int set, int fd, uint64_t tag)
{
	return control(set, fd, EVFILT_WRITE, EV_ADD, tag);
}

int waitset_turn(int set, int fd, uint64_t tag)
{
	int ret = control(set, fd, EVFILT_WRITE, EV_DELETE, 0);

	return ret == 0 ? waitset_add(set, fd, tag) : ret;
}

void waitset_remove(int set, int fd)
{
	(void)control(set, fd, EVFILT_READ, EV_DELETE, 0);
	(void)control(set, fd, EVFILT_WRITE, EV_DELETE, 0);
}

int waitset_take(int set, uint64_t *ret_tags, int count_max)
{
	static const struct timespec now;
	struct kevent events[WAITSET_TAKE_MAX];
	int count = kevent(set, NULL, 0, events,
			   count_max < WAITSET_TAKE_MAX ? count_max : WAITSET_TAKE_MAX, &now);

	for (int i = 0; i < count; i++)
		ret_tags[i] = (uint64_t)(uintptr_t)events[i].udata;
	return count > 0 ? count : 0;
}

void waitset_settle(int set)
{
	uint64_t unused[WAITSET_TAKE_MAX];

	(void)waitset_take(set, unused, WAITSET_TAKE_MAX);
}

#endif
