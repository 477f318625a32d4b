/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * verify.h - a store read completely, in a process that may crash over it.
 *
 * Flow: watch.c starts one before a file is used for the first time, waits for
 *       verify_fd() to become readable in its event loop, and finishes it.
 *
 * LMDB trusts its pages: random bytes inside a file make it read where nothing
 * is. The child takes that blow; what it survives, a worker opens.
 *
 *     struct verify verify;
 *     int ret = verify_start(&verify, zone);
 *     // ... until verify.fd is readable ...
 *     ret = verify_finish(&verify, &apex);
 */

#include "server/zone.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct verify {
	pid_t pid;
	int fd; /* readable when the child is done, or dead */
};

/* Starts a child that opens the store of zone itself. 0 or -errno. */
int verify_start(struct verify *verify, const struct zone *zone);
/*
 * Waits for the child. Returns 0 when the store is whole and of this zone; what
 * zone_open() or reader_verify() said; STORE_ECORRUPT when the child died.
 * *ret_apex is the zone that the store says it is of, empty when it says none.
 */
int verify_finish(struct verify *verify, struct dnsblv6_labels *ret_apex);
/* Ends a child that nobody waits for any more. */
void verify_cancel(struct verify *verify);

#ifdef __cplusplus
}
#endif
