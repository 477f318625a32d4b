/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * child.h - processes that a parent makes, is asked to end, and waits for.
 *
 * Flow: a parent: child_block_signals(), child_fork() for each slot of crew.h -> child_wait_signal(),
 *       or a loop of its own -> waitpid() -> crew.h says what is due -> child_tell() ->
 *       child_kill_overdue().
 *
 * These are the system calls beside crew.h. Nothing is logged: what a process is called is its
 * program's business.
 */

#include "lib/process/crew.h"

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a process for slot, which knows of it or of the failure then. Returns its number, 0 in the
 * process itself, which gets SIGTERM when its parent ends, or -errno.
 */
pid_t child_fork(struct crew_slot *slot);
/* How a process has ended, out of waitpid(): "signal=9" or "status=70", into ret_text. */
#define CHILD_END_TEXT_SIZE 32
const char *child_format_end(int status, char *ret_text);
/* Did it make a system call that its filter (callfilter.h) kills for? */
bool child_has_broken_filter(int status);

/*
 * SIGTERM to all of a role, once; kill_ms is CREW_NEVER, or when those left are killed, which a later call can
 * only make earlier.
 */
void child_tell(struct crew *crew, unsigned role, uint64_t kill_ms);
/* Each once, and last_ms of the crew behind SIGUSR2. */
void child_kill_overdue(struct crew *crew, uint64_t now_ms);
/* Waits until it has ended, and kills it after patience_ms. Returns what waitpid() says of it. */
int child_wait(pid_t pid, unsigned patience_ms);

/* ---- signals ---- */

/*
 * Blocks what a parent waits for: SIGCHLD, SIGTERM, SIGINT, SIGHUP and SIGUSR1. ret_before is what
 * was blocked, for its children; it may be NULL.
 */
void child_block_signals(sigset_t *ret_waited, sigset_t *ret_before);
/* The next one of them, SIGHUP behind all others; or -1: until_ms of clock.h has come, which CREW_NEVER never does. */
int child_wait_signal(const sigset_t *waited, uint64_t until_ms);
/* For a child: what a terminal or a service manager sends to all but SIGTERM, and SIGPIPE. */
void child_ignore_signals(void);
/* Blocks none. */
void child_unblock_signals(void);

#ifdef __cplusplus
}
#endif
