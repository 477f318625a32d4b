/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * require.h - the end of a target that has found something, which a fuzzer and a replay see.
 *
 * Flow: LLVMFuzzerTestOneInput() of a target -> here -> abort().
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* what is a sentence about what should be. */
static inline void require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static inline void expect(bool is_so)
{
	if (!is_so)
		abort();
}
