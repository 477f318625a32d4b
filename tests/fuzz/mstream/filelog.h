/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * filelog.h - what decoders of files in a part have said, as one number, for targets that compare.
 *
 * Data is a number of its own for each file, however it is cut; begins, ends and oddities follow
 * one another. Calls that cannot be, as two begins, abort.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/mstream/files.h"

struct filelog {
	uint64_t events;
	uint64_t data;
	bool is_open;
	unsigned count;
};

static inline void filelog_require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "filelog: %s\n", what);
	abort();
}

static inline uint64_t filelog_add(uint64_t sum, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
	return sum;
}

static inline void filelog_begin(void *context, enum mstream_coding coding, const char *name)
{
	struct filelog *log = context;
	filelog_require(!log->is_open, "a file begins in another");
	filelog_require(strlen(name) < MSTREAM_NAME_SIZE, "a name is short");
	log->is_open = true;
	log->data = 0xcbf29ce484222325;
	log->count++;
	log->events = filelog_add(log->events + (uint64_t)coding + 1, name, strlen(name) + 1);
}

static inline void filelog_data(void *context, const uint8_t *bytes, size_t size)
{
	struct filelog *log = context;
	filelog_require(log->is_open && size > 0, "data is a file's");
	log->data = filelog_add(log->data, bytes, size);
}

static inline void filelog_end(void *context, bool is_whole)
{
	struct filelog *log = context;
	filelog_require(log->is_open, "what ends has begun");
	log->is_open = false;
	log->events = filelog_add(log->events + is_whole, &log->data, sizeof(log->data));
}

static inline void filelog_odd(void *context, enum mstream_oddity oddity)
{
	struct filelog *log = context;
	const uint8_t byte = (uint8_t)(oddity + 1);
	log->events = filelog_add(log->events, &byte, 1);
}

static const struct mstream_files filelog_files = { filelog_begin, filelog_data, filelog_end,
						    filelog_odd };

/* Pushes all in pieces of 1 to 64 bytes, by seed. */
static inline void filelog_pieces(const uint8_t *bytes, size_t size, uint32_t seed,
				  void (*push)(void *state, const uint8_t *bytes, size_t size,
					       struct filelog *log),
				  void *state, struct filelog *log)
{
	const uint32_t mask = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 7 : 63;
	for (size_t at = 0; at < size;) {
		seed = seed * 1664525 + 1013904223;
		size_t piece = (seed >> 16 & mask) + 1;
		if (piece > size - at)
			piece = size - at;
		push(state, bytes + at, piece, log);
		at += piece;
	}
}

static inline void filelog_compare(const struct filelog *whole, const struct filelog *pieces,
				   const char *target)
{
	if (whole->events == pieces->events && whole->count == pieces->count && !whole->is_open &&
	    !pieces->is_open)
		return;
	fprintf(stderr, "%s: pieces do not matter\n", target);
	abort();
}
