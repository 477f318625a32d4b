/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * answer.h - one query in, one response out: the decision of this server.
 *
 * Flow: serving.c -> answer_make() -> catalog.c finds the zone ->
 *       records.c (with proof.c) or classic.c put RRsets -> answer.c ends the
 *       packet. The common question (question.h) about a bitmap zone is answered
 *       by quick.c instead, with the same content. Whether a transfer is granted
 *       is transfer_answer.c's; the frame of every response is answering.c's.
 *
 * No socket, no clock, no log: time and bytes come in as parameters, so that
 * tests and the fuzzer drive this function as the network does.
 *
 *     silence    a response (QR set), or fewer than 12 bytes; what a rule of the
 *                zone drops; too many from one network, over UDP (ratelimit.h). It is
 *                counted as dropped, whatever it was for
 *     FORMERR    cannot be parsed; not exactly one question; trailing bytes;
 *                a malformed option
 *     NOTIMP     an opcode other than QUERY; meta types that are no transfer
 *     BADVERS    EDNS version above 0
 *     BADCOOKIE  no question but a server cookie that is not good; too many from
 *                one network, in the place of a truncated answer to a client that
 *                has sent a cookie of its own
 *     REFUSED    class other than IN and ANY, but for our names in CH; no zone of ours;
 *                a client that may not ask the zone; a transfer by a client that is
 *                no secondary of the zone, or of a classic zone; a client that the
 *                store's own list (clients.h) refuses; one that it ignores gets silence
 *     SERVFAIL   a zone of ours that has no store to answer from, or an expired one
 *     NOTAUTH    a TSIG that is not good; AXFR and IXFR of a name inside a zone, or
 *                of no zone of ours
 *
 * A question with a good TSIG gets a response with one. A transfer that is
 * permitted is not answered here: answer_transfer() says so, and serving.c
 * has the connection handed over.
 */

#include "server/answer/answer_query.h"

#include "lib/dns/responder.h"
#include "server/zone/catalog.h"
#include "server/counts/counters.h"
#include "server/askers/talkers.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANSWER_RESPONSE_MAX RESPONDER_RESPONSE_MAX /* over TCP; over UDP it is udp_max_payload */

struct answer; /* the working memory of one worker */
struct frequent;
struct ratelimit;
struct transfer;

/* catalog and the counters are borrowed until answer_free(). 0 or -errno. */
int answer_new(struct catalog *catalog, const struct counters *counters, uint16_t udp_max_payload,
	       struct answer **ret_answer);
void answer_free(struct answer *answer);
/*
 * Keys, secondaries, rules, cookies and identity; without them no TSIG is good, no client
 * may transfer and every client may ask. Borrowed.
 */
void answer_set_settings(struct answer *answer, const struct settings *settings);
/* Without it no client is limited. Borrowed. */
void answer_set_limit(struct answer *answer, struct ratelimit *limit);
/* Without it no range is more frequent than others (neighbours.h). Borrowed. */
void answer_set_frequent(struct answer *answer, struct frequent *frequent);

/* Where queries are counted by networks, over UDP and TCP; copied. */
void answer_set_talkers(struct answer *answer, const struct talkers *talkers);

/*
 * Before the first of a batch is answered, so that memory is waited for once (lookahead.h).
 * Without this call the answers are the same. queries are then answered in this order; they and
 * their bytes are borrowed until answer_end().
 */
void answer_foresee(struct answer *answer, const struct responder_query *queries, size_t count);

/*
 * Returns the size of the response in ret_wire, which has wire_max bytes; 0 for
 * silence. Zones that were asked stay begun until answer_end().
 */
size_t answer_make(struct answer *answer, const struct answer_query *query, uint8_t *ret_wire,
		   size_t wire_max);
/* The same, of every question by libknot: what tests hold answer_make() against. */
size_t answer_make_long(struct answer *answer, const struct answer_query *query, uint8_t *ret_wire,
			size_t wire_max);
/* When a batch is done, before the event loop: ends the zones, and forgets the batch. */
void answer_end(struct answer *answer);

/*
 * What became of the query of the last answer_make(), if it was for a transfer
 * over TCP; NULL otherwise. When it is granted, answer_make() returned 0.
 * Borrowed until the next answer_make().
 */
const struct transfer *answer_transfer(const struct answer *answer);

#ifdef __cplusplus
}
#endif
