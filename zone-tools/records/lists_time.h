/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lists_time.h - when the lists of a store were written: the fact that tells how old they are.
 *
 * Flow: sources.c and changes.c find the time of the newest file -> builder.c, updater.c ->
 *       lists_time_put() -> the server, which tells it. What it means is FORMAT.md's (4.6).
 *
 * Times are Unix times; 0 stands for none. A transaction that signs leaves the fact alone.
 */

#include "lib/lmdb/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the transaction stands. STORE_ECORRUPT, or a status of lib/lmdb. */
int lists_time_get(struct writer *writer, uint64_t *ret_written_s);
int lists_time_put(struct writer *writer, uint64_t written_s);
/* What is added to lists makes them younger, and never older, unless they are of later than latest_s. */
int lists_time_raise(struct writer *writer, uint64_t written_s, uint64_t latest_s);

/*
 * For a version that is published already, in a transaction of its own: the lists have been
 * written again, and say the same. Nothing is written when the store has that time, or has another
 * serial meanwhile: then that version's time counts.
 */
int lists_time_renew(const char *path, uint32_t serial, uint64_t written_s);
/*
 * The same for what is listed already and was added again, beside any version, and not for less than a
 * minute: that may be many times a second, and servers index a zone at each commit.
 */
int lists_time_renew_younger(const char *path, uint64_t written_s, uint64_t latest_s);

#ifdef __cplusplus
}
#endif
