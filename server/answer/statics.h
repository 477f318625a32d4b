/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * statics.h - names that are no bitmaps: the apex, name servers, metadata.
 *
 * Flow: records.c finds the entry of a name, classic.c that of the apex ->
 *       statics_put() -> reply.c; its signatures come from proof.c.
 *
 * An entry's record has RRSIGs among its RRs. They are never taken for data:
 * proof.h is about them.
 */

#include "server/message/reply.h"

/* Does the type only make sense where the zone is signed, under its own name? */
bool statics_is_of_signing(uint16_t type);

/*
 * Those of the RRs of entry that are of qtype (ANY: of the first type,
 * RFC 8482), with their signatures. True when there were any.
 */
bool statics_put(struct reply *reply, const struct zone_entry *entry);

/* The addresses of names that the NS of entry point to, in ADDITIONAL; none that do not fit. */
void statics_put_additional(struct reply *reply, const struct zone_entry *entry);

/* The first RR, RRSIG apart. False when there is none. */
bool statics_first(struct reply *reply, const struct zone_entry *entry, struct dnsblv6_rr *ret_rr);
