/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/lookout.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

void lookout_open(struct lookout *lookout)
{
	lookout->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	lookout->is_blind = lookout->fd < 0;
}

void lookout_close(struct lookout *lookout)
{
	if (lookout->fd >= 0)
		close(lookout->fd);
	lookout->fd = -1;
}

void lookout_watch(struct lookout *lookout, const char *path)
{
	static const uint32_t events = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVE | IN_CREATE |
				       IN_DELETE | IN_ATTRIB | IN_ONLYDIR;
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
	if (lookout->fd < 0 || size == 0 || size >= sizeof(directory)) {
		lookout->is_blind = true;
		return;
	}
	memcpy(directory, path, size);
	directory[size] = '\0';
	if (inotify_add_watch(lookout->fd, directory, events) < 0)
		lookout->is_blind = true;
}

void lookout_drain(const struct lookout *lookout)
{
	char events[4096];
	ssize_t size;
	do {
		size = read(lookout->fd, events, sizeof(events));
	} while (size > 0 || (size < 0 && errno == EINTR));
}

static uint64_t mix(uint64_t print, uint64_t number)
{
	print = (print ^ number) * 0x9e3779b97f4a7c15u;
	return print ^ print >> 32;
}

uint64_t lookout_print(uint64_t print, const char *path)
{
	struct stat found;
	if (stat(path, &found) != 0)
		return mix(print, (uint64_t)errno);
	print = mix(print, found.st_dev);
	print = mix(print, found.st_ino);
	print = mix(print, (uint64_t)found.st_size);
	print = mix(print, (uint64_t)found.st_mtim.tv_sec);
	print = mix(print, (uint64_t)found.st_mtim.tv_nsec);
	print = mix(print, (uint64_t)found.st_ctim.tv_sec);
	return mix(print, (uint64_t)found.st_ctim.tv_nsec);
}
