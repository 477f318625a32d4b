/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nanny.h - the process that stays root, and does nothing but look after the others.
 *
 * Flow: main() of a server of mail, with its table -> nanny_run(): reads, listeners.c binds; the
 *       workers' queue, the keyholder's sockets and shared memory are made; fork() -> roles.c:
 *       keyholder_run(), the table's run_edge(), run_worker(); then it waits for signals.
 *
 * It reads its configuration, and not a byte that a client has sent. What has to outlive a killed
 * process is the nanny's: the sockets that listen, with the clients that have not been accepted;
 * both ends of the queue, with sessions that no worker has yet; both ends of the keyholder's
 * sockets; the counters.
 *
 *     SIGHUP           reads the configuration; when it is good, a new generation of all processes
 *                      begins on the same sockets, and the old one ends its sessions; else the
 *                      old one stays
 *     SIGTERM, SIGINT  edges accept no client, then workers empty the queue and end; a process
 *                      that is still there "drain" later is killed
 *     SIGUSR1          logs the counters
 *     SIGCHLD          makes another process for one that has died, see crew.h
 */

#include "integration/mail/base/nanny/nanny_program.h"

/* What main() returns; what is wrong is logged. */
int nanny_run(const struct nanny_program *program, const struct daemon_command *command);
