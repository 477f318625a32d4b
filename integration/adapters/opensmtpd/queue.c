/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/format/array.h"

void queue_deinit(struct queue *queue)
{
	free(queue->bytes);
	memset(queue, 0, sizeof(*queue));
}

int queue_put(struct queue *queue, const char *text, size_t size)
{
	if (size == 0)
		return 0;
	if (queue->begin == queue->end)
		queue->begin = queue->end = 0;
	if (!array_reserve(queue->bytes, queue->end + size, &queue->room))
		return -ENOMEM;
	memcpy(queue->bytes + queue->end, text, size);
	queue->end += size;
	return 0;
}

int queue_flush(struct queue *queue, int fd)
{
	while (queue->begin < queue->end) {
		ssize_t written = write(fd, queue->bytes + queue->begin, queue->end - queue->begin);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		queue->begin += (size_t)written;
	}
	return 0;
}

size_t queue_size(const struct queue *queue)
{
	return queue->end - queue->begin;
}

void queue_clear(struct queue *queue)
{
	queue->begin = queue->end = 0;
}
