/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clock.h - may the machine's clock be believed, before a zone is signed by it?
 *
 * Flow: builder.c, updater.c and resign.c know when the store was changed last ->
 *       clock_check() -> a finding when the clock cannot be right, or may not.
 *
 * Signatures that a wrong clock has made are valid years ago, or years from now: then
 * every name of the zone is bogus to validators.
 */

#include "zone-tools/records/before.h"
#include "zone-tools/base/findings.h"

/* Machines that write one store in turn may differ by so much. */
#define CLOCK_BACK_S 600

/*
 * Adds a refusal when now_s is before the last change, and a warning when a signed store has not
 * been changed for so long that all its signatures have ended: a clock that is far ahead looks
 * the same. lifetime_s is that of signatures. False after a refusal.
 */
bool clock_check(const char *store, const struct before *before, uint64_t now_s,
		 uint32_t lifetime_s, struct findings *findings);
