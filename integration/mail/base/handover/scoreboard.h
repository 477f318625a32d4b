/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scoreboard.h - which workers are idle, and which edges have sessions that wait for one.
 *
 * Flow: nanny.c -> scoreboard_open() before fork() -> worker.c and edge.c, by handout.c, set their own
 *       marks -> handout.c takes its turn, and gives a session away when a worker is idle; visit.c
 *       and pace.h ask less patiently of a silent client while a session waits.
 *
 * Two bits for each process that lives, in memory that all share. A process sets its own and no
 * other, and the nanny takes both away when the process has ended: so a mark says how things are,
 * and nothing has to be put right behind a killed process, as with a count.
 *
 * A worker takes its idle mark away before it takes a message, and an edge reads the queue before
 * the marks: so a worker is never counted twice. And edges have turns, one at a time, for a look
 * and what is sent after it: so two of them never send to one worker. The nanny frees the turn of
 * an edge that has ended. It is a word in shared memory and no lock of the C library, whose lists
 * one process would then read out of what another, perhaps a broken one, has written.
 *
 * All functions take NULL, as in tests: then no worker is idle, no session waits, and each has its
 * turn.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct scoreboard; /* opaque, shared memory */

enum scoreboard_mark { SCOREBOARD_IDLE, SCOREBOARD_WAITING, SCOREBOARD_MARKS };

/* For so many processes, without a mark. 0 or -errno. */
int scoreboard_open(size_t process_count, struct scoreboard **ret_board);
void scoreboard_close(struct scoreboard *scoreboard);

/* process: below process_count. */
void scoreboard_set(struct scoreboard *scoreboard, enum scoreboard_mark mark, size_t process,
		    bool is_set);
/* Of a process that has ended: both, and its turn. */
void scoreboard_clear(struct scoreboard *scoreboard, size_t process);
/* How many processes have it. */
unsigned scoreboard_count(const struct scoreboard *scoreboard, enum scoreboard_mark mark);

/*
 * False when another process keeps its turn for longer than a look and a message take: better a
 * session that waits for the next tick than an edge that does nothing else.
 */
bool scoreboard_take_turn(struct scoreboard *scoreboard, size_t process);
/* Of a process that has the turn. */
void scoreboard_end_turn(struct scoreboard *scoreboard, size_t process);

#ifdef __cplusplus
}
#endif
