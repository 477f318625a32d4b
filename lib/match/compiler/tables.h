/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tables.h - the sections of a database, made of a list of signatures.
 *
 * Flow: compile_write(): struct siglist -> tables_make() -> sections of image.h, and expressions
 *       for Vectorscan, whose database is the last section.
 *
 * What several signatures have in common is there once: names, sub-signatures (contents) and
 * expressions (patterns). Signatures that may be decided before the end of an object come first.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/match/stream/image.h"
#include "lib/match/compiler/siglist.h"
#include "lib/match/logic/sigtext.h"

/* Where matches of an expression may end; 0 and UINT64_MAX: anywhere. */
struct tables_ends {
	uint64_t min;
	uint64_t max;
};

struct tables {
	uint32_t numbers[IMAGE_NUMBER_COUNT];
	struct sigtext sections[IMAGE_SECTION_COUNT];
	/* For Vectorscan; the texts are the list's. */
	const char **expressions;
	unsigned *flags;
	struct tables_ends *ends;
	uint8_t *groups; /* enum image_group */
	size_t expression_count;
};

/* With its triggers, is the logic one that siglogic_check() takes? */
bool tables_has_room(const struct siglist_signature *signature);

/* The list is to live as long. 0 or -errno; tables_free() in either case. */
int tables_make(const struct siglist *list, struct tables *ret_tables);
void tables_free(struct tables *tables);
