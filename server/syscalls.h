/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * syscalls.h - which system calls parent and workers may still make.
 *
 * Flow: confine.c, as the last step -> syscalls_restrict() -> libseccomp makes a
 *       filter of the lists in syscalls.c -> the kernel has it for good, in this
 *       process and in every child.
 *
 * A worker has a list of what it may do: what an unlisted call gets is ENOSYS,
 * as from a kernel that has never heard of it, so that a C library newer than
 * the list takes the way it has for old kernels. What no server does, running
 * programs, looking into other processes, mounting, ends the process with
 * SIGSYS, in the parent too: whoever tries that is not our code any more.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum syscalls_role { SYSCALLS_PARENT, SYSCALLS_WORKER };

/* Have this build and this kernel what it takes? */
bool syscalls_can_restrict(void);

/*
 * For good. A worker's list goes on top of the parent's, not the other way
 * round. has_xdp: workers load and change what an interface does with packets. 0 or -errno. Call it
 * with PR_SET_NO_NEW_PRIVS set.
 */
int syscalls_restrict(enum syscalls_role role, bool has_xdp);

#ifdef __cplusplus
}
#endif
