/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_zstd.h - zstd's frames without what stands behind them.
 *
 * Flow: unpack_feed.h -> unpack_zstd_next() -> libarchive, which gives nothing of up to 128 KiB before what is
 *       no frame, where other readers give all before it, as zstd itself does.
 *
 *     struct unpack_zstd zstd = { 0 };
 *     while ((size = unpack_zstd_next(&zstd, unpack, &bytes)) > 0)
 *
 * Only headers of frames and blocks are read (RFC 8878, 3.1), each of which is given by itself. A plain
 * value; no function here allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/unpack/unpack_rows.h"

#define UNPACK_ZSTD_HEAD 18 /* of a frame, at most */

struct unpack_zstd {
	const uint8_t *at; /* of the feed's block */
	size_t left;
	uint64_t pass; /* bytes up to the next header */
	bool is_begun;
	bool is_in_frame;
	bool has_sum; /* the frame, at its end */
	bool is_over;
	size_t head_size;
	uint8_t head[UNPACK_ZSTD_HEAD];
};

/* Within the run of a feed: how many bytes are at *ret_bytes, up to the next call; 0 at the end. */
size_t unpack_zstd_next(struct unpack_zstd *zstd, struct unpack *unpack, const uint8_t **ret_bytes);
