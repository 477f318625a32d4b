/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * turns.h - before which tasks a worker gets the processor.
 *
 * Flow: worker.c hurries when it serves -> parent.c, which has the right to, makes it a real-time
 *       task where that is wanted -> worker.c rests when it ends.
 *
 * None of it is for what a worker forks: verifiers and transfers can wait. An administrator who
 * has started the server as a real-time task has decided already: then nothing here does anything.
 */

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Asks for short turns. Since Linux 6.12 a task with short turns need not wait for the end of
 * another's: a question would wait for milliseconds while the next worker starts, or a store is
 * built, on the same core. It is not a larger share. Older kernels ignore it.
 */
void turns_hurry(void);
/*
 * Makes another process a real-time task (SCHED_RR) of the lowest priority: before all that is
 * none, sched(7). Needs CAP_SYS_NICE, or that it has RLIMIT_RTPRIO. 0 or -errno.
 */
int turns_put_first(pid_t pid);
/* Like any other process again. */
void turns_rest(void);

#ifdef __cplusplus
}
#endif
