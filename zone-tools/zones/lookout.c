/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/lookout.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/fnv.h"

void lookout_open(struct lookout *lookout)
{
	lookout->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	lookout->is_blind = lookout->fd < 0;
	lookout->above_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	lookout->directory[0] = '\0';
	memset(lookout->names, 0, sizeof(lookout->names));
}

void lookout_close(struct lookout *lookout)
{
	if (lookout->fd >= 0)
		close(lookout->fd);
	if (lookout->above_fd >= 0)
		close(lookout->above_fd);
	lookout->fd = lookout->above_fd = -1;
}

static uint64_t hash_name(const char *name)
{
	return fnv_add(FNV_START, name, strlen(name)) % LOOKOUT_NAMES;
}

/* Those above the one that was watched last. What may not be read is left to the looks in between. */
static void watch_above(struct lookout *lookout)
{
	static const uint32_t events = IN_MOVE | IN_CREATE | IN_DELETE | IN_ONLYDIR;
	char above[PATH_MAX];
	char *slash;
	memcpy(above, lookout->directory, sizeof(above));
	while ((slash = strrchr(above, '/')) != NULL && slash[1] != '\0') {
		uint64_t hash = hash_name(slash + 1);
		lookout->names[hash / 8] |= (uint8_t)(1u << hash % 8);
		slash[slash == above] = '\0';
		(void)inotify_add_watch(lookout->above_fd, above, events);
	}
}

void lookout_watch(struct lookout *lookout, const char *path)
{
	static const uint32_t events = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVE | IN_MOVE_SELF |
				       IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR;
	const char *slash = strrchr(path, '/');
	size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
	if (lookout->fd < 0 || size == 0 || size >= sizeof(lookout->directory)) {
		lookout->is_blind = true;
		return;
	}
	if (strncmp(lookout->directory, path, size) == 0 && lookout->directory[size] == '\0')
		return;
	memcpy(lookout->directory, path, size);
	lookout->directory[size] = '\0';
	/* First: one that is replaced in between is told of, and watched anew. */
	watch_above(lookout);
	if (inotify_add_watch(lookout->fd, lookout->directory, events) < 0)
		lookout->is_blind = true;
}

/* Events of fd until there are none; fn gets each, and the name that it is about or "". */
static void
each_event(int fd, void (*fn)(void *context, const struct inotify_event *event, const char *name),
	   void *context)
{
	char events[4096];
	struct inotify_event event;
	ssize_t size;
	while ((size = read(fd, events, sizeof(events))) > 0 || (size < 0 && errno == EINTR)) {
		for (size_t at = 0; size > 0 && at + sizeof(event) <= (size_t)size;
		     at += sizeof(event) + event.len) {
			memcpy(&event, events + at, sizeof(event));
			fn(context, &event, event.len > 0 ? events + at + sizeof(event) : "");
		}
	}
}

/* Watches that stayed would be of directories which are at the path of no list now, as long as they exist. */
void lookout_renew(struct lookout *lookout)
{
	lookout_close(lookout);
	lookout_open(lookout);
}

struct search {
	const uint8_t *names;
	bool is_found;
};

static void find_name(void *context, const struct inotify_event *event, const char *name)
{
	struct search *search = context;
	uint64_t hash = hash_name(name);
	search->is_found |= (event->mask & IN_Q_OVERFLOW) != 0 ||
			    (search->names[hash / 8] >> hash % 8 & 1) != 0;
}

bool lookout_is_replaced(const struct lookout *lookout)
{
	struct search search = { lookout->names, false };
	each_event(lookout->above_fd, find_name, &search);
	return search.is_found;
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
