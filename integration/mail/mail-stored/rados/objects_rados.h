/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * objects_rados.h - objects.h on a pool of Ceph RADOS.
 *
 * Flow: the process of mail-stored that has the store -> objects_rados_open() -> mailcluster.h ->
 *       objects.h -> here -> librados, which has connections and threads of its own.
 *
 * An object is one of RADOS in a replicated pool, its rows are its omap. A write is one operation:
 * guards, rows and bytes happen together, in the order of the object's placement group. Its status is
 * 0 when all of the group's OSDs have it on their disks, which are pool's min_size at least.
 *
 * What is refused when the cluster is full (-ENOSPC) is what would make it fuller: removals and rows
 * go on. Nothing waits for room. What gets no answer within the time of an operation is -ETIMEDOUT;
 * librados repeats it until then, and the cluster knows a repetition by its number. -ESHUTDOWN: the
 * address of this handle's connections is on Ceph's blocklist, from which a handle does not recover.
 *
 * An object has at most OBJECTS_RADOS_BYTES_MAX bytes (-EFBIG), a row's value at least one (-EINVAL).
 * A page of rows has at most 1,024. The bytes of a write are copied once while it is under way.
 *
 * To be opened after the last fork(): threads of librados are not in the child. Any thread may use it.
 * Nothing here logs; librados does not either.
 */

#include "lib/mailcluster/objects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of Ceph's osd_max_write_size (90 MiB), with room for what is written beside it. */
#define OBJECTS_RADOS_BYTES_MAX (88ULL << 20)

struct objects_rados_setup {
	const char *conf_path; /* where ceph.conf is: monitors, and the user's keyring */
	const char *user;      /* "mail" is Ceph's client.mail */
	const char *pool;
	unsigned
		timeout_s; /* of one operation, and of connecting; not 0. Ceph knows whole seconds */
};

/*
 * Connects, and finds the pool. 0 or -errno: -ENOENT when the file, the keyring or the pool is not
 * there, -EACCES when the key is refused, -ETIMEDOUT when no monitor answers.
 */
int objects_rados_open(const struct objects_rados_setup *setup, struct objects **ret_objects);

#ifdef __cplusplus
}
#endif
