/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * style.h - notices that the names of a zone have another style: flat ones for dotted ones.
 *
 * Flow: fetch.c has "no such name" -> style_note_denial() -> stub.c -> probe_turn() or
 *       probe_start() -> health_probed().
 *
 * A block that is asked for by a name of the wrong style is denied, listed or not, and such a
 * denial cannot be told from a good one. But a zone does not change without its serial, and a
 * denial has the SOA with it. So the first denial with a serial that this process has not seen has
 * the zone looked at, once in STYLE_PAUSE_S at most: 127.0.0.2 is asked for by its name in either
 * style, two questions that a resolver has in its cache when the zone changes often. Where dotted
 * names were believed the IPv6 test point is asked for by its flat name, too: a zone may have
 * flat names of IPv4 alone.
 *
 *     the other style's is listed   the zone is probed in that style. Behind a resolver both may
 *                                   be there: then the one with more of its TTL left is newer
 *     neither is                    the metadata are read again, with a whole probe
 *     it is denied, by that serial  all is as it was
 *     anything else                 the next denial has it looked at again
 *
 * What the cache holds as denied in the old style is void when the style has changed
 * (zone_note_probe()). Denials are believed until then: a change is noticed with the first
 * denial behind it, and two rounds of questions later no verdict rests on the old style; or
 * STYLE_PAUSE_S later, when the zone had been looked at just before. A resolver that has cached
 * that the other style's name is not there, because of an earlier look, can keep it for the
 * zone's negative TTL.
 *
 * A zone that has both keeps them as long as the test point is listed by both. When it loses one of
 * them that is noticed when the resolver's copy of its test point has ended.
 *
 * A process takes the serial of its first whole probe for seen. When it begins behind a resolver
 * that still has the metadata and test points from before a change, it notices with the next
 * serial, or with the next probe behind their TTL.
 */

#include "client-lib/engine/zone.h"

#define STYLE_PAUSE_S 60

/* "No such name" to a question for a block, in the style that the zone's word has. */
void style_note_denial(struct zone *zone, const struct message_reply *reply);
/* Forgets a look; its questions are the stub's to forget. */
void style_drop(struct zone *zone);
