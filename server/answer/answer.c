/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/dns/peer.h"
#include "server/message/access.h"
#include "server/answer/answering.h"
#include "server/answer/classic.h"
#include "server/message/identity.h"
#include "server/message/options.h"
#include "server/answer/quick.h"
#include "server/askers/ratelimit.h"
#include "server/answer/records.h"
#include "server/message/reply.h"
#include "server/zone/neighbours.h"
#include "server/answer/transfer_answer.h"
#include "server/askers/tsig.h"

int answer_new(struct catalog *catalog, const struct counters *counters, uint16_t udp_max_payload,
	       struct answer **ret_answer)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	if (answer == NULL)
		return -ENOMEM;
	answer->catalog = catalog;
	answer->counters = *counters;
	answer->udp_max_payload = udp_max_payload;
	int ret = reply_init(&answer->reply);
	if (ret != 0) {
		answer_free(answer);
		return ret;
	}
	*ret_answer = answer;
	return 0;
}

void answer_free(struct answer *answer)
{
	if (answer == NULL)
		return;
	reply_deinit(&answer->reply);
	free(answer);
}

void answer_set_settings(struct answer *answer, const struct settings *settings)
{
	answer->settings = settings;
}

void answer_set_limit(struct answer *answer, struct ratelimit *limit)
{
	answer->limit = limit;
}

void answer_set_frequent(struct answer *answer, struct frequent *frequent)
{
	answer->frequent = frequent;
}

const struct transfer *answer_transfer(const struct answer *answer)
{
	return answer->has_transfer ? &answer->transfer : NULL;
}

/* ---- the query ---- */

/* Of an OPT that libknot refuses, what can be read all the same. */
static void read_bad_opt(const knot_pkt_t *query, struct question *question)
{
	struct options_envelope envelope;
	if (!options_find_envelope(query->wire, query->size, &envelope))
		return;
	question->has_edns = true;
	question->has_do = envelope.has_do;
	question->edns_version = envelope.version;
	question->edns_payload = envelope.payload;
	/* What is in one of another version, we cannot know to be malformed. */
	question->is_malformed = envelope.version == KNOT_EDNS_VERSION;
}

static struct question parse(struct reply *reply)
{
	knot_pkt_t *query = reply->query;
	struct question question = { 0 };
	int ret = knot_pkt_parse(query, KNOT_PF_NOCANON);
	question.is_malformed = ret != KNOT_EOK || query->qname_size == 0;
	question.has_question = query->qname_size != 0;
	/* RFC 6891 section 6.1.2: the owner of an OPT is the root. libknot takes any. */
	if (query->opt_rr != NULL && query->opt_rr->owner[0] != 0)
		question.is_malformed = true;
	else if (ret == KNOT_EOK && query->opt_rr != NULL) {
		question.has_edns = true;
		question.has_do = knot_edns_do(query->opt_rr);
		question.edns_version = knot_edns_get_version(query->opt_rr);
		question.edns_payload = knot_edns_get_payload(query->opt_rr);
	} else if (ret != KNOT_EOK && question.has_question)
		read_bad_opt(query, &question);
	return question;
}

static void count_cookie(struct answer *answer, enum cookie_verdict verdict)
{
	if (verdict == COOKIE_GOOD)
		answering_count(answer, COUNTERS_SERVER_COOKIES);
	else if (verdict == COOKIE_BAD)
		answering_count(answer, COUNTERS_SERVER_COOKIES_BAD);
}

/* What options mean in another version of EDNS, that version says. */
static void read_options(struct answer *answer, struct question *question,
			 const struct answer_query *query)
{
	const struct options_context context = {
		.settings = answer->settings,
		.client = query->client,
		.now_s = query->now_s,
		.is_tcp = query->is_tcp,
		.keepalive = query->keepalive,
	};
	bool is_bad_opt = question->is_malformed && question->has_question;
	if (!question->has_edns || is_bad_opt || question->edns_version > KNOT_EDNS_VERSION)
		return;
	question->options = options_read(answer->reply.query->opt_rr, &context);
	question->is_malformed |= question->options.is_malformed;
	count_cookie(answer, question->options.cookie);
}

/* RFC 7873 section 5.4: a query for a server cookie and nothing else. */
static bool is_for_cookie(const struct answer *answer, const struct question *question)
{
	const uint8_t *wire = answer->reply.query->wire;
	return !question->has_question && question->options.has_cookie &&
	       knot_wire_get_qdcount(wire) == 0 && knot_wire_get_ancount(wire) == 0 &&
	       knot_wire_get_nscount(wire) == 0;
}

/* RFC 6891 section 6.2.3: less than 512 means 512. */
static size_t response_max(const struct answer *answer, const struct question *question,
			   bool is_tcp)
{
	if (is_tcp)
		return ANSWER_RESPONSE_MAX;
	if (!question->has_edns || question->edns_payload < KNOT_WIRE_MIN_PKTSIZE)
		return KNOT_WIRE_MIN_PKTSIZE;
	return question->edns_payload < answer->udp_max_payload ? question->edns_payload
								: answer->udp_max_payload;
}

/* ---- the zone ---- */

/* RFC 6895 section 3.1: OPT and 128 to 255 are no data, ANY aside. */
static bool is_meta(uint16_t qtype)
{
	return qtype == KNOT_RRTYPE_OPT || (qtype >= 128 && qtype < KNOT_RRTYPE_ANY);
}

static enum reply_result ask_open_zone(struct reply *reply, bool has_do)
{
	if (reply->client.verdict == CLIENTS_BROKEN)
		return REPLY_SERVFAIL;
	reply->has_dnssec = has_do && reply->zone->is_signed && reply->face->is_own;
	enum reply_result result =
		reply->face->is_classic ? classic_answer(reply) : records_answer(reply);
	if (reply->is_broken)
		return REPLY_SERVFAIL;
	reply->has_ede = result == REPLY_SERVFAIL;
	return result;
}

static const struct {
	uint16_t rcode;
	enum counters_face counter;
} results[] = {
	[REPLY_NOERROR] = { KNOT_RCODE_NOERROR, COUNTERS_FACE_NOERROR },
	[REPLY_NODATA] = { KNOT_RCODE_NOERROR, COUNTERS_FACE_NODATA },
	[REPLY_NXDOMAIN] = { KNOT_RCODE_NXDOMAIN, COUNTERS_FACE_NXDOMAIN },
	[REPLY_SERVFAIL] = { KNOT_RCODE_SERVFAIL, COUNTERS_FACE_SERVFAIL },
	[REPLY_REFUSED] = { KNOT_RCODE_REFUSED, COUNTERS_FACE_REFUSED },
};

/* ---- the client that asks ---- */

static enum settings_action judge_access(const struct answer *answer,
					 const struct answer_query *query, const struct zone *zone,
					 const struct tsig_key *key)
{
	if (answer->settings == NULL)
		return SETTINGS_ALLOW;
	return access_judge(answer->settings, answering_settings(answer, zone), query->client, key);
}

static bool is_unlimited(const struct settings *settings, const struct sockaddr *client)
{
	return settings != NULL && settings->rate_limit_allow.count > 0 &&
	       settings_prefixes_have(&settings->rate_limit_allow, peer_address(client));
}

/* Takes a token once for each query. */
static enum ratelimit_verdict judge_rate(struct answer *answer, const struct answer_query *query)
{
	if (answer->limit == NULL || query->is_tcp)
		return RATELIMIT_PASS;
	if (answer->is_judged)
		return answer->verdict;
	uint64_t network = peer_network(query->client);
	if (network == 0)
		return RATELIMIT_PASS;
	answer->verdict = ratelimit_take(answer->limit, network, query->now_ms);
	if (answer->verdict != RATELIMIT_PASS && is_unlimited(answer->settings, query->client))
		answer->verdict = RATELIMIT_PASS;
	answer->is_judged = true;
	return answer->verdict;
}

/* May the answer be larger than a plain one, though the address may be forged? */
static bool has_spare(const struct answer *answer, const struct answer_query *query,
		      uint64_t network, enum cookie_verdict cookie)
{
	if (query->is_tcp || cookie == COOKIE_GOOD)
		return true;
	return answer->limit != NULL && network != 0 &&
	       ratelimit_has_spare(answer->limit, network, query->now_ms, NEIGHBOURS_PRICE);
}

/*
 * What a negative answer may have besides (neighbours.h). A query with a forged address must not
 * make more bytes of its own: so over TCP, with a good cookie, or out of what a network leaves of
 * its rate limit.
 */
static struct neighbours_grant grant_neighbours(const struct answer *answer,
						const struct answer_query *query,
						const struct zone *zone, enum cookie_verdict cookie)
{
	struct neighbours_grant grant = { 0 };
	if (answer->settings == NULL || !zone->is_signed ||
	    dnsblv6_style_asked((enum dnsblv6_style)zone->facts.style, true) != DNSBLV6_STYLE_FLAT)
		return grant;
	uint64_t network = peer_network(query->client);
	unsigned side_max = answering_settings(answer, zone)->neighbours;
	if (side_max == 0 || !has_spare(answer, query, network, cookie))
		return grant;
	grant.side_max = side_max;
	grant.zone = (uint32_t)(zone - answer->catalog->zones);
	if (network != 0) {
		struct dnsblv6_addr address = peer_address(query->client);
		grant.client = (struct frequent_client){
			.frequent = answer->frequent,
			.address = dnsblv6_addr_is_ipv4(address) ? address.lo : address.hi,
			.now_ms = query->now_ms,
		};
	}
	return grant;
}

/* Of an answer that is made. */
static void settle_neighbours(struct answer *answer, const struct answer_query *query,
			      const struct zone *zone, enum cookie_verdict cookie,
			      const struct neighbours_grant *grant,
			      const struct neighbours_given *given)
{
	neighbours_settle(zone, grant, given);
	if (given->count == 0 || query->is_tcp || cookie == COOKIE_GOOD || answer->limit == NULL)
		return;
	uint64_t network = peer_network(query->client);
	if (network != 0)
		ratelimit_pay(answer->limit, network, query->now_ms, NEIGHBOURS_PRICE);
}

static size_t drop_limited(struct answer *answer)
{
	answering_count(answer, COUNTERS_SERVER_LIMITED_DROPPED);
	return 0;
}

/* In the place of an answer: come back over TCP, or with the cookie that is in here. */
static size_t answer_limited(struct answer *answer, const struct question *question)
{
	if (question->options.has_cookie) {
		answering_count(answer, COUNTERS_SERVER_BADCOOKIE);
		return answering_refuse(answer, question, KNOT_RCODE_BADCOOKIE);
	}
	answering_count(answer, COUNTERS_SERVER_LIMITED_TRUNCATED);
	if (!answering_begin_truncated(answer, question))
		return 0;
	return answering_end(answer, question, KNOT_RCODE_NOERROR);
}

/* ---- clients ---- */

/*
 * The SOA is what a secondary asks for before each transfer, whatever the zone's list says of clients.
 * Addresses that may transfer may be many (0.0.0.0/0): all else the list does decide for them.
 */
static bool is_refresh(const struct answer *answer, const struct answer_query *query)
{
	const struct settings_secondary *secondary = NULL;
	return answer->reply.qtype == KNOT_RRTYPE_SOA && answer->settings != NULL &&
	       access_decide(answer->settings, answering_settings(answer, answer->reply.zone),
			     query->client, answering_key(answer), &secondary) == ACCESS_PERMITTED;
}

/*
 * True when the client gets what every client gets, or in a classic zone what
 * reply->client says. A bitmap zone may be signed, and the caches behind it share
 * what one client is told: there it is refused, and never told what is not so.
 */
static bool is_answered(struct answer *answer, const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	reply->client.verdict = CLIENTS_PASS;
	/* What is wrong with the zone is said to every client. */
	if (zone_begin(reply->zone) == 0)
		reply->client = clients_judge(reply->zone, query->client);
	if (reply->client.verdict != CLIENTS_PASS && reply->client.verdict != CLIENTS_BROKEN &&
	    is_refresh(answer, query))
		reply->client.verdict = CLIENTS_PASS;
	if (reply->client.verdict == CLIENTS_EMPTY || reply->client.verdict == CLIENTS_LISTED)
		return reply->face->is_classic;
	return reply->client.verdict == CLIENTS_PASS || reply->client.verdict == CLIENTS_BROKEN;
}

static size_t turn_away(struct answer *answer, const struct question *question, bool is_dropped)
{
	uint64_t *counters = counters_of_face(&answer->counters, answer->reply.face->index);
	if (is_dropped)
		return 0;
	counters_count(&counters[COUNTERS_FACE_REFUSED]);
	return answering_refuse_for(answer, question, KNOT_RCODE_REFUSED, EDE_PROHIBITED);
}

/* ---- questions ---- */

static enum reply_result ask_zone(struct answer *answer, const struct question *question,
				  const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	enum cookie_verdict cookie = question->options.cookie;
	if (!answering_begin_zone(reply, query->now_s))
		return REPLY_SERVFAIL;
	if (question->has_do)
		reply->grant = grant_neighbours(answer, query, reply->zone, cookie);
	enum reply_result result = ask_open_zone(reply, question->has_do);
	reply->zone->failed_count += result == REPLY_SERVFAIL;
	if (result == REPLY_NXDOMAIN && !reply->is_full)
		settle_neighbours(answer, query, reply->zone, cookie, &reply->grant, &reply->given);
	return result;
}

static size_t answer_face(struct answer *answer, const struct question *question,
			  const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	uint64_t *counters = counters_of_face(&answer->counters, reply->face->index);
	counters_count(&counters[COUNTERS_FACE_QUERIES]);
	if (query->is_tcp)
		counters_count(&counters[COUNTERS_FACE_TCP]);
	if (answering_is_transfer(reply->qtype))
		return transfer_answer(answer, question, query);
	enum settings_action action =
		judge_access(answer, query, reply->zone, answering_key(answer));
	if (action != SETTINGS_ALLOW)
		return turn_away(answer, question, action == SETTINGS_DROP);
	if (!is_answered(answer, query))
		return turn_away(answer, question, reply->client.verdict == CLIENTS_IGNORE);

	if (!answering_begin(answer, question))
		return 0;
	enum reply_result result = ask_zone(answer, question, query);
	/* Over TCP there is nowhere to fall back to. */
	if (reply->is_full && query->is_tcp)
		result = REPLY_SERVFAIL;
	counters_count(&counters[results[result].counter]);
	if (reply->has_dnssec &&
	    zone_check_signatures(reply->zone, query->now_s) != ZONE_SIGNATURES_GOOD)
		counters_count(&counters[COUNTERS_FACE_EXPIRING]);
	if (result == REPLY_SERVFAIL)
		return answering_refuse(answer, question, KNOT_RCODE_SERVFAIL);

	if (reply->is_full) {
		/* A part of an answer is of no use: the question alone, and TC. */
		counters_count(&counters[COUNTERS_FACE_TRUNCATED]);
		if (!answering_begin_truncated(answer, question))
			return 0;
	}
	return answering_end_authoritative(answer, question, results[result].rcode);
}

/* Class CH: what this server says of itself, if anything. */
static size_t answer_chaos(struct answer *answer, const struct question *question)
{
	struct reply *reply = &answer->reply;
	uint8_t text[1 + SETTINGS_IDENTITY_MAX];
	const char *found = identity_find(answer->settings, knot_pkt_qname(reply->query),
					  reply->query->qname_size);
	if (found == NULL || !reply_wants(reply, KNOT_RRTYPE_TXT)) {
		answering_count(answer, COUNTERS_SERVER_REFUSED);
		return answering_refuse(answer, question, KNOT_RCODE_REFUSED);
	}
	if (!answering_begin(answer, question))
		return 0;
	text[0] = (uint8_t)strlen(found);
	memcpy(text + 1, found, text[0]);
	reply_rrset_begin(reply, KNOT_RRTYPE_TXT, 0);
	reply->rrset.rclass = KNOT_CLASS_CH;
	reply_rrset_add(reply, text, 1 + (size_t)text[0]);
	reply_rrset_put(reply);
	if (reply->is_broken || (reply->is_full && !answering_begin_truncated(answer, question)))
		return answering_refuse(answer, question, KNOT_RCODE_SERVFAIL);
	answering_count(answer, COUNTERS_SERVER_IDENTITY);
	return answering_end_authoritative(answer, question, KNOT_RCODE_NOERROR);
}

/* The question, once the packet is one that asks something. */
static size_t answer_question(struct answer *answer, const struct question *question,
			      const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	reply->qtype = knot_pkt_qtype(reply->query);
	uint16_t qclass = knot_pkt_qclass(reply->query);
	if (qclass == KNOT_CLASS_CH)
		return answer_chaos(answer, question);
	bool is_any = qclass == KNOT_CLASS_ANY && !answering_is_transfer(reply->qtype);
	if (qclass != KNOT_CLASS_IN && !is_any) {
		answering_count(answer, COUNTERS_SERVER_REFUSED);
		return answering_refuse(answer, question, KNOT_RCODE_REFUSED);
	}
	if (is_meta(reply->qtype) && !answering_is_transfer(reply->qtype)) {
		answering_count(answer, COUNTERS_SERVER_NOTIMP);
		return answering_refuse(answer, question, KNOT_RCODE_NOTIMPL);
	}
	const uint8_t *qname = knot_pkt_qname(reply->query);
	size_t qname_size = reply->query->qname_size;
	reply->face = catalog_find(answer->catalog, qname, qname_size, reply->qtype);
	if (reply->face == NULL) {
		/* RFC 5936 section 2.2.1 has a code of its own for transfers. */
		uint16_t rcode = answering_is_transfer(reply->qtype) ? KNOT_RCODE_NOTAUTH
								     : KNOT_RCODE_REFUSED;
		answering_count(answer, COUNTERS_SERVER_REFUSED);
		return answering_refuse_for(answer, question, rcode, EDE_NOT_AUTHORITATIVE);
	}
	reply->zone = reply->face->zone;
	reply->labels = qname;
	reply->labels_size = qname_size - reply->face->name->size;
	return answer_face(answer, question, query);
}

static size_t answer_cookie(struct answer *answer, const struct question *question)
{
	if (question->options.cookie != COOKIE_BAD)
		return answering_refuse(answer, question, KNOT_RCODE_NOERROR);
	answering_count(answer, COUNTERS_SERVER_BADCOOKIE);
	return answering_refuse(answer, question, KNOT_RCODE_BADCOOKIE);
}

/* What the packet deserves, TSIG apart. */
static size_t answer_packet(struct answer *answer, const struct question *question,
			    const struct answer_query *query)
{
	if (answer->is_judged && answer->verdict == RATELIMIT_TRUNCATE)
		return answer_limited(answer, question);
	if (knot_wire_get_opcode(query->wire) != KNOT_OPCODE_QUERY) {
		answering_count(answer, COUNTERS_SERVER_NOTIMP);
		return answering_refuse(answer, question, KNOT_RCODE_NOTIMPL);
	}
	if (is_for_cookie(answer, question))
		return answer_cookie(answer, question);
	if (question->is_malformed) {
		answering_count(answer, COUNTERS_SERVER_FORMERR);
		return answering_refuse(answer, question, KNOT_RCODE_FORMERR);
	}
	if (question->edns_version > KNOT_EDNS_VERSION) {
		answering_count(answer, COUNTERS_SERVER_BADVERS);
		return answering_refuse(answer, question, KNOT_RCODE_BADVERS);
	}
	return answer_question(answer, question, query);
}

/*
 * Room for the TSIG of the response, which is kept from what else may be put; 0: there is none.
 * A question that leaves too little is answered all the same, without options and a little beyond
 * the size that the client takes: it is hardly shorter itself.
 */
static size_t keep_room(struct answer *answer, struct question *question, size_t wire_max)
{
	knot_pkt_t *response = answer->reply.response;
	size_t room = tsig_size(&answer->tsig, answer->reply.query);
	if (room + answering_least_size(answer, question) > response->max_size) {
		question->options = (struct options){ .cookie = question->options.cookie };
		size_t least = room + answering_least_size(answer, question);
		if (least > wire_max)
			return 0;
		if (least > response->max_size)
			response->max_size = least;
	}
	response->max_size -= room;
	return room;
}

/* The same for a packet with a TSIG: a good one is answered with one, RFC 8945 section 5. */
static size_t answer_signed(struct answer *answer, struct question *question,
			    const struct answer_query *query, size_t wire_max)
{
	static const struct settings no_keys = { 0 };
	const struct settings *settings = answer->settings != NULL ? answer->settings : &no_keys;
	struct reply *reply = &answer->reply;
	bool is_tsig =
		tsig_check(&answer->tsig, settings->tsig_keys, settings->key_count, reply->query);
	/* Checking goes by the id that was signed, which a forwarder may have changed. */
	knot_wire_set_id(reply->query->wire, knot_wire_get_id(query->wire));
	if (!is_tsig) {
		question->is_malformed = true;
		return answer_packet(answer, question, query);
	}
	size_t room = keep_room(answer, question, wire_max);
	if (room == 0)
		return 0;
	size_t size = 0;
	if (answer->tsig.error == TSIG_OK) {
		size = answer_packet(answer, question, query);
	} else {
		transfer_answer_bad_tsig(answer, question, query);
		answering_count(answer, COUNTERS_SERVER_REFUSED);
		size = answering_refuse(answer, question, KNOT_RCODE_NOTAUTH);
	}
	reply->response->max_size += room;
	if (size == 0 || tsig_sign(&answer->tsig, reply->query, reply->response->wire, &size,
				   reply->response->max_size) != 0)
		return 0;
	return size;
}

static size_t answer_by_libknot(struct answer *answer, const struct answer_query *query,
				uint8_t *ret_wire, size_t wire_max)
{
	if (query->size < KNOT_WIRE_HEADER_SIZE || query->size > ANSWER_QUERY_MAX ||
	    wire_max < KNOT_WIRE_MIN_PKTSIZE || knot_wire_get_qr(query->wire))
		return 0;
	if (answer->is_judged && answer->verdict == RATELIMIT_DROP)
		return drop_limited(answer);
	struct reply *reply = &answer->reply;
	reply_clear(reply);
	memcpy(answer->query, query->wire, query->size);
	options_mend_payload(answer->query, query->size);
	reply->query = knot_pkt_new(answer->query, (uint16_t)query->size, &reply->mm);
	if (reply->query == NULL)
		return 0;
	struct question question = parse(reply);
	read_options(answer, &question, query);
	if (question.options.cookie != COOKIE_GOOD && judge_rate(answer, query) == RATELIMIT_DROP)
		return drop_limited(answer);
	size_t max = response_max(answer, &question, query->is_tcp);
	reply->response =
		knot_pkt_new(ret_wire, (uint16_t)(max < wire_max ? max : wire_max), &reply->mm);
	if (reply->response == NULL)
		return 0;

	if (reply->query->tsig_rr != NULL && !question.is_malformed)
		return answer_signed(answer, &question, query, wire_max);
	return answer_packet(answer, &question, query);
}

/* Every query ends here or in answer_quickly(), so none stays without an answer and uncounted. */
static size_t answer_slowly(struct answer *answer, const struct answer_query *query,
			    uint8_t *ret_wire, size_t wire_max)
{
	answering_count(answer, COUNTERS_SERVER_QUERIES);
	size_t size = answer_by_libknot(answer, query, ret_wire, wire_max);
	bool is_granted = answer->has_transfer && answer->transfer.verdict == TRANSFER_GRANTED;
	if (size == 0 && !is_granted)
		answering_count(answer, COUNTERS_SERVER_DROPPED);
	return size;
}

size_t answer_make_long(struct answer *answer, const struct answer_query *query, uint8_t *ret_wire,
			size_t wire_max)
{
	answer->has_transfer = false;
	answer->is_judged = false;
	return answer_slowly(answer, query, ret_wire, wire_max);
}

/* ---- the common question ---- */

static void count_quick(struct answer *answer, const struct answer_query *query,
			const struct catalog_face *face, bool has_dnssec, enum reply_result result)
{
	uint64_t *counters = counters_of_face(&answer->counters, face->index);
	answering_count(answer, COUNTERS_SERVER_QUERIES);
	counters_count(&counters[COUNTERS_FACE_QUERIES]);
	counters_count(&counters[results[result].counter]);
	if (query->is_tcp)
		counters_count(&counters[COUNTERS_FACE_TCP]);
	if (has_dnssec && zone_check_signatures(face->zone, query->now_s) != ZONE_SIGNATURES_GOOD)
		counters_count(&counters[COUNTERS_FACE_EXPIRING]);
}

static struct options read_common_options(const struct answer *answer,
					  const struct answer_query *query,
					  const struct question_common *question)
{
	const struct options_context context = { .settings = answer->settings,
						 .client = query->client,
						 .now_s = query->now_s };
	if (question->cookie_size == 0)
		return (struct options){ .cookie = COOKIE_NONE };
	return options_read_cookie(query->wire + query->size - question->cookie_size,
				   question->cookie_size, &context);
}

/* What is dropped for it is not read again: its cookie is counted here. */
static bool is_limited(struct answer *answer, const struct answer_query *query,
		       enum cookie_verdict cookie)
{
	if (cookie == COOKIE_GOOD || judge_rate(answer, query) == RATELIMIT_PASS)
		return false;
	if (answer->verdict == RATELIMIT_DROP)
		count_cookie(answer, cookie);
	return true;
}

/* 0 when it must go the long way; then nothing was counted. */
static size_t answer_quickly(struct answer *answer, const struct answer_query *query,
			     uint8_t *ret_wire, size_t wire_max)
{
	const struct foreseen *seen =
		lookahead_take(&answer->lookahead, answer->catalog, query->wire, query->size);
	if (seen == NULL || wire_max < KNOT_WIRE_MIN_PKTSIZE || zone_begin(seen->face->zone) != 0)
		return 0;
	const struct question_common *question = &seen->question;
	struct zone *zone = seen->face->zone;
	if (zone->facts.expires_s != 0 && query->now_s >= zone->facts.expires_s)
		return 0;
	if (zone->has_clients && clients_judge(zone, query->client).verdict != CLIENTS_PASS)
		return 0;
	/* A rule may be for a key, but a question with a TSIG is no common one. */
	if (judge_access(answer, query, zone, NULL) != SETTINGS_ALLOW)
		return 0;
	const struct options options = read_common_options(answer, query, question);
	if (is_limited(answer, query, options.cookie))
		return 0;
	const struct question envelope = { .has_edns = question->has_edns,
					   .edns_payload = question->payload };
	struct quick_query quick = { .question = question,
				     .wire = query->wire,
				     .zone = zone,
				     .labels_size = question->name_size - seen->face->name->size,
				     .key = &seen->key,
				     .payload = answer->udp_max_payload,
				     .cookie = options.has_cookie ? options.cookie_data : NULL };
	if (question->has_do)
		quick.grant = grant_neighbours(answer, query, zone, options.cookie);
	size_t max = response_max(answer, &envelope, query->is_tcp);
	struct quick_said said = { .result = REPLY_SERVFAIL };
	size_t size = quick_make(&quick, ret_wire, max < wire_max ? max : wire_max, &said);
	if (size == 0)
		return 0;
	count_cookie(answer, options.cookie);
	count_quick(answer, query, seen->face, question->has_do && zone->is_signed, said.result);
	settle_neighbours(answer, query, zone, options.cookie, &quick.grant, &said.given);
	return size;
}

void answer_set_talkers(struct answer *answer, const struct talkers *talkers)
{
	answer->talkers = *talkers;
}

void answer_foresee(struct answer *answer, const struct responder_query *queries, size_t count)
{
	lookahead_batch(&answer->lookahead, answer->catalog, queries, count);
}

void answer_end(struct answer *answer)
{
	lookahead_end(&answer->lookahead);
	catalog_end(answer->catalog);
}

size_t answer_make(struct answer *answer, const struct answer_query *query, uint8_t *ret_wire,
		   size_t wire_max)
{
	talkers_count(&answer->talkers, query->client);
	answer->has_transfer = false;
	answer->is_judged = false;
	size_t size = answer_quickly(answer, query, ret_wire, wire_max);
	return size != 0 ? size : answer_slowly(answer, query, ret_wire, wire_max);
}
