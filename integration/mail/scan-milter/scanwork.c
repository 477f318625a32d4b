/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/scan-milter/scanwork.h"

#include <poll.h>

/* A scan may also wait for what another one gives back: it is looked at again now and then. */
#define LOOK_MS 200

int scanwork_init(struct scanwork *ret_work, struct scanner *scanner)
{
	ret_work->scanner = scanner;
	return -pthread_mutex_init(&ret_work->lock, NULL);
}

int scanwork_begin(struct scanwork *work, const struct scan_envelope *envelope,
		   struct scan **ret_scan)
{
	pthread_mutex_lock(&work->lock);
	const int ret = scan_begin(work->scanner, INSPECT_MAIL, envelope, ret_scan);
	pthread_mutex_unlock(&work->lock);
	return ret;
}

/* With the lock, which is let go of meanwhile. */
static void wait_until_idle(struct scanwork *work, struct scan *scan)
{
	while (scan_is_busy(scan)) {
		struct pollfd fds[SCAN_POLL_MAX];
		int timeout_ms = 0;
		const size_t count = scan_poll(scan, fds, &timeout_ms);
		if (timeout_ms < 0 || timeout_ms > LOOK_MS)
			timeout_ms = LOOK_MS;
		pthread_mutex_unlock(&work->lock);
		/* An interruption is as good as an event. */
		(void)poll(fds, count, timeout_ms);
		pthread_mutex_lock(&work->lock);
		scan_turn(scan);
	}
}

void scanwork_push(struct scanwork *work, struct scan *scan, const uint8_t *bytes, size_t size)
{
	pthread_mutex_lock(&work->lock);
	while (size > 0) {
		const size_t piece = size < SCAN_PIECE_MAX ? size : SCAN_PIECE_MAX;
		scan_push(scan, bytes, piece);
		wait_until_idle(work, scan);
		bytes += piece;
		size -= piece;
	}
	pthread_mutex_unlock(&work->lock);
}

const struct scan_verdict *scanwork_end(struct scanwork *work, struct scan *scan)
{
	pthread_mutex_lock(&work->lock);
	scan_end(scan, true);
	wait_until_idle(work, scan);
	const struct scan_verdict *verdict = scan_verdict(scan);
	pthread_mutex_unlock(&work->lock);
	return verdict;
}

void scanwork_free(struct scanwork *work, struct scan *scan)
{
	if (scan == NULL)
		return;
	pthread_mutex_lock(&work->lock);
	scan_free(scan);
	pthread_mutex_unlock(&work->lock);
}

void scanwork_refresh(struct scanwork *work)
{
	pthread_mutex_lock(&work->lock);
	scanner_refresh(work->scanner);
	pthread_mutex_unlock(&work->lock);
}
