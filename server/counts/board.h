/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * board.h - how each worker's zones are, for the parent, which opens no store.
 *
 * Flow: parent.c makes a board in shared memory for each generation of workers
 *       -> watch.c writes, once a second -> report.c prints.
 *
 * Each worker writes its own part; the parent reads without a lock, so that
 * within the second of a change the fields of a zone may be of two versions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum board_state {
	BOARD_OPENING, /* nothing is known yet */
	BOARD_SERVING,
	BOARD_EXPIRED, /* answering SERVFAIL, because the list must not be used any more */
	BOARD_FAILED,  /* answering SERVFAIL, because no store can be opened; see status */
};

#define BOARD_ZONE_MAP(X)                                                                          \
	X(state)  /* enum board_state */                                                           \
	X(status) /* what zone_strerror() explains, as uint64_t */                                 \
	X(serial)                                                                                  \
	X(records)                                                                                 \
	X(built_s)                                                                                 \
	X(expires_s)	/* 0: never */                                                             \
	X(signatures_s) /* when the first one ends; 0: not signed */                               \
	X(damage)	/* of what is served, as status; 0: none is known */                       \
	X(checked_s)	/* when all of it was compared with its checksum last */

struct board_zone {
#define X(name) uint64_t name;
	BOARD_ZONE_MAP(X)
#undef X
};

struct board {
	void *memory; /* shared with the workers */
	size_t size_bytes;
	size_t worker_count;
	size_t zone_count;
};

/* 0 or -errno. */
int board_open(struct board *board, size_t worker_count, size_t zone_count);
/* Takes a board that is all zero. */
void board_close(struct board *board);

void board_put(const struct board *board, size_t worker, size_t zone,
	       const struct board_zone *value);
/*
 * The zone as the worker has it that is worst off: in the worst state, and of
 * those the one with the oldest data. Damage that any of them has found, and the
 * latest check: one worker looks for all.
 */
struct board_zone board_find_worst(const struct board *board, size_t zone);
/* What a worker has said that has zone in that state; false when none has. */
bool board_find(const struct board *board, size_t zone, enum board_state state,
		struct board_zone *ret_zone);

#ifdef __cplusplus
}
#endif
