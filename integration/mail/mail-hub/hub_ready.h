/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub_ready.h - where a program says to mail-hub that it is ready, or has not reloaded, as to systemd.
 *
 * Flow: hub.c: hub_ready_open() for each program -> its process has the path as NOTIFY_SOCKET
 *       (lib/process/systemd.h) -> poll() in hub.c -> hub_ready_take().
 *
 * Each program has a socket of its own, since it may be a process below it that speaks. The user of
 * the programs may write to it, and can say no more than these two.
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
struct hub_ready_words {
	bool is_ready;
	bool has_refused; /* to reload: it goes on as it was */
};

/* What it has said since. Never waits; of very many words some are for the next call. */
struct hub_ready_words hub_ready_take(int fd);

#ifdef __cplusplus
}
#endif
