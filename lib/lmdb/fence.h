/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * fence.h - work on a store that may be damaged, where a crash is harmless and known for what it is.
 *
 * Flow: dnsblv6-zone, around all that it does with a store but for what verify.h has read before: update,
 *       dump and log would wait for that longer than for their work, or want what can still be read; and
 *       a writer goes by what readers do not look at.
 */

/*
 * Calls run() in a child process, which ends by exit(3) with what that returns, and with its
 * caller, and leaves no core file. STORE_OK with *ret_status as waitpid(2) has it; STORE_ECORRUPT
 * when the child crashed as LMDB does over damaged pages; or -errno. Streams with something in
 * their buffers are printed twice: flush them before. The caller must not have set SIGCHLD to be
 * ignored.
 */
int fence_run(int (*run)(void *context), void *context, int *ret_status);
