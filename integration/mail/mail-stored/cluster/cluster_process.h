/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cluster_process.h - the store process of a node of a cluster.
 *
 * Flow: stored.c forks -> cluster_process_run(): lister.h, confinement, the threads of cluster.h, then
 *       one loop: clients.h, whose requests run in threads, and signals.
 *
 * It is ready at once, but for users that are fetched and are not there yet: then when they are. As long
 * as the cluster cannot be reached clients are told -EAGAIN, which mail servers make a 451 of. Files are the
 * configuration of Ceph, the users' databases and that of the metrics; sockets are those that its clients have,
 * and librados' own.
 */

#include "integration/mail/mail-stored/store/store_process.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has this build a cluster? */
bool cluster_process_is_built(void);

/* An exit status. EX_CONFIG: another machine has this node's name, and a person has to look. */
int cluster_process_run(const struct store_process_start *start);

#ifdef __cplusplus
}
#endif
