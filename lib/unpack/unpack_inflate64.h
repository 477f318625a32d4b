/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_inflate64.h - Deflate64, which Windows opens in a zip, and zlib does not have.
 *
 * Flow: unpack_zip.c: a piece of the stream -> unpack_inflate64() -> unpack_give().
 *
 *     unpack_inflate64_reset(&state);
 *     step = unpack_inflate64(unpack, &state, bytes, size, &used);
 *
 * As deflate (RFC 1951), but for a window of 64 KiB, 32 codes of distances, and a last length that
 * has 16 bits more. A byte is taken only when the next symbol wants it: so the end is known to the
 * byte, and the ratio, looked at where the window is full, does not depend on cuts. Only for
 * lib/unpack.
 */

#include "lib/unpack/unpack_inflate.h"

#define UNPACK_INFLATE64_WINDOW (64 * 1024)

/* A canonical Huffman code; symbols are in the order of their codes. */
struct unpack_code64 {
	uint16_t counts[16];
	uint16_t symbols[288];
};

struct unpack_inflate64 {
	int step;
	bool is_last; /* block */
	uint64_t bits;
	unsigned bit_count;
	unsigned left;	       /* of a stored block, or of a match */
	unsigned length_count; /* how many codes the block says that it has */
	unsigned distance_count;
	unsigned width_count;
	unsigned index;
	uint32_t check; /* CRC-32 */
	uint64_t out;
	unsigned at; /* in the window */
	unsigned given;
	struct unpack_code64 lengths;
	struct unpack_code64 distances;
	uint8_t widths[288 + 32];
	uint8_t window[UNPACK_INFLATE64_WINDOW];
};

void unpack_inflate64_reset(struct unpack_inflate64 *ret_state);
/* As unpack_inflate(). */
enum inflate_step unpack_inflate64(struct unpack *unpack, struct unpack_inflate64 *state,
				   const uint8_t *bytes, size_t size, size_t *ret_used);
