/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * recorder.h - writes the journal: what this transaction does to the names.
 *
 * Flow: builder.c, resign.c or updater.c begins -> chain.c adds every name that
 *       it writes or deletes -> recorder_end() writes the header and forgets
 *       what is too old. lib/store/history.h reads it back.
 *
 * What undoes the change beside the names (undo.h) is kept while it fits as well.
 *
 * A change that needs more room than half of the zone is not worth sending in
 * pieces: its names are dropped, and so are those of all changes before it,
 * from which no client could come any more. Old changes lose their names when
 * all of them together need more than that, and are forgotten after a thousand.
 */

#include "zone-tools/records/before.h"

#include "lib/format/journal.h"
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RECORDER_SIZE_MIN    ((uint64_t)4 << 20) /* bytes of names kept in the smallest zone */
#define RECORDER_CHANGES_MAX 1000		 /* that are remembered at all */

struct recorder;

/*
 * In a transaction, when before is known. verb is an enum dnsblv6_change_verb.
 * Without keeps_names only the header will be written: both versions then have
 * no RRs in common. DNSBLV6_OK, -ENOMEM or a status of lib/store.
 */
int recorder_new(struct writer *writer, const struct before *before, uint8_t verb, bool keeps_names,
		 struct recorder **ret_recorder);
/* Takes NULL. */
void recorder_free(struct recorder *recorder);

int recorder_add(struct recorder *recorder, const struct dnsblv6_name_change *change);

/* Before an entry of another table is written or deleted; a build need not, nor for facts. */
int recorder_note(struct recorder *recorder, enum store_table table, const uint8_t *key,
		  size_t key_size);

/*
 * When everything else is written. facts are those of the new version; the counts of the names are the
 * caller's: change has made_s, added_count, changed_count and removed_count.
 */
int recorder_end(struct recorder *recorder, const struct dnsblv6_facts *facts,
		 const struct dnsblv6_change *change);

#ifdef __cplusplus
}
#endif
