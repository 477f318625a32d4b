/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_feed.h - a decoder that pulls its input, where it is pushed.
 *
 * Flow: unpack_push() -> unpack_feed_push() -> a block is full -> the decoder, on its fiber, goes on
 *       behind unpack_feed_next() -> the functions of unpack_rows.h.
 *
 *     int unpack_arj_begin(struct unpack *unpack)
 *     {
 *             return unpack_feed_begin(unpack, run);
 *     }
 *     static void run(struct unpack *unpack)
 *     {
 *             while ((size = unpack_feed_next(unpack, &bytes)) > 0)
 *
 * Only for lib/unpack. Blocks are of one size but for the last, whatever is pushed: all that the
 * decoder does is the same then, and unpack->in counts whole blocks. When it returns it is over.
 */

#include "lib/unpack/apart/unpack_fiber.h"
#include "lib/unpack/unpack_rows.h"

#define UNPACK_FEED_BLOCK (16 * 1024)

/* The state of its rows. */
struct unpack_feed {
	struct unpack_fiber fiber;
	void (*run)(struct unpack *unpack);
	bool is_begun;
	bool has_block;
	bool is_last;	 /* no block follows */
	bool is_drained; /* the decoder has seen that */
	size_t fill;
	uint8_t block[UNPACK_FEED_BLOCK];
};

/* 0 or -ENOMEM. */
int unpack_feed_begin(struct unpack *unpack, void (*run)(struct unpack *unpack));
/* Within run: a block, which stays until the next call. 0 at the end, and again then. */
size_t unpack_feed_next(struct unpack *unpack, const uint8_t **ret_bytes);
