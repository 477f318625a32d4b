/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_feed.h"

#include <string.h>

#include "lib/unpack/apart/unpack_windows.h"

_Static_assert(sizeof(struct unpack_feed) <= UNPACK_FEED_STATE, "it fits");

size_t unpack_feed_next(struct unpack *unpack, const uint8_t **ret_bytes)
{
	struct unpack_feed *feed = unpack->state;
	if (!feed->has_block && !feed->is_last)
		unpack_fiber_wait(&feed->fiber);
	*ret_bytes = feed->block;
	feed->is_drained = !feed->has_block;
	feed->has_block = false;
	return feed->is_drained ? 0 : feed->fill;
}

static void enter(void *argument)
{
	struct unpack *unpack = argument;
	const struct unpack_feed *feed = unpack->state;
	feed->run(unpack);
	unpack->is_over = true;
}

/* A block is there, or the end. */
static void go(struct unpack *unpack)
{
	struct unpack_feed *feed = unpack->state;
	if (!feed->is_begun) {
		feed->is_begun = true;
		if (unpack_window(unpack->row->kind, feed->block, feed->fill) > UNPACK_WINDOW_MAX) {
			unpack_stop(unpack, UNPACK_MEMORY);
			feed->fiber.is_done = true;
		}
	}
	unpack->in += feed->fill;
	feed->has_block = feed->fill > 0;
	unpack_fiber_go(&feed->fiber);
	feed->fill = 0;
}

int unpack_feed_begin(struct unpack *unpack, void (*run)(struct unpack *unpack))
{
	struct unpack_feed *feed = unpack->state;
	memset(feed, 0, offsetof(struct unpack_feed, block));
	feed->run = run;
	return unpack_fiber_new(&feed->fiber, enter, unpack);
}

void unpack_feed_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct unpack_feed *feed = unpack->state;
	while (size > 0 && !unpack->is_over) {
		const size_t room = sizeof(feed->block) - feed->fill;
		const size_t part = size < room ? size : room;
		memcpy(feed->block + feed->fill, bytes, part);
		feed->fill += part;
		bytes += part;
		size -= part;
		if (feed->fill == sizeof(feed->block))
			go(unpack);
	}
}

void unpack_feed_end(struct unpack *unpack)
{
	struct unpack_feed *feed = unpack->state;
	feed->is_last = true;
	while (feed->is_begun ? !feed->fiber.is_done : !unpack->is_over)
		go(unpack);
	unpack_fiber_free(&feed->fiber);
}
