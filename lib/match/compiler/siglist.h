/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * siglist.h - signatures that were read, until they are written into one database.
 *
 * Flow: compile.c reads lines -> struct siglist -> tables_make() of tables.h.
 *
 * The list owns all that it names; siglist_free() takes a zeroed one. For the tool that compiles.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/match/lines/reason.h"
#include "lib/match/lines/sigbody.h"
#include "lib/match/lines/sigline.h"
#include "lib/match/logic/sigtext.h"

/* One sub-signature; that of an ndb line is its only one. */
struct siglist_sub {
	struct sigplace place;
	unsigned flags;
	struct sigbody bodies[2]; /* the second: of "::wa", as it is */
	unsigned body_count;
	char *regex;	      /* or NULL */
	unsigned regex_flags; /* Vectorscan's */
	struct sigwords trigger;
};

struct siglist_signature {
	char *name;
	enum compile_format format;
	bool is_ignored;
	struct sigtarget target;
	struct sigwords logic;
	struct siglist_sub *subs;
	unsigned sub_count;
};

struct siglist_hash {
	char *name; /* NULL: of a harmless object */
	enum compile_format format;
	bool is_ignored;
	bool is_section;
	uint32_t size;
	unsigned digest_size;
	uint8_t digest[SIGLINE_DIGEST];
};

struct siglist {
	struct siglist_signature *signatures;
	size_t signature_count;
	size_t signature_room;
	struct siglist_hash *hashes;
	size_t hash_count;
	size_t hash_room;
};

/* A zeroed one at the end of the list, or NULL. */
struct siglist_signature *siglist_add(struct siglist *list);
struct siglist_hash *siglist_add_hash(struct siglist *list);
/* The one that was added last. */
void siglist_drop(struct siglist *list);
void siglist_free(struct siglist *list);
