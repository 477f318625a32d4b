/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * proof.h - whether a zone that lists something still denies what it must.
 *
 * Flow: fetch.c has an answer with a listing -> proof_ask() -> stub.c -> health_looked() ->
 *       fetch.c takes the answer, or does without it.
 *
 * A zone may begin to answer everything at any time between two probes: it is closed, or a
 * resolver makes addresses of what does not exist. So its listings are held until a look has
 * ended: two questions at once that no cache has an answer to, for a name that cannot exist and for
 * an address of 127.128.0.0/9. Both must be denied. That costs a listing one round trip.
 *
 *     a look has ended since the question was sent   the listing counts
 *     one is under way                               it is waited for
 *     the zone has credit (health.h), or its         a look begins
 *     listings are odd
 *     neither                                        it counts if the last good look is not older
 *                                                    than HEALTH_LOOK_S
 *
 * Odd is a row of listings that is long for the share of answers that list something. In such a row
 * a bitmap or value that is the same as the one before counts twice, as does 127.0.0.1. Rows are
 * those of this process; credit is that of all processes that share the cache. A row without a
 * listing that is as odd, since the zone listed many before, has it probed: what it must list may
 * be denied.
 *
 * A probe of all points is a look too. What a look finds to be answered makes the zone
 * WILDCARDED, LISTS_WORLD or BLOCKED at once. What was not sent or not answered is asked again, a
 * few times, since packets are lost where many are held; if all of that was in vain, the zone's
 * state stays, and what was held fails. Then, or while the zone is out of reach, a fault that began
 * behind the last good look may end before the next one: that one makes void what was listed in
 * between, if something was without a look of its own. So may one that began while that look was under
 * way: what was asked for behind its beginning was without one, too.
 */

#include "client-lib/engine/zone.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PROOF_HURRY_MS 10000 /* between looks for what is odd, without credit */

enum proof_outcome {
	PROOF_GIVEN,   /* the listing counts */
	PROOF_AWAITED, /* waiter is woken with NULL; then proof_is_given() */
	PROOF_MISSING, /* it must not count */
};

/* What was asked at asked_ms has come with entry, which lists something. */
enum proof_outcome proof_ask(struct zone *zone, int64_t asked_ms, const struct cache_entry *entry,
			     struct waiter *waiter);
/* What the look found that has just ended. */
bool proof_is_given(const struct zone *zone);
/* An answer that lists nothing: it ends a row of listings. */
void proof_note_clear(struct zone *zone);

#ifdef __cplusplus
}
#endif
