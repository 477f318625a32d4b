/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rbldnsd_reader.h - the state of a reader: for rbldnsd.c and rbldnsd_special.c alone.
 *
 * A reader has at most one dataset open. A combined list opens one at each
 * $DATASET; every other list has one from its first line to its last.
 */

#include "zone-tools/rbldnsd.h"
#include "zone-tools/rbldnsd_value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The prefixes of a trie, to know the ones that come twice. */
struct prefix_table {
	uint32_t *slots; /* entry numbers + 1 */
	size_t slot_count;
	size_t count;
};

struct rbldnsd_set {
	enum rbldnsd_type type;
	size_t dataset; /* index in the listing */
	struct rbldnsd_scope scope;
	/*
	 * Values as they stand in the file, without TTL. The entries hold their
	 * numbers until the end, because variables and TTL count for entries
	 * before them as well.
	 */
	struct value_pool raw;
	uint32_t default_number; /* in raw */
	bool has_default_line;	 /* for tsets, where only the first counts */
	struct prefix_table prefixes;
};

struct rbldnsd {
	struct reading *reading;
	enum rbldnsd_type type;
	struct rbldnsd_scope scope; /* of a combined list, copied to each dataset */
	struct rbldnsd_set set;
	bool has_set;
	bool is_lost;	    /* entries belong to no dataset, which has been said */
	bool is_detached;   /* combined: a new file, and no line with a dollar sign yet */
	uint32_t range_max; /* $MAXRANGE4; 0: none */
};

/* Opens a dataset; the one before is ended. It has no origin yet. */
int rbldnsd_set_begin(struct rbldnsd *reader, enum rbldnsd_type type);
/* Gives the entries their final values. */
int rbldnsd_set_end(struct rbldnsd *reader);

void rbldnsd_scope_deinit(struct rbldnsd_scope *scope);

/* line is what stands behind the dollar sign; marked: "#$", ";$" or ":$". */
int rbldnsd_special_read(struct rbldnsd *reader, const char *line, bool is_marked);

#ifdef __cplusplus
}
#endif
