/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * decode.h - dnsblv6-lookup --decode: the 128 bits of a block for a reader.
 *
 * Flow: BLOCK and AAAA of the command line -> decode_words(), without DNS
 *       addresses -> decode_run() -> all 128 units of each one's block are
 *       checked, which is one question to a bitmap zone -> print
 * What the bits mean is lib/format's.
 */

#include "client-lib/lookup/input.h"

/*
 * block: an address or a prefix in it; aaaa: the text of an AAAA record. The exit
 * status: 0 when a bit is set, 1 when none is.
 */
int decode_words(const struct lookup *lookup, const char *block, const char *aaaa);

/* The block of each address, as each zone lists it. The exit status, as of verdicts_run(). */
int decode_run(struct lookup *lookup, struct input *input);
