/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pairscan.c - the scan of a pair's mail, and how its loop waits for it.
 *
 * The descriptors that a scan waits for are its own: it closes and opens them as it likes. They are
 * watched by a descriptor of epoll(7) that the loop watches, and taken out of it before anything of
 * the scan is called that may close them: so no number of a descriptor is ever another's.
 */
#include "integration/mail/mail-proxy/side/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static const struct scan_verdict clean = { .action = SCAN_ACCEPT,
					   .code = 250,
					   .text = "2.0.0 Ok",
					   .header = "",
					   .log = "not scanned",
					   .result = NULL };

static void unwatch(struct pairscan *scanning)
{
	for (size_t i = 0; i < scanning->fd_count; i++)
		(void)epoll_ctl(scanning->epoll_fd, EPOLL_CTL_DEL, scanning->fds[i], NULL);
	scanning->fd_count = 0;
	wheel_clear(&scanning->timer);
	if (scanning->poll != NULL)
		uv_poll_stop(scanning->poll);
}

int pair_scan_begin(struct pair *pair, const struct scan_envelope *envelope)
{
	struct pairscan *scanning = &pair->scanning;
	pair_scan_free(pair);
	if (pair->loop->scanner == NULL)
		return 0;
	if (pair->is_counted && !limits_hold(pair->loop->limits, &pair->client_ip))
		return -EAGAIN;
	scanning->is_held = pair->is_counted;
	int ret = scan_begin(pair->loop->scanner, INSPECT_MAIL, envelope, &scanning->scan);
	scanning->is_on = ret == 0;
	if (ret != 0)
		pair_scan_free(pair);
	return ret;
}

void pair_scan_push(struct pair *pair, const uint8_t *bytes, size_t size)
{
	if (!pair->scanning.is_on || size == 0)
		return;
	unwatch(&pair->scanning);
	scan_push(pair->scanning.scan, bytes, size);
}

void pair_scan_end(struct pair *pair, bool is_whole)
{
	if (!pair->scanning.is_on)
		return;
	unwatch(&pair->scanning);
	scan_end(pair->scanning.scan, is_whole);
}

bool pair_scan_is_busy(const struct pair *pair)
{
	return pair->scanning.is_on && scan_is_busy(pair->scanning.scan);
}

bool pair_scan_has_found(const struct pair *pair)
{
	return pair->scanning.is_on && scan_has_found(pair->scanning.scan);
}

const struct scan_verdict *pair_scan_verdict(const struct pair *pair)
{
	return pair->scanning.is_on ? scan_verdict(pair->scanning.scan) : &clean;
}

static void poll_on_close(uv_handle_t *handle)
{
	free(handle);
}

void pair_scan_free(struct pair *pair)
{
	struct pairscan *scanning = &pair->scanning;
	if (scanning->is_on) {
		unwatch(scanning);
		scan_free(scanning->scan);
	}
	if (scanning->is_held)
		limits_release(pair->loop->limits, &pair->client_ip);
	if (scanning->poll != NULL) {
		uv_poll_stop(scanning->poll);
		scanning->poll->data = NULL;
		uv_close((uv_handle_t *)scanning->poll, poll_on_close);
		close(scanning->epoll_fd);
	}
	*scanning = (struct pairscan){ .is_on = false };
}

static void poll_on_event(uv_poll_t *poll, int status, int events)
{
	struct pair *pair = poll->data;
	(void)status;
	(void)events;
	pair_scan_turn(pair);
	pair_turn(pair);
}

void pair_scan_turn(struct pair *pair)
{
	if (!pair->scanning.is_on)
		return;
	unwatch(&pair->scanning);
	scan_turn(pair->scanning.scan);
}

static int open_epoll(struct pair *pair)
{
	struct pairscan *scanning = &pair->scanning;
	uv_poll_t *poll = calloc(1, sizeof(*poll));
	if (poll == NULL)
		return -ENOMEM;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0 || uv_poll_init(&pair->loop->loop, poll, fd) != 0) {
		if (fd >= 0)
			close(fd);
		free(poll);
		return -EMFILE;
	}
	poll->data = pair;
	scanning->poll = poll;
	scanning->epoll_fd = fd;
	return 0;
}

static uint32_t epoll_events(short events)
{
	return ((events & POLLIN) != 0 ? (uint32_t)EPOLLIN : 0) |
	       ((events & POLLOUT) != 0 ? (uint32_t)EPOLLOUT : 0);
}

static void watch_fds(struct pair *pair, const struct pollfd *fds, size_t count)
{
	struct pairscan *scanning = &pair->scanning;
	for (size_t i = 0; i < count; i++) {
		struct epoll_event event = { .events = epoll_events(fds[i].events) };
		if (epoll_ctl(scanning->epoll_fd, EPOLL_CTL_ADD, fds[i].fd, &event) == 0)
			scanning->fds[scanning->fd_count++] = fds[i].fd;
	}
	if (scanning->fd_count > 0)
		uv_poll_start(scanning->poll, UV_READABLE, poll_on_event);
}

#define LOOK_MS 20 /* when the system has no descriptor to wait with */

void pair_scan_watch(struct pair *pair)
{
	struct pairscan *scanning = &pair->scanning;
	struct pollfd fds[SCAN_POLL_MAX];
	int timeout_ms = -1;
	if (!scanning->is_on || !scan_is_busy(scanning->scan) || scanning->fd_count > 0)
		return;
	const size_t count = scan_poll(scanning->scan, fds, &timeout_ms);
	if (count > 0 && scanning->poll == NULL && open_epoll(pair) != 0)
		timeout_ms = LOOK_MS;
	else if (count > 0)
		watch_fds(pair, fds, count);
	if (timeout_ms >= 0)
		wheel_set(&pair->loop->scan_wheel, &scanning->timer,
			  proxyloop_now(pair->loop) + (uint64_t)timeout_ms + 1);
}
