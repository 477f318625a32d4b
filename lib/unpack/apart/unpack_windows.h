/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_windows.h - how much memory a compressed file wants, by its head.
 *
 * Flow: the first bytes of an object, before its decoder sees them -> unpack_window() -> more than
 *       UNPACK_WINDOW_MAX is UNPACK_MEMORY.
 *
 *     if (unpack_window(CONTENT_ZSTD, head, head_size) > UNPACK_WINDOW_MAX)
 *
 * For what libarchive cannot be told: zstd's first frame and RAR's first file. What a later one
 * wants, and what stands in a 7z, is limited by the process alone. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/content/kind.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What xz has at its most, and twice what RAR has by default. Of a large one only what is used takes memory. */
#define UNPACK_WINDOW_MAX (64 << 20)

/* Of a dictionary or window, in bytes; 0: it does not say, or the kind has one of a fixed size. */
uint64_t unpack_window(enum content_kind kind, const uint8_t *head, size_t size);

#ifdef __cplusplus
}
#endif
