/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * tables.h - what a zone has in its store.
 *
 * Flow: zone-tools/ writes through lib/lmdb/writer.h, server/ reads through lib/lmdb/reader.h;
 *       both say which kind of store it is by zone_store.
 * What the bytes mean is lib/format's business: record.h, journal.h.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

enum store_table {
	STORE_RECORDS,
	STORE_SEGMENTS,
	STORE_SETS,
	STORE_FACTS,
	STORE_JOURNAL,
	STORE_TABLE_COUNT
};

/* Of a whole one verify.h reports struct dnsblv6_facts. */
extern const struct store_kind zone_store;

#ifdef __cplusplus
}
#endif
