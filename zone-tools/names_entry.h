/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * names_entry.h - what lists say about names: shared by names.c, which decides
 *                 about it, and names_rrs.c, which makes RRs of it.
 */

#include "zone-tools/names.h"

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

#ifdef __cplusplus
}
#endif
