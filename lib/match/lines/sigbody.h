/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigbody.h - the bytes of a signature in ClamAV's hexadecimal, as expressions for Vectorscan.
 *
 * Flow: a field of an ndb or ldb line -> sigbody_parse() -> parts, each with expressions whose
 *       matches have a known length -> compile.c; the distances between parts are counted by
 *       match_object.c, as bounded repeats are what costs in Vectorscan's stream mode.
 *
 *     why = sigbody_parse("4d5a??(00|01)*5045", 0, false, &body, &reason);
 *     if (why == NULL && reason == COMPILE_STREAMS)
 *             ... body.parts[0].variants[0].expression, "MZ.[\x00\x01]" in other words
 *     sigbody_free(&body);
 *
 *     aa ?? a? ?a      a byte, any, with one half given
 *     *                any number of bytes
 *     {n} {n-m} {n-} {-m}     so many
 *     aa[n-m]REST, REST[n-m]aa      one byte so far before or behind; m is 32 at most
 *     (aa|bbcc|dd)     one of them; !(aabb|ccdd): so many that are none of them
 *     (B) (L) (W)      a word's, a line's end; not alphanumeric; with ! the opposite
 *
 * A part begins and ends with a * or a range. Its variants differ in length, so that each knows
 * where its match began. Where too many would be needed, and the beginning is not asked for, there
 * is one without a length. Pure, but for its memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/match/lines/reason.h"

#define SIGBODY_PARTS_MAX    64
#define SIGBODY_NO_LENGTH    UINT32_MAX
#define SIGBODY_FAR	     UINT32_MAX
#define SIGBODY_VARIANTS_MAX 32

/* The letters behind "::". */
enum sigbody_flag {
	SIGBODY_NOCASE = 1,
	SIGBODY_FULLWORD = 2,
	SIGBODY_WIDE = 4,  /* each byte has a zero behind it */
	SIGBODY_ASCII = 8, /* with the former: both */
};

struct sigbody_variant {
	char *expression; /* for DOTALL, and CASELESS with SIGBODY_NOCASE */
	uint32_t length;  /* of what it matches, without the tail */
	uint32_t tail;	  /* bytes that it looks at behind its end */
};

struct sigbody_part {
	uint32_t gap_min; /* behind the part before, bytes */
	uint32_t gap_max; /* SIGBODY_FAR: any number */
	struct sigbody_variant *variants;
	size_t variant_count;
};

struct sigbody {
	struct sigbody_part *parts;
	size_t part_count;
};

/*
 * wants_start: the signature is for one place, so that the first part has to know its beginning.
 * NULL, or why it is wrong. Without an error *ret_reason is COMPILE_STREAMS and the body is to be
 * freed, or it is why the body cannot be looked for in a stream.
 */
const char *sigbody_parse(const char *text, unsigned flags, bool wants_start,
			  struct sigbody *ret_body, enum compile_reason *ret_reason);
void sigbody_free(struct sigbody *body);
