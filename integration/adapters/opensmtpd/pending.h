/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pending.h - requests that have no answer yet, and when they are to have one.
 *
 * Flow: guard.c -> pending_add() for each request -> pending_take() for each answer ->
 *       pending_oldest() when the time is over, or the child has gone.
 *
 * Lies in the memory of its owner, and is empty when it is zero. All requests wait equally long,
 * so that the oldest is the next. Answers come nearly in that order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/adapters/opensmtpd/line.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pending_one {
	struct line request;
	int64_t due_ms;
};

struct pending {
	struct pending_one *ones;
	size_t count;
	size_t room;
};

void pending_deinit(struct pending *pending);

/* 0, or -ENOMEM or -ENOBUFS: it is not in there. */
int pending_add(struct pending *pending, const struct line *request, int64_t due_ms);
/* Whether text, without its end of line, is the answer to one; that one is taken out. */
bool pending_take(struct pending *pending, const char *text, size_t text_size);
/* NULL when there is none; borrowed until the next call. */
const struct pending_one *pending_oldest(const struct pending *pending);
void pending_drop_oldest(struct pending *pending);

#ifdef __cplusplus
}
#endif
