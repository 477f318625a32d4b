/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * queue.h - bytes that are to be written to a descriptor that may not take them now.
 *
 * Flow: queue_put() -> queue_flush() at once, and whenever the descriptor can be written to ->
 *       write(2).
 *
 * Lies in the memory of its owner, and is empty when it is zero.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct queue {
	char *bytes;
	size_t begin;
	size_t end;
	size_t room;
};

void queue_deinit(struct queue *queue);

/* Copied. 0 or -ENOMEM. */
int queue_put(struct queue *queue, const char *text, size_t size);
/* fd does not block. 0 when all is written, -EAGAIN when not, or another -errno. */
int queue_flush(struct queue *queue, int fd);
size_t queue_size(const struct queue *queue);
void queue_clear(struct queue *queue);

#ifdef __cplusplus
}
#endif
