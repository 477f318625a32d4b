/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * names_entry.h - what lists say about names: shared by names.c, which decides
 *                 about it, and names_rrs.c, which makes RRs of it.
 */

#include "zone-tools/names/names.h"

#ifdef __cplusplus
extern "C" {
#endif

enum entry_kind {
	ENTRY_LISTED,  /* a name of a dnset */
	ENTRY_RECORD,  /* an RR */
	ENTRY_SUBZONE, /* the name of an origin: lists of those above end here */
	ENTRY_FOREIGN, /* exists for another reason */
};

struct names_entry {
	const uint8_t *key;
	uint32_t voice;
	uint32_t value; /* as in struct name_entry; an origin, of a sub-zone */
	uint16_t key_size;
	uint16_t origin;
	uint8_t reach;
	uint8_t kind;
};

/* Appends what a listed name or a record gives: at most 2 RRs, for which there is room. */
void names_add_rrs(const struct names_plan *names, const struct names_entry *entry,
		   struct names_rrs *rrs);
/* In order, each once, and the least TTL of a type for all of it. */
void names_settle(struct names_rrs *rrs);
/* Of settled ones. */
bool names_rrs_equal(const struct names_rrs *a, const struct names_rrs *b);

#ifdef __cplusplus
}
#endif
