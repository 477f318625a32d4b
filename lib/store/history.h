/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * history.h - the journal of a store, read back: which changes led to this version.
 *
 * Flow: server/ answers IXFR from it, dnsblv6-zone log prints it; zone-tools/
 *       recorder.c writes it.
 *
 * Everything is called between reader_begin() and reader_end() and returns
 * DNSBLV6_OK, DNSBLV6_ENOTFOUND behind the last, or a failure; STORE_ECORRUPT
 * when a change lacks a part. No function allocates.
 *
 *     struct history_names names = { .reader = reader, .number = number };
 *     while ((ret = history_next_name(&names, &change)) == DNSBLV6_OK)
 *             ...
 *     // DNSBLV6_ENOTFOUND: that was all of them
 */

#include "lib/lmdb/reader.h"

#include "lib/format/journal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of the newest change. Changes are numbered without gaps. */
int history_newest(struct reader *reader, uint64_t *ret_number);
int history_get(struct reader *reader, uint64_t number, struct dnsblv6_change *ret_change);

/*
 * The change that begins at serial, if the names of it and of all changes up
 * to the newest are kept: what an IXFR from serial needs. DNSBLV6_ENOTFOUND
 * otherwise, also when serial is the newest version's own.
 */
int history_find(struct reader *reader, uint32_t serial, uint64_t *ret_number);

/* A walk over the names of one change, each once: the apex first, then in no promised order. */
struct history_names {
	struct reader *reader;
	uint64_t number;
	uint32_t part; /* 0 before the first call, as all below */
	uint32_t part_count;
	size_t offset;
	struct store_bytes data;
};
/* *ret_change is borrowed until reader_end(). */
int history_next_name(struct history_names *names, struct dnsblv6_name_change *ret_change);

/* The parts that undo a change, from 0 on (dnsblv6_undo_next()); DNSBLV6_ENOTFOUND behind the last. */
int history_undo_part(struct reader *reader, uint64_t number, uint32_t part,
		      struct store_bytes *ret_data);

#ifdef __cplusplus
}
#endif
