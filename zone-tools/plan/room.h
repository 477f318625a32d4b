/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * room.h - will a zone have more records than it may, and which list makes most of them? Or more
 *          values for one address?
 *
 * Flow: build.c has a plan -> room_check(), before anything is written. check.c, which writes nothing and
 *       knows no limit of records -> room_check_values().
 *
 * A flat zone spells every /25 and /57 out, so one wide prefix may be billions of records.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/plan/plan.h"

/*
 * Adds a refusal when that is more than max_records. It names the list with most records, and of
 * a flat zone the widest prefix of it. Then as room_check_values().
 */
void room_check(const struct plan *plan, const struct listing *listing, const struct spec *spec,
		uint64_t max_records, struct findings *findings);
/* Adds a refusal for the address with the most values when these are more than the style permits. */
void room_check_values(const struct plan *plan, enum dnsblv6_style style,
		       struct findings *findings);
