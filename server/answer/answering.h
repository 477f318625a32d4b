/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * answering.h - what is in hand while one query is answered, and the frame of
 *               every response: header, question, OPT.
 *
 * Flow: answer.c decides -> answering_begin() -> RRsets -> answering_end(); or
 *       answering_refuse(). For answer.c and transfer_answer.c alone.
 *
 * Functions that return a size return that of the response in the packet; 0
 * for silence, also when memory ran out.
 */

#include "server/answer/answer_query.h"
#include "server/answer/lookahead.h"
#include "server/counts/counters.h"
#include "server/message/options.h"
#include "server/askers/ratelimit.h"
#include "server/message/reply.h"
#include "server/transfer/transfer_request.h"
#include "server/askers/talkers.h"
#include "server/askers/tsig.h"

/* RFC 8914 */
enum {
	EDE_NOT_READY = 14,
	EDE_PROHIBITED = 18,
	EDE_NOT_AUTHORITATIVE = 20,
	EDE_NOT_SUPPORTED = 21,
	EDE_INVALID_DATA = 24,
};

/* What a response depends on besides the question itself. */
struct question {
	bool is_malformed;
	bool has_question;
	bool has_edns;
	bool has_do;
	uint8_t edns_version;
	uint16_t edns_payload;
	struct options options;
};

/* The working memory of one worker; answer.h has what it is for. */
struct answer {
	struct catalog *catalog;
	struct counters counters;
	uint16_t udp_max_payload;
	struct reply reply;
	const struct settings *settings; /* NULL: no keys, no secondaries */
	struct ratelimit *limit;	 /* NULL: none */
	struct frequent *frequent;	 /* NULL: none */
	bool is_judged;			 /* that of the query is the one below */
	enum ratelimit_verdict verdict;
	struct talkers talkers;	    /* none at first */
	struct tsig tsig;	    /* of a query that has a TSIG */
	struct lookahead lookahead; /* the queries of the batch in hand */
	bool has_transfer;	    /* the query is for the one below */
	struct transfer transfer;
	uint8_t query[ANSWER_QUERY_MAX]; /* libknot may write into what it parses */
};

void answering_count(struct answer *answer, enum counters_server item);

/* Header, question, and an OPT with an extended error: every refusal fits into that. */
size_t answering_least_size(const struct answer *answer, const struct question *question);
/* Header and question of the query, nothing else yet. False when memory ran out. */
bool answering_begin(struct answer *answer, const struct question *question);
/* The same in the place of what does not fit: with TC, and nothing else is put. */
bool answering_begin_truncated(struct answer *answer, const struct question *question);
/* What was put, with rcode and, for a query that has one, an OPT. */
size_t answering_end(struct answer *answer, const struct question *question, uint16_t rcode);
/*
 * The same with AA: it is from one of our zones. RFC 1035 section 6.2: not in class ANY, since
 * other servers may have data in other classes.
 */
size_t answering_end_authoritative(struct answer *answer, const struct question *question,
				   uint16_t rcode);
/* A response of the question alone. */
size_t answering_refuse(struct answer *answer, const struct question *question, uint16_t rcode);
/* The same with an extended error, RFC 8914. */
size_t answering_refuse_for(struct answer *answer, const struct question *question, uint16_t rcode,
			    uint16_t ede);

/* False, with an extended error in reply, when the zone has nothing to answer from. */
bool answering_begin_zone(struct reply *reply, uint64_t now_s);
/* What the configuration says of zone; answer has settings. Borrowed. */
const struct settings_zone *answering_settings(const struct answer *answer,
					       const struct zone *zone);
/* That of the query's TSIG, if it is good; or NULL. Borrowed. */
const struct tsig_key *answering_key(const struct answer *answer);
/* AXFR or IXFR? */
bool answering_is_transfer(uint16_t qtype);
