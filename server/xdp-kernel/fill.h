/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * fill.h - a version of a store becomes lines that the program in the network driver answers from.
 *
 * Flow: filler.c has begun a zone -> fill_begin(), fill_count() say how many lines it needs ->
 *       tables_reserve() finds a run of them -> fill_place(), fill_write() -> tables_switch().
 *
 *     struct fill fill;
 *     fill_begin(&fill, zone, has_neighbours);
 *     while (fill_count(&fill, 10000))
 *             continue; // or do something else, with the zone begun
 *     if (fill.reason == FILL_OK &&
 *         tables_reserve(tables, number, fill.line_count, &place) == 0) {
 *             fill_place(&fill, &place);
 *             while (fill_write(&fill, 10000))
 *                     continue;
 *             if (fill.reason == FILL_OK)
 *                     tables_switch(tables, number, zone->facts.expires_s, &now);
 *     }
 *
 * Two walks over the records in their order: one counts, one writes. A name takes less than a
 * microsecond in each. Between steps the zone may be ended and begun: if it then is of another
 * version, the reason is FILL_CHANGED, and one begins anew. Nothing of the store is borrowed
 * between steps. The zone needs no index: set is_read_once before it is opened.
 *
 * What is written are the answers of server/answer/quick.c in parts; a zone for which they would
 * not be the same stays with the sockets, and so does a name. No function here allocates, locks,
 * logs or waits.
 */

#include "server/xdp-kernel/layout.h"
#include "server/xdp-kernel/tables.h"
#include "server/zone/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a zone stays with the sockets. */
#define FILL_REASON_MAP(X)                                                                         \
	X(FILL_OK, "it does not")                                                                  \
	X(FILL_CHANGED, "it has changed while it was read")                                        \
	X(FILL_CLOSED, "there is no store to read")                                                \
	X(FILL_DAMAGED, "its store is damaged")                                                    \
	X(FILL_CLASSIC, "it has the names of addresses, no bitmaps")                               \
	X(FILL_CLIENTS, "its store has a list of clients")                                         \
	X(FILL_APEX, "its name is longer than 64 octets")                                          \
	X(FILL_CAPITALS, "its store has its name in capitals")                                     \
	X(FILL_SOA, "its SOA is too long")                                                         \
	X(FILL_UNSIGNED, "a name of it has no signatures")                                         \
	X(FILL_TWO_ALGORITHMS, "two algorithms sign it, while its keys change")                    \
	X(FILL_NAMES, "it has more names than can be numbered")                                    \
	X(FILL_CROWDED, "too many of its names have one hash")

enum fill_reason {
#define X(name, text) name,
	FILL_REASON_MAP(X)
#undef X
};

/* Never NULL. */
const char *fill_reason_text(enum fill_reason reason);

struct fill {
	enum fill_reason reason;
	uint32_t line_count; /* that the version needs; known when fill_count() is done */

	struct zone *zone; /* borrowed */
	uint64_t version;
	uint32_t flags;
	uint8_t wildcard_depths;
	struct dnsblv6_key done; /* the walk goes on behind it; size 0 at the start */
	uint64_t link_count;
	uint64_t empty_count;
	uint64_t slot_count; /* of names that can be asked for */
	uint64_t host_count; /* slots in lines of hosts */
	uint32_t bucket_count;
	uint32_t hosts_count;
	struct tables_place place;
	uint64_t links_done;
	uint64_t empties_done;
};

/*
 * zone is begun, or was. has_neighbours: negative answers of this zone may have more NSECs in them
 * (neighbours.h), as its settings say.
 */
void fill_begin(struct fill *fill, struct zone *zone, bool has_neighbours);
/* Looks at name_count names more. False: this walk is done, or reason says why it ended. */
bool fill_count(struct fill *fill, size_t name_count);

/* Of line_count lines; what is in them is written over. */
void fill_place(struct fill *fill, const struct tables_place *place);
/* Writes name_count names more. False as above; with FILL_OK place is ready. */
bool fill_write(struct fill *fill, size_t name_count);

#ifdef __cplusplus
}
#endif
