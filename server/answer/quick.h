/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * quick.h - the answers that a bitmap zone gives all day, written by ourselves.
 *
 * Flow: answer.c has a common question (question.h) and the zone begun ->
 *       quick_make(). What it declines goes the long way: reply.h, records.h.
 *
 * It answers for bitmaps (AAAA), for names that have no data of the type, and
 * for names that are not there, with signatures and proofs, and with those of
 * the names beside it. It declines the
 * other types of names that are no bitmaps, what asks for RRSIG, NSEC or ANY,
 * what does not fit and what is damaged. The long way would say the same, in no
 * more bytes, so that what is cut is cut on both; the tests and the fuzzer hold
 * one against the other. What a COOKIE is worth the caller knows; here it is a
 * part of the OPT.
 *
 * Names are compressed where they end in the apex, which the question has.
 * No memory but the caller's; nothing is counted here.
 */

#include "lib/dns/question.h"
#include "server/message/reply.h"
#include "server/zone/neighbours.h"

struct quick_query {
	const struct question_common *question;
	const uint8_t *wire;	       /* that the question is from */
	struct zone *zone;	       /* begun */
	size_t labels_size;	       /* of the question, relative to the apex */
	const struct dnsblv6_key *key; /* of those labels */
	uint16_t payload;	       /* ours, for the OPT */
	const uint8_t *cookie;	       /* COOKIE_SIZE bytes for it; NULL: none */
	/* What the client may have when there is no such name (neighbours.h). */
	struct neighbours_grant grant;
};

/* What the response says. */
struct quick_said {
	enum reply_result result;
	struct neighbours_given given;
};

/*
 * Returns the size of the response in ret_wire, at most wire_max bytes; 0 when
 * this is not for here.
 */
size_t quick_make(const struct quick_query *query, uint8_t *ret_wire, size_t wire_max,
		  struct quick_said *ret_said);
