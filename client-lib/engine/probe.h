/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * probe.h - asks a zone for its metadata, test points and canaries, and for what it must deny.
 *
 * Flow: engine.c -> probe_start() -> stub.c -> health_probed() -> the zone's word;
 *       all waiters are woken and look again.
 *
 * First the metadata (not of a zone that is set to classic), which say how the zone
 * is asked; then everything else at once:
 *
 *     bitmap   the blocks of the test points, five canaries, a name that cannot exist,
 *              and the test points of the classic zone beside it
 *     brief    of a zone that is well, a day long: 127.0.0.2 and 127.0.0.1 alone, and of a
 *              bitmap zone, which has both in one block, the name that cannot exist
 *     classic  127.0.0.2, 127.0.0.1, a name that cannot exist; for IPv6 only the
 *              address that must not be listed, once there was a question about IPv6
 *     names    of a zone that is not about addresses: its test point, "invalid" (not of hashes),
 *              and a name that cannot exist
 */

#include "client-lib/engine/zone.h"

#define PROBE_LIFE_MS 5000 /* for one question; there are two rounds */

/*
 * waiter may be NULL; it is woken with NULL at the end. Joins the probe that runs.
 * A probe that cannot even be started has failed: then waiter does not wait, and -errno is
 * returned.
 */
int probe_start(struct zone *zone, bool wants_ipv6, struct waiter *waiter);
/*
 * A whole probe of a bitmap zone in that mode, whatever its metadata say, which a resolver may
 * have from before. Takes a zone that none runs of. When it cannot be started the zone is as it was.
 */
void probe_turn(struct zone *zone, enum health_mode mode);
/*
 * Begins a look at what the zone must deny (proof.h), if anything can be asked: a name that cannot
 * exist, and an address of 127.128.0.0/9. zone->look is there until it ends.
 */
#define PROBE_LOOK_BASE 0x7f800000u
#define PROBE_LOOK_MASK 0x007fffffu
void probe_look(struct zone *zone);
/* Waits for the look that is under way; it is woken with NULL. False: none is. */
bool probe_join_look(struct zone *zone, struct waiter *waiter);
/* Forgets probe and look without waking; their questions are the stub's to forget. */
void probe_drop(struct zone *zone);
/* How many questions the probe that runs, or ended last, has sent. */
uint32_t probe_question_count(const struct zone *zone);
