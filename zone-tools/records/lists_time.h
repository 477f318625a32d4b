/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lists_time.h - when the lists of a store were written: the facts that tell how old they are.
 *
 * Flow: sources.c and changes.c find the time of the newest file, sources.c that of each -> builder.c, updater.c ->
 *       lists_time_put() -> the server, which tells them. What they mean is FORMAT.md's (4.6).
 *
 * Times are Unix times; 0 stands for none. A transaction that signs leaves the facts alone, and one that
 * updates those of files.
 */

#include "zone-tools/base/listages.h"

#include "lib/lmdb/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the transaction stands. STORE_ECORRUPT, or a status of lib/lmdb. */
int lists_time_put(struct writer *writer, uint64_t written_s, const struct listages *ages);
/* What is added to lists makes them younger, and never older, unless they are of later than latest_s. */
int lists_time_raise(struct writer *writer, uint64_t written_s, uint64_t latest_s);

/*
 * For a version that is published already, in a transaction of its own: the lists have been
 * written again, and say the same. Nothing is written when the store has these times, or has another
 * serial meanwhile: then that version's times count.
 */
int lists_time_renew(const char *path, uint32_t serial, uint64_t written_s,
		     const struct listages *ages);
/*
 * The same for what is listed already and was added again, beside any version, and not for less than a
 * minute: that may be many times a second, and servers index a zone at each commit.
 */
int lists_time_renew_younger(const char *path, uint64_t written_s, uint64_t latest_s);

#ifdef __cplusplus
}
#endif
