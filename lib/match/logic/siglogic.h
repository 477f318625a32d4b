/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * siglogic.h - the logic of an ldb signature, "(0&1&(2|3)>5,2)", as a program of numbers.
 *
 * Flow: compile.c: siglogic_parse() over numbers of sub-signatures -> tables.c puts numbers of contents
 *       for them and writes it -> match_open() looks at it with siglogic_check() -> an object
 *       decides with siglogic_decide() over its counts.
 *
 *     why = siglogic_parse("(0&1)", 2, &program);          // COUNT 0, COUNT 1, AND
 *     siglogic_decide(words, word_count, count_of, object);
 *
 * It is read as ClamAV does: & and | have one rank, the first of them outside of parentheses
 * divides, so that "0&1|2" is "0&(1|2)"; but of a block, all of which stands in parentheses, the last
 * one: "(0|1&2)" is "((0|1)&2)". What stands behind a block, ">n", "=n" or "<n", is about
 * the sum of the counts in it, and ",m" about how many different ones there are.
 *
 * An instruction is one word, its code in the upper 8 bits and the sub-signature's number in the
 * lower ones; behind it stand its arguments. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/match/logic/sigtext.h"

#define SIGLOGIC_SUBS_MAX  64
#define SIGLOGIC_DEPTH_MAX 128	/* of the stack */
#define SIGLOGIC_WORDS_MAX 4096 /* of a program */

enum siglogic_code {
	SIGLOGIC_COUNT, /* of a sub-signature; argument: its content */
	SIGLOGIC_GATED, /* the same, but 0 when the value on the stack, which it takes, is false */
	SIGLOGIC_AND,
	SIGLOGIC_OR,
	SIGLOGIC_EQUAL, /* argument: a number; about one count */
	SIGLOGIC_LESS,
	SIGLOGIC_MORE,
	SIGLOGIC_BLOCK_EQUAL, /* arguments: a number, and how many different ones; about a block */
	SIGLOGIC_BLOCK_LESS,
	SIGLOGIC_BLOCK_MORE,
	SIGLOGIC_CODE_COUNT,
};

static inline uint32_t siglogic_word(enum siglogic_code code, uint32_t sub)
{
	return (uint32_t)code << 24 | sub;
}

static inline unsigned siglogic_code(uint32_t word)
{
	return word >> 24;
}

static inline uint32_t siglogic_sub(uint32_t word)
{
	return word & 0xffffff;
}

/* Words behind an instruction. */
size_t siglogic_arguments(unsigned code);

/*
 * The argument of each SIGLOGIC_COUNT is the number of the sub-signature, less than sub_count.
 * NULL, or why it is wrong; what was added to program stays.
 */
const char *siglogic_parse(const char *text, uint32_t sub_count, struct sigwords *program);

/* Is it a whole program that keeps to the stack, with contents less than content_count? */
bool siglogic_check(const uint32_t *words, size_t count, uint32_t content_count);
/* Does it stay true when it has been once, whatever is counted then? */
bool siglogic_is_monotone(const uint32_t *words, size_t count);
/* Counts behind which nothing changes any more, into ret_caps of SIGLOGIC_SUBS_MAX. */
void siglogic_caps(const uint32_t *words, size_t count, uint32_t *ret_caps);

typedef uint32_t siglogic_count_fn(const void *context, uint32_t content);
/* Of a program that siglogic_check() has seen. */
bool siglogic_decide(const uint32_t *words, size_t count, siglogic_count_fn *count_of,
		     const void *context);
