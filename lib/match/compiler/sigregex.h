/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigregex.h - expressions of ldb signatures, as far as Vectorscan has a stream mode for them.
 *
 * Flow: compile.c: the expression and the letters behind it -> sigregex_prepare() -> Vectorscan's
 *       expression and flags, or COMPILE_PCRE: it is for clamd.
 *
 *     reason = sigregex_prepare(&tried, "foo.*bar", "is", &text, &flags);
 *
 * References back, looking ahead or behind and the like have no automaton. What has one may have a
 * state of any size; one above SIGREGEX_STATE_MAX is left out, as each object of each mail has it. So
 * is one that repeats something more than SIGREGEX_REPEAT_MAX times, which may take Vectorscan a minute
 * to compile, or that needs a database of more than SIGREGEX_DATABASE_MAX by itself. Each is tried once,
 * however many signatures have it. For the tool that compiles.
 */

#include "lib/match/lines/reason.h"

#define SIGREGEX_STATE_MAX    256 /* bytes of a stream */
#define SIGREGEX_DATABASE_MAX (16 * 1024)
#define SIGREGEX_REPEAT_MAX   1000

/*
 * tried: those that were, a tree of sigtext.h. *ret_text is to be freed with COMPILE_STREAMS. No memory is
 * COMPILE_PCRE, too.
 */
enum compile_reason sigregex_prepare(void **tried, const char *expression, const char *letters,
				     char **ret_text, unsigned *ret_flags);
