/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nameprint.h - the domain names of a store, and its clients, as lists again.
 *
 * Flow: lib/lmdb/reader.h -> dump.c -> nameprint_names(), nameprint_clients().
 *
 * What is printed is a combined list of rbldnsd, and an acl: the same store
 * comes of them again. The reverse of names.h: where a name below a wildcard
 * has nothing, there is an exclusion.
 */

#include "lib/lmdb/reader.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Between reader_begin() and reader_end(). -ENOMEM, or a status of lib/store or lib/format. */
int nameprint_names(struct reader *reader, FILE *stream);
int nameprint_clients(struct reader *reader, FILE *stream);

#ifdef __cplusplus
}
#endif
