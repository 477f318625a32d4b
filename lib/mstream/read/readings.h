/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * readings.h - what a body is, in each of the ways in which its header may be understood.
 *
 * Flow: partreader.c is at the end of a header -> readings_begin() -> a leaf (leaf.h), a multipart or a
 *       message (levels.h); for each reading but the first an entity of its own.
 *
 *     mimehead_finish() has been called by it; entity.phase is what comes next
 *
 * The readings, for each type that was said:
 *
 *     a multipart, with each boundary that may be meant
 *     a multipart without one: bytes; and the first line that looks like a delimiter begins a part
 *     another type that has a boundary: bytes, and a multipart
 *     a message; if it is encoded, which RFC 2046 forbids, what is decoded, and what stands there
 *     an encoded multipart: what stands there, and what is decoded
 *     anything else: bytes, decoded in each of the ways that were said
 *
 * All of it is the mail's. No function here allocates or logs.
 */

#include "lib/mstream/read/mstream_state.h"

/* Of an entity whose header has ended. Copies of it are .fresh. */
void readings_begin(struct mstream *mail, struct entity *entity);
