/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * guard.h - refuses what would list the world, or half of it by mistake.
 *
 * Flow: the parsers ask guard_entry() about each line; main.c asks
 *       guard_totals() about the result, before anything is written.
 */

#include "zone-tools/findings.h"

#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Why the listing (or exclusion) of first to last must not go unnoticed: static text, or NULL
 * when it is fine. Reserved space (RFC 6890: 0/8, 10/8, 127/8, ...) and
 * contradictions to the test points (RFC 5782) are reasons. The latter hold
 * even when allow_reserved is set.
 */
const char *guard_entry(struct dnsblv6_addr first, struct dnsblv6_addr last, bool is_exclusion,
			bool allow_reserved);

#ifdef __cplusplus
}
#endif
