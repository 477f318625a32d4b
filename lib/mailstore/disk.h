/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * disk.h - the seam below the mail store: objects that grow at their end.
 *
 * Flow: maillog.c calls it -> filedisk.c (a directory), or the simulated disk of the tests.
 *
 * An object has a number and bytes. Each operation touches one object, is guarded (create() wants
 * that it is not there, append() that it ends where the caller says) and may be repeated: what is
 * done twice is as if it was done once, so that a caller which does not know whether a call has
 * happened makes it again. What was appended is on disk when a sync() that began later has returned
 * 0, and may be there, whole or in pieces and in any order, before that. A sync() that fails says
 * nothing about what is on disk, and a later one that succeeds neither, also of another process: it
 * is not to be repeated. What is read again may be in memory alone, until renew() has written it.
 */

#include <stddef.h>
#include <stdint.h>

struct disk;
struct iovec;

/* Returns 0 to go on. */
typedef int (*disk_list_fn)(void *context, uint64_t object);

/* All return 0 or -errno. */
struct disk_ops {
	/* Calls fn for each object, in no order, and returns what fn returned last. */
	int (*list)(struct disk *disk, disk_list_fn fn, void *context);
	/* -EEXIST when it is there. It is durable with the next sync() of that object. */
	int (*create)(struct disk *disk, uint64_t object);
	/*
	 * Writes the parts, count of them, at the place at, which is the end of the object: -ESTALE
	 * when it ends elsewhere. When it fails (-ENOSPC, ...), a part of the bytes may be there:
	 * cut() takes it away.
	 */
	int (*append)(struct disk *disk, uint64_t object, uint64_t at, const struct iovec *parts,
		      int count);
	/* All size bytes, or -ENODATA when the object ends before; -ENOENT. */
	int (*read)(struct disk *disk, uint64_t object, uint64_t at, void *bytes, size_t size);
	int (*size)(struct disk *disk, uint64_t object, uint64_t *ret_size);
	int (*sync)(struct disk *disk, uint64_t object);
	/*
	 * Writes what is there from one place to another once more, so that the next sync() takes it to
	 * the disk. Nothing is done where the object cannot be written.
	 */
	int (*renew)(struct disk *disk, uint64_t object, uint64_t from, uint64_t to);
	/*
	 * A descriptor whose fdatasync() is what sync() does now, the caller's, to be closed; -EOPNOTSUPP
	 * where sync() does more, or something else.
	 */
	int (*open_sync)(struct disk *disk, uint64_t object, int *ret_fd);
	/* Shortens it to size bytes, durably. */
	int (*cut)(struct disk *disk, uint64_t object, uint64_t size);
	/* Removes it, durably. 0 also when it is not there. */
	int (*remove)(struct disk *disk, uint64_t object);
	/*
	 * A descriptor for reading, the caller's, to be closed; -EOPNOTSUPP where there is none.
	 * What it reads stays when the object is removed.
	 */
	int (*open)(struct disk *disk, uint64_t object, int *ret_fd);
	/*
	 * Bytes that are free for those that may write, and with what only root may have; UINT64_MAX where
	 * there is no limit.
	 */
	int (*room)(struct disk *disk, uint64_t *ret_size, uint64_t *ret_root_size);
	void (*close)(struct disk *disk);
};

/* The first member of what an implementation has. */
struct disk {
	const struct disk_ops *ops;
};
