/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * contents.h - what a store lists, read back: the reverse of plan and builder.
 *
 * Flow: lib/lmdb/reader.h -> contents_walk() -> dump.c prints it.
 *       lib/lmdb/writer.h -> contents_walk_prefix() or, of classic names,
 *       contents_walk_before() -> region.c changes it.
 *
 * Canaries are left out, and of whole lists the test points, so that a store
 * built from what is printed is the same store.
 */

#include "lib/lmdb/reader.h"
#include "lib/lmdb/writer.h"

#include "zone-tools/plan/tree.h"

#include "lib/format/record.h"
#include "lib/store/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

struct contents_origin {
	uint16_t number;
	struct dnsblv6_origin origin;
};

/* first to last (one family) is listed with the values of set. Non-zero stops the walk. */
typedef int (*contents_fn)(void *context, const struct contents_origin *origin,
			   struct dnsblv6_addr first, struct dnsblv6_addr last, uint32_t set);

/* Between reader_begin() and reader_end(). Statuses of lib/store and lib/format. */
int contents_read_facts(struct reader *reader, struct dnsblv6_facts *ret_facts);
/* When it is signed; zero in a store that is not. */
int contents_read_signing(struct reader *reader, struct dnsblv6_signing *ret_signing);
/* The origin with that number; DNSBLV6_ENOTFOUND behind the last. */
int contents_read_origin(struct reader *reader, uint16_t number,
			 struct contents_origin *ret_origin);

/*
 * A name below the origin, whose name has origin_size bytes, and its record, for tree_read(): a block, or
 * something else. Sub-zones lie below the apex too; their names are not names of its blocks.
 */
int contents_read_name(struct tree_reading *reading, size_t origin_size, struct store_bytes key,
		       struct store_bytes record);

/*
 * Calls fn for everything that origin lists, IPv4 first, ascending. Takes
 * memory for the ranges of one family at a time.
 */
int contents_walk(struct reader *reader, const struct dnsblv6_facts *facts,
		  const struct contents_origin *origin, contents_fn fn, void *context);

/* The same of the clients that an acl names: fn gets NULL for the origin. */
int contents_walk_clients(struct reader *reader, contents_fn fn, void *context);

/*
 * As contents_walk() inside prefix alone, which has a dnsblv6_key_of_prefix(), and of
 * the version before a transaction; records is a walk over STORE_RECORDS and
 * segments one over STORE_SEGMENTS. Whole blocks above the prefix are not seen;
 * test points inside it are, whose values may be the list's own.
 */
int contents_walk_prefix(struct writer_walk *records, struct writer_walk *segments,
			 const struct dnsblv6_facts *facts, const struct contents_origin *origin,
			 struct dnsblv6_prefix prefix, contents_fn fn, void *context);

/* All of one family, of the version before a transaction, of a zone of classic names. */
int contents_walk_before(struct writer_walk *segments, const struct dnsblv6_facts *facts,
			 const struct contents_origin *origin, bool is_ipv4, contents_fn fn,
			 void *context);

#ifdef __cplusplus
}
#endif
