/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_inflate.h - zlib's inflate within memory that is given, and within a budget.
 *
 * Flow: unpack_zlib.c, unpack_zip.c: a piece of a deflate stream (RFC 1951) -> unpack_inflate() ->
 *       unpack_give().
 *
 *     unpack_inflate_init(inflate);
 *     step = unpack_inflate(unpack, inflate, bytes, size, &used);
 *
 * Only for lib/unpack. zlib takes its state and window once, from the arena here, and keeps them
 * for the streams that follow. The ratio is looked at behind every UNPACK_SLICE bytes of the object
 * and behind a stream: so what comes out before a flaw is the same however the input is cut.
 */

#include <zlib.h>

#include "lib/unpack/unpack_rows.h"

#define UNPACK_SLICE	     1024
#define UNPACK_INFLATE_ARENA (43 * 1024)
#define UNPACK_INFLATE_OUT   (16 * 1024)

enum inflate_step {
	INFLATE_MORE, /* all was used */
	INFLATE_ENDED,
	INFLATE_BAD, /* this is no deflate stream; what came out was given */
	INFLATE_OVER,
};

struct unpack_inflate {
	z_stream stream;
	bool is_adler; /* what check is, or else a CRC-32 */
	uint32_t check;
	uint64_t out; /* of this stream */
	/* Where it goes; NULL: unpack_give(). */
	bool (*give)(struct unpack *unpack, const uint8_t *bytes, size_t size);
	size_t arena_used;
	size_t fill;
	uint8_t out_bytes[UNPACK_INFLATE_OUT];
	_Alignas(16) uint8_t arena[UNPACK_INFLATE_ARENA];
};

/* 0 or -ENOMEM. */
int unpack_inflate_init(struct unpack_inflate *inflate);
/* Before each further stream. */
void unpack_inflate_reset(struct unpack_inflate *inflate);
/* unpack->in goes on by *ret_used. */
enum inflate_step unpack_inflate(struct unpack *unpack, struct unpack_inflate *inflate,
				 const uint8_t *bytes, size_t size, size_t *ret_used);
