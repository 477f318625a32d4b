/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

#define COUNT_MAX 65536 /* OpenSMTPD has less sessions than it may have descriptors */

void pending_deinit(struct pending *pending)
{
	free(pending->ones);
	memset(pending, 0, sizeof(*pending));
}

int pending_add(struct pending *pending, const struct line *request, int64_t due_ms)
{
	if (pending->count == COUNT_MAX)
		return -ENOBUFS;
	if (!array_reserve(pending->ones, pending->count + 1, &pending->room))
		return -ENOMEM;
	pending->ones[pending->count].request = *request;
	pending->ones[pending->count].due_ms = due_ms;
	pending->count++;
	return 0;
}

static void remove_at(struct pending *pending, size_t at)
{
	pending->count--;
	memmove(&pending->ones[at], &pending->ones[at + 1],
		(pending->count - at) * sizeof(pending->ones[0]));
}

bool pending_take(struct pending *pending, const char *text, size_t text_size)
{
	for (size_t i = 0; i < pending->count; i++) {
		if (!line_answers(text, text_size, &pending->ones[i].request))
			continue;
		remove_at(pending, i);
		return true;
	}
	return false;
}

const struct pending_one *pending_oldest(const struct pending *pending)
{
	return pending->count > 0 ? &pending->ones[0] : NULL;
}

void pending_drop_oldest(struct pending *pending)
{
	if (pending->count > 0)
		remove_at(pending, 0);
}
