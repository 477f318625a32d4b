/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * systemd.h - what a service manager says to us, and we to it.
 *
 * Flow: main() of a daemon takes the sockets that were passed; the code that runs its
 *       loop says when it is ready, reloads and stops.
 *
 * Both protocols are a few lines of environment and one datagram, so no library
 * is linked for them: sd_listen_fds(3) and sd_notify(3) say what they are.
 * Without a service manager every function here does nothing.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYSTEMD_FIRST_FD    3
#define SYSTEMD_SOCKETS_MAX 1024

/*
 * How many sockets were passed to this very process: descriptors from
 * SYSTEMD_FIRST_FD on, close-on-exec from now on. They are the caller's. 0 when
 * there are none; -EINVAL when their number is not one, -E2BIG above
 * SYSTEMD_SOCKETS_MAX, -EBADF when they are not there. The environment is
 * cleared, so that the answer is given once.
 */
int systemd_take_sockets(void);

/*
 * Says state, lines such as "READY=1", to the service manager that asked for it. Never waits.
 * Returns 0, also when none did, or -errno.
 */
int systemd_notify(const char *state);

/* The same for the beginning of a reload, which has a time; READY=1 ends it. */
int systemd_notify_reloading(void);

#ifdef __cplusplus
}
#endif
