/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub_ready.h - where a program says to mail-hub that it is ready, as to systemd.
 *
 * Flow: hub.c: hub_ready_open() for each program -> its process has the path as NOTIFY_SOCKET
 *       (lib/process/systemd.h) -> poll() in hub.c -> hub_ready_take().
 *
 * Each program has a socket of its own, since it may be a process below it that speaks. The user of
 * the programs may write to it, and can say no more than that a program is ready.
 */

#include "integration/mail/mail-hub/hub_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A socket at path, in place of what is there. The caller's, which removes the path. 0 or -errno;
 * *ret_fd is -1 then.
 */
int hub_ready_open(const char *path, const struct owner *owner, int *ret_fd);
/* Whether what it has said since has READY=1 in it. Never waits; of very many words some are for the next call. */
bool hub_ready_take(int fd);

#ifdef __cplusplus
}
#endif
