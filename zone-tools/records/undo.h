/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * undo.h - the part of a journal that brings tables other than the records back.
 *
 * Flow: recorder.c has one for each change -> undo_note() before an entry is written, or
 *       undo_compare() when a whole table has been -> lib/lmdb/writer.h. versions.h reads it.
 *
 * What the records were is in the names of the change already (journal.h). An undo owns its
 * memory; the writer is borrowed.
 */

#include "lib/lmdb/writer.h"

#include "lib/store/tables.h"

struct undo;

/* Of the change with that number; what takes more than size_max bytes is not kept. */
int undo_new(struct writer *writer, uint64_t number, uint64_t size_max, struct undo **ret_undo);
/* Takes NULL. */
void undo_free(struct undo *undo);

/* What the version before has at a key of STORE_SEGMENTS, STORE_SETS or STORE_FACTS. */
int undo_note(struct undo *undo, enum store_table table, const uint8_t *key, size_t key_size);
/* All that differs between the version before and the transaction as it stands. */
int undo_compare(struct undo *undo, enum store_table table);

/* Writes the last part. *ret_size is that of all; *ret_is_kept is false when they were too large. */
int undo_end(struct undo *undo, uint64_t *ret_size, bool *ret_is_kept);
/* Takes the parts of a change out of the journal. */
int undo_delete(struct writer *writer, uint64_t number);
