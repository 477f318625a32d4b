/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/transfer_answer.h"

#include <netinet/in.h>
#include <string.h>

#include "server/message/access.h"

static enum transfer_verdict judge_transfer(struct answer *answer, const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	const struct settings_secondary *secondary = NULL;
	if (!reply->face->is_own)
		return TRANSFER_CLASSIC;
	if (answer->settings == NULL)
		return TRANSFER_ADDRESS;
	switch (access_decide(answer->settings, answering_settings(answer, reply->zone),
			      query->client, answering_key(answer), &secondary)) {
	case ACCESS_ADDRESS:
		return answering_key(answer) != NULL ? TRANSFER_PLACE : TRANSFER_ADDRESS;
	case ACCESS_KEY:
		return TRANSFER_KEY;
	case ACCESS_PERMITTED:
		break;
	}
	if (!answering_begin_zone(reply, query->now_s) || !reader_is_current(reply->zone->reader))
		return TRANSFER_STORE;
	return query->is_tcp && query->is_busy ? TRANSFER_BUSY : TRANSFER_GRANTED;
}

/* RFC 1995 section 3: the client's version is the SOA in the authority section. */
static bool find_serial(const struct reply *reply, uint32_t *ret_serial)
{
	const knot_pktsection_t *authority = knot_pkt_section(reply->query, KNOT_AUTHORITY);
	const knot_rrset_t *soa = authority->count == 1 ? knot_pkt_rr(authority, 0) : NULL;
	if (soa == NULL || soa->type != KNOT_RRTYPE_SOA || soa->rrs.count != 1)
		return false;
	*ret_serial = knot_soa_serial(soa->rrs.rdata);
	return true;
}

static void note_transfer(struct answer *answer, const struct question *question,
			  const struct answer_query *query, uint32_t serial)
{
	const struct reply *reply = &answer->reply;
	struct transfer *transfer = &answer->transfer;
	*transfer = (struct transfer){
		.name = reply->face->name,
		.path = reply->zone->path,
		.face = reply->face->index,
		.is_incremental = reply->qtype == KNOT_RRTYPE_IXFR,
		.serial = serial,
		.id = knot_wire_get_id(reply->query->wire),
		.has_recursion_desired = knot_wire_get_rd(reply->query->wire) != 0,
		.has_edns = question->has_edns,
		.has_do = question->has_do,
		.edns_payload = answer->udp_max_payload,
		.question_size = knot_pkt_question_size(reply->query),
	};
	if (reply->query->tsig_rr != NULL)
		transfer->tsig = answer->tsig;
	memcpy(transfer->question, reply->query->wire + KNOT_WIRE_HEADER_SIZE,
	       transfer->question_size);
	if (query->client != NULL)
		memcpy(&transfer->client, query->client,
		       query->client->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							   : sizeof(struct sockaddr_in6));
	answer->has_transfer = true;
}

static size_t refuse_transfer(struct answer *answer, const struct question *question,
			      enum transfer_verdict verdict)
{
	uint64_t *counters = counters_of_face(&answer->counters, answer->reply.face->index);
	switch (verdict) {
	case TRANSFER_BUSY:
		answer->reply.ede = EDE_NOT_READY;
		/* fall through */
	case TRANSFER_STORE:
		counters_count(&counters[COUNTERS_FACE_SERVFAIL]);
		return answering_refuse_for(answer, question, KNOT_RCODE_SERVFAIL,
					    answer->reply.ede);
	case TRANSFER_CLASSIC:
		counters_count(&counters[COUNTERS_FACE_REFUSED]);
		return answering_refuse_for(answer, question, KNOT_RCODE_REFUSED,
					    EDE_NOT_SUPPORTED);
	default:
		counters_count(&counters[COUNTERS_FACE_REFUSED]);
		return answering_refuse_for(answer, question, KNOT_RCODE_REFUSED, EDE_PROHIBITED);
	}
}

/* RFC 1995 section 2: over UDP the SOA alone, and the client comes back over TCP. */
static size_t answer_soa_alone(struct answer *answer, const struct question *question)
{
	struct reply *reply = &answer->reply;
	uint64_t *counters = counters_of_face(&answer->counters, reply->face->index);
	reply->has_ede = false;
	if (!answering_begin(answer, question))
		return 0;
	reply_put_soa(reply);
	if (reply->is_broken || (reply->is_full && !answering_begin_truncated(answer, question)))
		return answering_refuse(answer, question, KNOT_RCODE_SERVFAIL);
	counters_count(&counters[reply->is_full ? COUNTERS_FACE_TRUNCATED : COUNTERS_FACE_NOERROR]);
	return answering_end_authoritative(answer, question, KNOT_RCODE_NOERROR);
}

size_t transfer_answer(struct answer *answer, const struct question *question,
		       const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	uint32_t serial = 0;
	bool is_incremental = reply->qtype == KNOT_RRTYPE_IXFR;
	if (reply->labels_size != 0) {
		answering_count(answer, COUNTERS_SERVER_REFUSED);
		return answering_refuse(answer, question, KNOT_RCODE_NOTAUTH);
	}
	enum transfer_verdict verdict = judge_transfer(answer, query);
	if (verdict == TRANSFER_GRANTED && is_incremental && !find_serial(reply, &serial)) {
		answering_count(answer, COUNTERS_SERVER_FORMERR);
		reply->has_ede = false;
		return answering_refuse(answer, question, KNOT_RCODE_FORMERR);
	}
	if (query->is_tcp) {
		note_transfer(answer, question, query, serial);
		answer->transfer.verdict = verdict;
	}
	if (verdict != TRANSFER_GRANTED)
		return refuse_transfer(answer, question, verdict);
	if (query->is_tcp)
		return 0;
	/* RFC 5936 section 4.2: AXFR is for TCP. */
	return is_incremental ? answer_soa_alone(answer, question)
			      : refuse_transfer(answer, question, TRANSFER_CLASSIC);
}

/* So that the log can say it: a secondary that cannot transfer has an operator who looks there. */
void transfer_answer_bad_tsig(struct answer *answer, const struct question *question,
			      const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	reply->qtype = knot_pkt_qtype(reply->query);
	if (!query->is_tcp || !answering_is_transfer(reply->qtype))
		return;
	reply->face = catalog_find(answer->catalog, knot_pkt_qname(reply->query),
				   reply->query->qname_size, reply->qtype);
	if (reply->face == NULL)
		return;
	reply->zone = reply->face->zone;
	note_transfer(answer, question, query, 0);
	enum transfer_verdict verdict = judge_transfer(answer, query);
	answer->transfer.verdict =
		verdict == TRANSFER_GRANTED || verdict == TRANSFER_KEY ? TRANSFER_TSIG : verdict;
}
