/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scan_frame.h - what a scanner and its decoder process say to one another.
 *
 * Flow: scanner.c: archives of a mail -> scan_frame_write() -> a packet -> decoder.c:
 *       scan_frame_read(); and findings the other way.
 *
 *     size = scan_frame_write(&frame, bytes);
 *     ret = scan_frame_read(bytes, size, SCAN_FRAME_TO_DECODER, &frame);
 *
 * A frame is one packet of a SOCK_SEQPACKET, so that one that is broken spoils no other. Numbers
 * are big-endian:
 *
 *     BEGIN     type 1, kind 1, depth 1, is_guess 1, is_beside 1, number 4, total 8, ratio 8,
 *               ratio_from 8, spool 8, members 4, path: the rest
 *     DATA      type 1, number 4, bytes: the rest, at least one
 *     END       type 1, number 4, is_whole 1
 *     FINISH    type 1
 *     HELLO     type 1                       there is a decoder process
 *     FINDING   type 1, class 1, offset 8, name_size 1, name, path: the rest
 *     FINISHED  type 1, counts 4 each, bytes 8, objects 4, total left 8, members left 4
 *
 * A decoder process that was taken over may write anything, so that what is not exactly a frame of
 * that direction is refused: lengths, classes, texts with controls or NUL. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/inspect/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCAN_FRAME_DATA_MAX 32768
#define SCAN_FRAME_MAX	    (SCAN_FRAME_DATA_MAX + 5)
/* Everything but SCAN_FRAME_DATA is shorter. */
#define SCAN_FRAME_SMALL 1024

enum scan_frame_type {
	SCAN_FRAME_BEGIN = 1,
	SCAN_FRAME_DATA,
	SCAN_FRAME_END,
	SCAN_FRAME_FINISH,
	SCAN_FRAME_HELLO,
	SCAN_FRAME_FINDING,
	SCAN_FRAME_FINISHED,
};

enum scan_frame_direction { SCAN_FRAME_TO_DECODER, SCAN_FRAME_TO_SCANNER };

/* Those of its type are set. */
struct scan_frame {
	enum scan_frame_type type;
	uint32_t number;
	struct inspect_origin origin; /* its path is the one below */
	bool is_whole;
	struct unpack_budget budget; /* FINISHED: total_left and members_left */
	char path[INSPECT_PATH_SIZE];
	const uint8_t *bytes; /* DATA: borrowed from the packet */
	size_t size;
	struct inspect_finding finding;
	unsigned counts[INSPECT_CLASS_COUNT];
	uint64_t looked_at;
	unsigned objects;
};

/* Into ret_bytes of SCAN_FRAME_SMALL, but for DATA, of SCAN_FRAME_MAX. Its size. */
size_t scan_frame_write(const struct scan_frame *frame, uint8_t *ret_bytes);
/* 0, or -EBADMSG. */
int scan_frame_read(const uint8_t *bytes, size_t size, enum scan_frame_direction direction,
		    struct scan_frame *ret_frame);

#ifdef __cplusplus
}
#endif
