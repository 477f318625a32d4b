/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cores.h - which process runs where, with pin-workers, and in turns of which length.
 *
 * Flow: parent.c divides the cores before the first fork and keeps to those that no worker has ->
 *       what it forks begins there -> worker.c takes its own core when it serves, and leaves it
 *       when it ends.
 *
 * Each worker has a core, in order; more workers than cores begin again. All else - the parent,
 * workers that begin or end, verifiers, transfers - shares the cores behind them, or all where
 * none is left: forking, and ending a process with a large memory, is kernel work of a millisecond
 * that no question waits for then. Threads: none of it is for more than one.
 */

#include <sched.h>
#include <stddef.h>

struct cores {
	cpu_set_t allowed; /* what the administrator gave us */
	cpu_set_t shared;
};

/* Before cores_share(). Where the kernel does not tell, no process is ever moved. */
void cores_divide(struct cores *cores, size_t worker_count);
/* The core of that worker; 0 or -errno. */
int cores_take(const struct cores *cores, size_t worker);
/* To the shared cores, where no worker's questions wait for this process. */
void cores_share(const struct cores *cores);
/* As it was when we were started. */
void cores_use_all(const struct cores *cores);

/*
 * Asks for short turns of this process, not of its children. Since Linux 6.12 a task with short turns
 * need not wait for the end of another's: a question would wait for milliseconds while the next
 * worker starts, or a store is built, on the same core. It is not a larger share. Older kernels
 * ignore it. Nothing happens to a process that an administrator has started as a real-time task.
 */
void cores_take_short_turns(void);
