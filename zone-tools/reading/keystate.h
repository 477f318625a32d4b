/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keystate.h - what a store knows about the keys of its zone, before anything is changed.
 *
 * Flow: keydir.c reads it -> plans a step -> the transaction finds that it still is so (before.h).
 */

#include "zone-tools/keys/keyset.h"

struct keystate {
	bool is_there; /* the store; false: all else is zero */
	struct dnsblv6_facts facts;
	struct keyset published; /* as before_load() notes it; nothing was given */
	bool has_rollover;
	struct rollover rollover;
	char memo[ROLLOVER_TEXT_SIZE]; /* the same as text; empty without */
	const char *problem;	       /* why the text is refused; static text */
};

/*
 * Of the store at path; none is fine. A status of lib/store; STORE_ECORRUPT with *ret_state when
 * the text is refused. The caller has looked for damage, or is a child.
 */
int keystate_read(const char *path, uint64_t now_s, struct keystate *ret_state);
