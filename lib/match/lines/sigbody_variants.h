/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigbody_variants.h - a part of a body while it is read, and the expressions that it becomes.
 *
 * Flow: sigbody.c reads a part, piece by piece -> sigbody_variants_make() -> struct sigbody.
 */

#include "lib/match/lines/sigbody.h"
#include "lib/match/logic/sigtext.h"

#define SIGBODY_PIECES_MAX  48 /* in a part; what is fixed between two choices is one of them */
#define SIGBODY_LENGTHS_MAX 16 /* that these may have */
#define SIGBODY_TAILS_MAX   40

/* What one of several lengths looks like. */
struct choice {
	uint32_t length;
	struct sigtext text;
};

struct piece {
	struct choice choices[SIGBODY_LENGTHS_MAX];
	size_t count;
};

/* What may stand behind a part. */
struct tail {
	char text[80];
	uint32_t size;
};

struct part {
	struct piece pieces[SIGBODY_PIECES_MAX];
	size_t piece_count;
	struct sigtext before; /* looked at before its beginning */
	struct tail tails[SIGBODY_TAILS_MAX];
	size_t tail_count;
	bool has_no_length;
	bool is_open; /* nothing of it was read yet */
	unsigned run; /* of fixed bytes */
	unsigned longest_run;
};

struct parser {
	const char *at;
	unsigned flags;
	bool wants_start;
	struct part part;
	uint32_t gap_min;
	uint32_t gap_max;
	struct sigbody *body;
	enum compile_reason reason;
};

#define SIGBODY_NO_MEMORY "out of memory"

/*
 * Ends a part: each combination of its choices and tails becomes an expression of body. NULL, or what is wrong;
 * also NULL with a reason in parser for which the signature is left to clamd.
 */
const char *sigbody_variants_make(struct parser *parser);
