/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/answering.h"

void answering_count(struct answer *answer, enum counters_server item)
{
	counters_count(&answer->counters.server[item]);
}

/* Bytes of the OPT. */
static uint16_t opt_size(const struct question *question, bool has_ede)
{
	size_t ede_size = has_ede ? KNOT_EDNS_EDE_MIN_LENGTH : 0;
	return (uint16_t)(KNOT_EDNS_MIN_SIZE + ede_size + options_size(&question->options));
}

size_t answering_least_size(const struct answer *answer, const struct question *question)
{
	size_t size = KNOT_WIRE_HEADER_SIZE;
	if (question->has_question)
		size += knot_pkt_question_size(answer->reply.query);
	return question->has_edns ? size + opt_size(question, true) : size;
}

/* The OPT with our payload; false when memory ran out. */
static bool make_opt(struct answer *answer, const struct question *question, uint16_t rcode,
		     knot_rrset_t *ret_opt)
{
	struct reply *reply = &answer->reply;
	if (knot_edns_init(ret_opt, answer->udp_max_payload, (uint8_t)KNOT_EDNS_RCODE_HI(rcode),
			   KNOT_EDNS_VERSION, &reply->mm) != KNOT_EOK)
		return false;
	if (question->has_do)
		knot_edns_set_do(ret_opt);
	uint8_t code[2] = { (uint8_t)(reply->ede >> 8), (uint8_t)reply->ede };
	if (!options_put(&question->options, ret_opt, &reply->mm))
		return false;
	return !reply->has_ede || knot_edns_add_option(ret_opt, KNOT_EDNS_OPTION_EDE, sizeof(code),
						       code, &reply->mm) == KNOT_EOK;
}

bool answering_begin(struct answer *answer, const struct question *question)
{
	struct reply *reply = &answer->reply;
	knot_pkt_clear(reply->response);
	if (knot_pkt_init_response(reply->response, reply->query) != KNOT_EOK)
		return false;
	knot_wire_clear_cd(reply->response->wire); /* RFC 4035 section 3.1.6 */
	if (!question->has_question)
		knot_wire_set_qdcount(reply->response->wire, 0);
	compress_begin(&reply->names);
	if (question->has_question)
		compress_add(&reply->names, reply->response->wire, KNOT_WIRE_HEADER_SIZE,
			     knot_pkt_qname(reply->query));
	if (question->has_edns)
		return knot_pkt_reserve(reply->response, opt_size(question, reply->has_ede)) ==
		       KNOT_EOK;
	return true;
}

bool answering_begin_truncated(struct answer *answer, const struct question *question)
{
	if (!answering_begin(answer, question))
		return false;
	knot_wire_set_tc(answer->reply.response->wire);
	return true;
}

/* RFC 8945 section 5.3: what is cut for the sake of a TSIG has no other RCODE. */
static bool is_cut_and_signed(const struct reply *reply)
{
	return reply->query->tsig_rr != NULL && knot_wire_get_tc(reply->response->wire);
}

size_t answering_end(struct answer *answer, const struct question *question, uint16_t rcode)
{
	struct reply *reply = &answer->reply;
	knot_pkt_t *response = reply->response;
	if (is_cut_and_signed(reply))
		rcode = KNOT_RCODE_NOERROR;
	knot_wire_set_rcode(response->wire, (uint8_t)KNOT_EDNS_RCODE_LO(rcode));
	if (!question->has_edns)
		return response->size;

	knot_rrset_t opt;
	knot_pkt_reclaim(response, response->reserved);
	if (!make_opt(answer, question, rcode, &opt))
		return 0;
	if (response->current != KNOT_ADDITIONAL)
		knot_pkt_begin(response, KNOT_ADDITIONAL);
	return knot_pkt_put(response, KNOT_COMPR_HINT_NOCOMP, &opt, KNOT_PF_NOTRUNC) == KNOT_EOK
		       ? response->size
		       : 0;
}

size_t answering_end_authoritative(struct answer *answer, const struct question *question,
				   uint16_t rcode)
{
	if (knot_pkt_qclass(answer->reply.query) != KNOT_CLASS_ANY)
		knot_wire_set_aa(answer->reply.response->wire);
	return answering_end(answer, question, rcode);
}

size_t answering_refuse(struct answer *answer, const struct question *question, uint16_t rcode)
{
	if (!answering_begin(answer, question))
		return 0;
	return answering_end(answer, question, rcode);
}

size_t answering_refuse_for(struct answer *answer, const struct question *question, uint16_t rcode,
			    uint16_t ede)
{
	answer->reply.has_ede = true;
	answer->reply.ede = ede;
	return answering_refuse(answer, question, rcode);
}

/* ---- the zone, and the client that asks it ---- */

bool answering_is_transfer(uint16_t qtype)
{
	return qtype == KNOT_RRTYPE_AXFR || qtype == KNOT_RRTYPE_IXFR;
}

bool answering_begin_zone(struct reply *reply, uint64_t now_s)
{
	reply->has_ede = true;
	reply->ede = EDE_NOT_READY;
	if (zone_begin(reply->zone) != 0)
		return false;
	reply->ede = EDE_INVALID_DATA;
	return reply->zone->facts.expires_s == 0 || now_s < reply->zone->facts.expires_s;
}

const struct settings_zone *answering_settings(const struct answer *answer, const struct zone *zone)
{
	return &answer->settings->zones[zone - answer->catalog->zones];
}

const struct tsig_key *answering_key(const struct answer *answer)
{
	bool is_good = answer->reply.query->tsig_rr != NULL && answer->tsig.error == TSIG_OK;
	return is_good ? answer->tsig.key : NULL;
}
