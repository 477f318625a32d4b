/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * branches.h - the pages above the leaves of a table, as LMDB writes them. Not for others.
 *
 * Flow: reader_verify() of reader.c, beside entries.h, which knows the leaves.
 *
 *     OFFSET  SIZE  OF A BRANCH
 *        0      8   its number, by which others lead to it
 *       10      2   flags: 0x01
 *       12      2   end of the places of its entries, 2 bytes each from 16 on
 *       14      2   begin of the entries; between both is room
 *
 * An entry is 6 bytes of the number of a page below, 2 of the size of a key, and the key.
 */

#include "lib/lmdb/store.h"

#include <lmdb.h>

/*
 * STORE_ECORRUPT when one of them is not as a writer needs it, which would write over its entries.
 * txn writes nothing; name is that of a table that there is.
 */
int branches_check(MDB_txn *txn, const char *name);
