/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proof.h - what lets a client check an answer: RRSIG and NSEC records.
 *
 * Flow: records.c and statics.c put an RRset -> proof_sign() its signatures;
 *       records.c -> proof_put() the NSECs that say no, proof_put_neighbours() those beside.
 *
 * RFC 4035 section 3.1.3:
 *
 *     no data of that type         the NSEC of the name
 *     an empty non-terminal        the NSEC that covers the name
 *     no such name                 those that cover the name and its wildcard
 *     an answer from a wildcard    the NSEC that covers the name
 *     a wildcard without the type  that one, and the NSEC of the wildcard
 *
 * All five are one rule: the NSEC that speaks of the name, unless the name
 * itself answers; and when neither it nor its wildcard does, the NSEC that
 * speaks of the wildcard. zone_find_link() finds the one as the other.
 *
 * NSECs are not stored. They follow from the chain of keys (zone.h) and from
 * the types at a name; lib/format/dnssec.h makes them as the signer did. What
 * lacks a signature that it should have is damage: the reply is broken.
 */

#include "server/message/reply.h"

/*
 * The signatures of the RRset just put, which has that type and is from entry.
 * Does nothing for a client that wants none.
 */
void proof_sign(struct reply *reply, const struct zone_entry *entry, uint16_t type);

/* The NSECs for what zone_find() made of key. is_answered: an RRset was put. */
void proof_put(struct reply *reply, const struct dnsblv6_key *key, const struct zone_match *match,
	       bool is_answered);

/*
 * Behind proof_put() for a name that is not there: as many of the names beside it as reply has
 * wanted and quick.c would find room for, whose names may be longer than ours.
 */
void proof_put_neighbours(struct reply *reply, const struct dnsblv6_key *key,
			  const struct zone_match *match);

/* As answers at the name of the question: the NSEC of entry; the signatures of one RRset. */
void proof_answer_nsec(struct reply *reply, const struct zone_entry *entry);
void proof_answer_rrsig(struct reply *reply, const struct zone_entry *entry, uint16_t type,
			uint32_t ttl);
