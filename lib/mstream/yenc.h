/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * yenc.h - yEnc 1.3: a file in a text of eight bits.
 *
 * Flow: embedded.c has a line "=ybegin ..." -> yenc_begin() -> yenc_push() with what follows, until
 *       its "=yend" -> outflow.h.
 *
 *     if (yenc_begin(&yenc, line, line_size, name))
 *             while (!yenc.is_done && size > 0)
 *                     ... yenc_push(&yenc, bytes, size, &out) ...
 *
 * A file of several parts is one for each: "=ypart" says of what bytes. is_odd is set when the size
 * or the checksum (CRC-32) that "=yend" has is another than that of what came. A plain value; no
 * allocation, no pointer kept.
 */

#include "lib/mstream/outflow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define YENC_BEGIN	  "=ybegin "
#define YENC_COMMAND_SIZE 128 /* of a line "=y..." within the file */

struct yenc {
	bool is_done;  /* its end was there, or another begins */
	bool has_next; /* another: its line has been used as far as YENC_BEGIN */
	bool is_odd;
	/* The rest is yenc.c's own. */
	bool is_line_begin;
	bool is_escaped;
	bool is_command;
	bool is_part;
	uint8_t command_size;
	uint32_t crc;
	uint64_t size; /* as it has come */
	uint64_t said; /* as "=ybegin" or "=ypart" say; UINT64_MAX: they do not */
	uint8_t command[YENC_COMMAND_SIZE];
};

/* Is the line, without its end, "=ybegin"? ret_name has MSTREAM_NAME_SIZE bytes. */
bool yenc_begin(struct yenc *ret_yenc, const uint8_t *line, size_t size, char *ret_name);
/*
 * How many of the bytes were used: all, until .is_done. Then they end with that line, but for the
 * LF of its CRLF.
 */
size_t yenc_push(struct yenc *yenc, const uint8_t *bytes, size_t size, struct outflow *out);
/* The text has ended, maybe in a command's line. */
void yenc_finish(struct yenc *yenc);

#ifdef __cplusplus
}
#endif
