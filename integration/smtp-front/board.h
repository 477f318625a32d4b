/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * board.h - which workers are idle, and which edges have sessions that wait for one.
 *
 * Flow: nanny.c -> board_open() before fork() -> worker.c and edge.c, by parting.c, set their own
 *       marks -> parting.c gives a session away when a worker is idle; visit.c and pace.h ask less
 *       patiently of a silent client while a session waits.
 *
 * Two bits for each process that lives, in memory that all share. A process sets its own and no
 * other, and the nanny takes both away when the process has ended: so a mark says how things are,
 * and nothing has to be put right behind a killed process, as with a count. Between a look and what
 * is done about it things may change; the queue of handover.h takes what comes too much.
 *
 * All functions take NULL, as in tests: then no worker is idle and no session waits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct board; /* opaque, shared memory */

enum board_mark { BOARD_IDLE, BOARD_WAITING, BOARD_MARKS };

/* For so many processes, without a mark. 0 or -errno. */
int board_open(size_t process_count, struct board **ret_board);
void board_close(struct board *board);

/* process: below process_count. */
void board_set(struct board *board, enum board_mark mark, size_t process, bool is_set);
/* Of a process that has ended: both. */
void board_clear(struct board *board, size_t process);
/* How many processes have it. */
unsigned board_count(const struct board *board, enum board_mark mark);

#ifdef __cplusplus
}
#endif
