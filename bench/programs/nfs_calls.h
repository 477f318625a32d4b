/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nfs_calls.h - requests of FUSE as calls to an NFSv3 server, and its answers as replies.
 *
 * Flow: nfs_mount.c has the loop and the connection -> nfs_operations begin calls -> libnfs -> their ends
 *       reply to FUSE.
 *
 * nfs_mount.c says what is kept and cached. One thread; nothing here waits. What a maildir does not
 * need is not done: ENOSYS.
 */

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <stddef.h>

/* libnfs' headers have what they need in this order. */
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

/* The connection; set before the first request. */
extern struct rpc_context *nfs_server;
/* Names that end in it are new, see nfs_mount.c; NULL: none. */
extern const char *nfs_own_suffix;
extern const struct fuse_lowlevel_ops nfs_operations;

/* The handle of the directory that is mounted; it is copied. 0 or -EOVERFLOW. */
int nfs_set_root(const char *bytes, size_t size);
/* "getattr=1 lookup=2 ..." on standard output: how many calls there were. */
void nfs_print_counts(void);
