/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "server/access.h"
#include "server/classic.h"
#include "server/identity.h"
#include "server/options.h"
#include "server/quick.h"
#include "server/ratelimit.h"
#include "server/records.h"
#include "server/reply.h"
#include "server/transfer.h"
#include "server/tsig.h"

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

struct answer {
	struct catalog *catalog;
	struct counters counters;
	uint16_t udp_max_payload;
	struct reply reply;
	const struct settings *settings; /* NULL: no keys, no secondaries */
	struct ratelimit *limit;	 /* NULL: none */
	bool is_judged;			 /* that of the query is the one below */
	enum ratelimit_verdict verdict;
	struct talkers talkers; /* of nobody at first */
	struct tsig tsig;	/* of a query that has a TSIG */
	bool has_transfer;	/* the query is for the one below */
	struct transfer transfer;
	uint8_t query[ANSWER_QUERY_MAX]; /* libknot may write into what it parses */
};

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

const struct transfer *answer_transfer(const struct answer *answer)
{
	return answer->has_transfer ? &answer->transfer : NULL;
}

static void count(struct answer *answer, enum counters_server item)
{
	counters_count(&answer->counters.server[item]);
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
	if (question->options.cookie == COOKIE_GOOD)
		count(answer, COUNTERS_SERVER_COOKIES);
	else if (question->options.cookie == COOKIE_BAD)
		count(answer, COUNTERS_SERVER_COOKIES_BAD);
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

/* ---- the response ---- */

/* Bytes of the OPT at most. */
static uint16_t opt_size_max(const struct question *question)
{
	return (uint16_t)(KNOT_EDNS_MIN_SIZE + KNOT_EDNS_EDE_MIN_LENGTH +
			  options_size(&question->options));
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

/* Header and question of the query, nothing else yet. */
static bool begin_response(struct answer *answer, const struct question *question)
{
	struct reply *reply = &answer->reply;
	knot_pkt_clear(reply->response);
	if (knot_pkt_init_response(reply->response, reply->query) != KNOT_EOK)
		return false;
	knot_wire_clear_cd(reply->response->wire); /* RFC 4035 section 3.1.6 */
	if (!question->has_question)
		knot_wire_set_qdcount(reply->response->wire, 0);
	if (question->has_edns)
		return knot_pkt_reserve(reply->response, opt_size_max(question)) == KNOT_EOK;
	return true;
}

static size_t end_response(struct answer *answer, const struct question *question, uint16_t rcode)
{
	struct reply *reply = &answer->reply;
	knot_pkt_t *response = reply->response;
	knot_wire_set_rcode(response->wire, (uint8_t)KNOT_EDNS_RCODE_LO(rcode));
	if (!question->has_edns)
		return response->size;

	knot_rrset_t opt;
	knot_pkt_reclaim(response, opt_size_max(question));
	if (!make_opt(answer, question, rcode, &opt))
		return 0;
	if (response->current != KNOT_ADDITIONAL)
		knot_pkt_begin(response, KNOT_ADDITIONAL);
	return knot_pkt_put(response, KNOT_COMPR_HINT_NOCOMP, &opt, KNOT_PF_NOTRUNC) == KNOT_EOK
		       ? response->size
		       : 0;
}

/* A response of the question alone. */
static size_t refuse(struct answer *answer, const struct question *question, uint16_t rcode)
{
	if (!begin_response(answer, question))
		return 0;
	return end_response(answer, question, rcode);
}

static size_t refuse_with_reason(struct answer *answer, const struct question *question,
				 uint16_t rcode, uint16_t ede)
{
	answer->reply.has_ede = true;
	answer->reply.ede = ede;
	return refuse(answer, question, rcode);
}

/* ---- the zone ---- */

static bool is_transfer(uint16_t qtype)
{
	return qtype == KNOT_RRTYPE_AXFR || qtype == KNOT_RRTYPE_IXFR;
}

/* RFC 6895 section 3.1: OPT and 128 to 255 are no data, ANY aside. */
static bool is_meta(uint16_t qtype)
{
	return qtype == KNOT_RRTYPE_OPT || (qtype >= 128 && qtype < KNOT_RRTYPE_ANY);
}

/* False, with the reason for an extended error, when there is nothing to answer from. */
static bool begin_zone(struct reply *reply, uint64_t now_s)
{
	reply->has_ede = true;
	reply->ede = EDE_NOT_READY;
	if (zone_begin(reply->zone) != 0)
		return false;
	reply->ede = EDE_INVALID_DATA;
	return reply->zone->facts.expires_s == 0 || now_s < reply->zone->facts.expires_s;
}

static enum reply_result ask_zone(struct reply *reply, bool has_do, uint64_t now_s)
{
	if (!begin_zone(reply, now_s) || reply->client.verdict == CLIENTS_BROKEN)
		return REPLY_SERVFAIL;
	reply->has_dnssec = has_do && reply->zone->is_signed && !reply->face->is_classic;
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

/* ---- who asks ---- */

static const struct settings_zone *zone_settings(const struct answer *answer,
						 const struct zone *zone)
{
	return &answer->settings->zones[zone - answer->catalog->zones];
}

/* That of the query's TSIG. */
static const struct tsig_key *good_key(const struct answer *answer)
{
	bool is_good = answer->reply.query->tsig_rr != NULL && answer->tsig.error == TSIG_OK;
	return is_good ? answer->tsig.key : NULL;
}

static enum settings_action judge_access(const struct answer *answer,
					 const struct answer_query *query, const struct zone *zone,
					 const struct tsig_key *key)
{
	if (answer->settings == NULL)
		return SETTINGS_ALLOW;
	return access_judge(answer->settings, zone_settings(answer, zone), query->client, key);
}

static bool is_unlimited(const struct settings *settings, const struct sockaddr *client)
{
	if (settings == NULL || settings->rate_limit_allow_count == 0)
		return false;
	struct dnsblv6_addr address = access_address(client);
	for (size_t i = 0; i < settings->rate_limit_allow_count; i++) {
		if (dnsblv6_prefix_contains(settings->rate_limit_allow[i], address))
			return true;
	}
	return false;
}

/* Takes a token once for each query. */
static enum ratelimit_verdict judge_rate(struct answer *answer, const struct answer_query *query)
{
	if (answer->limit == NULL || query->is_tcp)
		return RATELIMIT_PASS;
	if (answer->is_judged)
		return answer->verdict;
	uint64_t network = access_network(query->client);
	if (network == 0)
		return RATELIMIT_PASS;
	answer->verdict = ratelimit_take(answer->limit, network, query->now_ms);
	if (answer->verdict != RATELIMIT_PASS && is_unlimited(answer->settings, query->client))
		answer->verdict = RATELIMIT_PASS;
	answer->is_judged = true;
	return answer->verdict;
}

static size_t drop_limited(struct answer *answer)
{
	count(answer, COUNTERS_SERVER_DROPPED);
	count(answer, COUNTERS_SERVER_LIMITED_DROPPED);
	return 0;
}

/* In the place of an answer: come back over TCP, or with the cookie that is in here. */
static size_t answer_limited(struct answer *answer, const struct question *question)
{
	if (question->options.has_cookie) {
		count(answer, COUNTERS_SERVER_BADCOOKIE);
		return refuse(answer, question, KNOT_RCODE_BADCOOKIE);
	}
	count(answer, COUNTERS_SERVER_LIMITED_TRUNCATED);
	if (!begin_response(answer, question))
		return 0;
	knot_wire_set_tc(answer->reply.response->wire);
	return end_response(answer, question, KNOT_RCODE_NOERROR);
}

/* ---- transfers ---- */

static enum transfer_verdict judge_transfer(struct answer *answer, const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	const struct settings_secondary *secondary = NULL;
	if (reply->face->is_classic)
		return TRANSFER_CLASSIC;
	if (answer->settings == NULL)
		return TRANSFER_ADDRESS;
	switch (access_decide(answer->settings, zone_settings(answer, reply->zone), query->client,
			      good_key(answer), &secondary)) {
	case ACCESS_ADDRESS:
		return TRANSFER_ADDRESS;
	case ACCESS_KEY:
		return TRANSFER_KEY;
	case ACCESS_PERMITTED:
		break;
	}
	if (!begin_zone(reply, query->now_s) || !reader_is_current(reply->zone->reader))
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
		return refuse_with_reason(answer, question, KNOT_RCODE_SERVFAIL, answer->reply.ede);
	case TRANSFER_CLASSIC:
		counters_count(&counters[COUNTERS_FACE_REFUSED]);
		return refuse_with_reason(answer, question, KNOT_RCODE_REFUSED, EDE_NOT_SUPPORTED);
	default:
		counters_count(&counters[COUNTERS_FACE_REFUSED]);
		return refuse_with_reason(answer, question, KNOT_RCODE_REFUSED, EDE_PROHIBITED);
	}
}

/* RFC 1995 section 2: over UDP the SOA alone, and the client comes back over TCP. */
static size_t answer_soa_alone(struct answer *answer, const struct question *question)
{
	struct reply *reply = &answer->reply;
	uint64_t *counters = counters_of_face(&answer->counters, reply->face->index);
	if (!begin_response(answer, question))
		return 0;
	reply->has_ede = false;
	reply_put_soa(reply);
	if (reply->is_full || reply->is_broken)
		return refuse(answer, question, KNOT_RCODE_SERVFAIL);
	counters_count(&counters[COUNTERS_FACE_NOERROR]);
	knot_wire_set_aa(reply->response->wire);
	return end_response(answer, question, KNOT_RCODE_NOERROR);
}

static size_t answer_transfer_question(struct answer *answer, const struct question *question,
				       const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	uint32_t serial = 0;
	bool is_incremental = reply->qtype == KNOT_RRTYPE_IXFR;
	if (reply->labels_size != 0) {
		count(answer, COUNTERS_SERVER_REFUSED);
		return refuse(answer, question, KNOT_RCODE_NOTAUTH);
	}
	enum transfer_verdict verdict = judge_transfer(answer, query);
	if (verdict == TRANSFER_GRANTED && is_incremental && !find_serial(reply, &serial)) {
		count(answer, COUNTERS_SERVER_FORMERR);
		return refuse(answer, question, KNOT_RCODE_FORMERR);
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

/* ---- clients ---- */

/*
 * True when the client gets what every client gets, or in a classic zone what
 * reply->client says. A bitmap zone may be signed, and the caches behind it share
 * what one client is told: there it is refused, and never told what is not so.
 */
static bool is_answered(struct answer *answer, const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	reply->client.verdict = CLIENTS_PASS;
	/* What is wrong with the zone is said to everybody. */
	if (zone_begin(reply->zone) == 0)
		reply->client = clients_judge(reply->zone, query->client);
	if (reply->client.verdict == CLIENTS_EMPTY || reply->client.verdict == CLIENTS_LISTED)
		return reply->face->is_classic;
	return reply->client.verdict == CLIENTS_PASS || reply->client.verdict == CLIENTS_BROKEN;
}

static size_t turn_away(struct answer *answer, const struct question *question, bool is_dropped)
{
	uint64_t *counters = counters_of_face(&answer->counters, answer->reply.face->index);
	if (is_dropped) {
		count(answer, COUNTERS_SERVER_DROPPED);
		return 0;
	}
	counters_count(&counters[COUNTERS_FACE_REFUSED]);
	return refuse_with_reason(answer, question, KNOT_RCODE_REFUSED, EDE_PROHIBITED);
}

/* ---- questions ---- */

static size_t answer_face(struct answer *answer, const struct question *question,
			  const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	uint64_t *counters = counters_of_face(&answer->counters, reply->face->index);
	counters_count(&counters[COUNTERS_FACE_QUERIES]);
	if (query->is_tcp)
		counters_count(&counters[COUNTERS_FACE_TCP]);
	if (is_transfer(reply->qtype))
		return answer_transfer_question(answer, question, query);
	enum settings_action action = judge_access(answer, query, reply->zone, good_key(answer));
	if (action != SETTINGS_ALLOW)
		return turn_away(answer, question, action == SETTINGS_DROP);
	if (!is_answered(answer, query))
		return turn_away(answer, question, reply->client.verdict == CLIENTS_IGNORE);

	if (!begin_response(answer, question))
		return 0;
	enum reply_result result = ask_zone(reply, question->has_do, query->now_s);
	/* Over TCP there is nowhere to fall back to. */
	if (reply->is_full && query->is_tcp)
		result = REPLY_SERVFAIL;
	counters_count(&counters[results[result].counter]);
	if (reply->has_dnssec &&
	    zone_check_signatures(reply->zone, query->now_s) != ZONE_SIGNATURES_GOOD)
		counters_count(&counters[COUNTERS_FACE_EXPIRING]);
	if (result == REPLY_SERVFAIL)
		return refuse(answer, question, KNOT_RCODE_SERVFAIL);

	if (reply->is_full) {
		/* A part of an answer is of no use: the question alone, and TC. */
		counters_count(&counters[COUNTERS_FACE_TRUNCATED]);
		if (!begin_response(answer, question))
			return 0;
		knot_wire_set_tc(reply->response->wire);
	}
	knot_wire_set_aa(reply->response->wire);
	return end_response(answer, question, results[result].rcode);
}

/* Class CH: who we are, if we say so. */
static size_t answer_chaos(struct answer *answer, const struct question *question)
{
	struct reply *reply = &answer->reply;
	uint8_t text[1 + SETTINGS_IDENTITY_MAX];
	const char *found = identity_find(answer->settings, knot_pkt_qname(reply->query),
					  reply->query->qname_size);
	if (found == NULL || !reply_wants(reply, KNOT_RRTYPE_TXT)) {
		count(answer, COUNTERS_SERVER_REFUSED);
		return refuse(answer, question, KNOT_RCODE_REFUSED);
	}
	if (!begin_response(answer, question))
		return 0;
	text[0] = (uint8_t)strlen(found);
	memcpy(text + 1, found, text[0]);
	reply_rrset_begin(reply, KNOT_RRTYPE_TXT, 0);
	reply->rrset.rclass = KNOT_CLASS_CH;
	reply_rrset_add(reply, text, 1 + (size_t)text[0]);
	if (!reply_rrset_put(reply))
		return refuse(answer, question, KNOT_RCODE_SERVFAIL);
	count(answer, COUNTERS_SERVER_IDENTITY);
	knot_wire_set_aa(reply->response->wire);
	return end_response(answer, question, KNOT_RCODE_NOERROR);
}

/* The question, once the packet is one that asks something. */
static size_t answer_question(struct answer *answer, const struct question *question,
			      const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	reply->qtype = knot_pkt_qtype(reply->query);
	if (knot_pkt_qclass(reply->query) == KNOT_CLASS_CH)
		return answer_chaos(answer, question);
	if (knot_pkt_qclass(reply->query) != KNOT_CLASS_IN) {
		count(answer, COUNTERS_SERVER_REFUSED);
		return refuse(answer, question, KNOT_RCODE_REFUSED);
	}
	if (is_meta(reply->qtype) && !is_transfer(reply->qtype)) {
		count(answer, COUNTERS_SERVER_NOTIMP);
		return refuse(answer, question, KNOT_RCODE_NOTIMPL);
	}
	const uint8_t *qname = knot_pkt_qname(reply->query);
	size_t qname_size = reply->query->qname_size;
	reply->face = catalog_find(answer->catalog, qname, qname_size);
	if (reply->face == NULL) {
		count(answer, COUNTERS_SERVER_REFUSED);
		return refuse_with_reason(answer, question, KNOT_RCODE_REFUSED,
					  EDE_NOT_AUTHORITATIVE);
	}
	reply->zone = reply->face->zone;
	reply->labels = qname;
	reply->labels_size = qname_size - reply->face->name->size;
	return answer_face(answer, question, query);
}

static size_t answer_cookie(struct answer *answer, const struct question *question)
{
	if (question->options.cookie != COOKIE_BAD)
		return refuse(answer, question, KNOT_RCODE_NOERROR);
	count(answer, COUNTERS_SERVER_BADCOOKIE);
	return refuse(answer, question, KNOT_RCODE_BADCOOKIE);
}

/* What the packet deserves, TSIG apart. */
static size_t answer_packet(struct answer *answer, const struct question *question,
			    const struct answer_query *query)
{
	if (answer->is_judged && answer->verdict == RATELIMIT_TRUNCATE)
		return answer_limited(answer, question);
	if (knot_wire_get_opcode(query->wire) != KNOT_OPCODE_QUERY) {
		count(answer, COUNTERS_SERVER_NOTIMP);
		return refuse(answer, question, KNOT_RCODE_NOTIMPL);
	}
	if (is_for_cookie(answer, question))
		return answer_cookie(answer, question);
	if (question->is_malformed) {
		count(answer, COUNTERS_SERVER_FORMERR);
		return refuse(answer, question, KNOT_RCODE_FORMERR);
	}
	if (question->edns_version > KNOT_EDNS_VERSION) {
		count(answer, COUNTERS_SERVER_BADVERS);
		return refuse(answer, question, KNOT_RCODE_BADVERS);
	}
	return answer_question(answer, question, query);
}

/* So that the log can say it: a secondary that cannot transfer has an operator who looks there. */
static void note_bad_tsig(struct answer *answer, const struct question *question,
			  const struct answer_query *query)
{
	struct reply *reply = &answer->reply;
	reply->qtype = knot_pkt_qtype(reply->query);
	if (!query->is_tcp || !is_transfer(reply->qtype))
		return;
	reply->face = catalog_find(answer->catalog, knot_pkt_qname(reply->query),
				   reply->query->qname_size);
	if (reply->face == NULL)
		return;
	reply->zone = reply->face->zone;
	note_transfer(answer, question, query, 0);
	enum transfer_verdict verdict = judge_transfer(answer, query);
	answer->transfer.verdict =
		verdict == TRANSFER_GRANTED || verdict == TRANSFER_KEY ? TRANSFER_TSIG : verdict;
}

/* The same for a packet with a TSIG: a good one is answered with one, RFC 8945 section 5. */
static size_t answer_signed(struct answer *answer, struct question *question,
			    const struct answer_query *query)
{
	static const struct settings nobody = { 0 };
	const struct settings *settings = answer->settings != NULL ? answer->settings : &nobody;
	struct reply *reply = &answer->reply;
	bool is_tsig =
		tsig_check(&answer->tsig, settings->tsig_keys, settings->key_count, reply->query);
	/* Checking goes by the id that was signed, which a forwarder may have changed. */
	knot_wire_set_id(reply->query->wire, knot_wire_get_id(query->wire));
	if (!is_tsig) {
		question->is_malformed = true;
		return answer_packet(answer, question, query);
	}
	size_t room = tsig_size(&answer->tsig, reply->query);
	if (room + KNOT_WIRE_MIN_PKTSIZE / 2 > reply->response->max_size)
		return 0;
	reply->response->max_size -= room;
	size_t size = 0;
	if (answer->tsig.error == TSIG_OK) {
		size = answer_packet(answer, question, query);
	} else {
		note_bad_tsig(answer, question, query);
		count(answer, COUNTERS_SERVER_REFUSED);
		size = refuse(answer, question, KNOT_RCODE_NOTAUTH);
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
	count(answer, COUNTERS_SERVER_QUERIES);
	if (query->size < KNOT_WIRE_HEADER_SIZE || query->size > ANSWER_QUERY_MAX ||
	    wire_max < KNOT_WIRE_MIN_PKTSIZE || knot_wire_get_qr(query->wire)) {
		count(answer, COUNTERS_SERVER_DROPPED);
		return 0;
	}
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
		return answer_signed(answer, &question, query);
	return answer_packet(answer, &question, query);
}

size_t answer_make_long(struct answer *answer, const struct answer_query *query, uint8_t *ret_wire,
			size_t wire_max)
{
	answer->has_transfer = false;
	answer->is_judged = false;
	return answer_by_libknot(answer, query, ret_wire, wire_max);
}

/* ---- the common question ---- */

static void count_quick(struct answer *answer, const struct answer_query *query,
			const struct catalog_face *face, bool has_dnssec, enum reply_result result)
{
	uint64_t *counters = counters_of_face(&answer->counters, face->index);
	count(answer, COUNTERS_SERVER_QUERIES);
	counters_count(&counters[COUNTERS_FACE_QUERIES]);
	counters_count(&counters[results[result].counter]);
	if (query->is_tcp)
		counters_count(&counters[COUNTERS_FACE_TCP]);
	if (has_dnssec && zone_check_signatures(face->zone, query->now_s) != ZONE_SIGNATURES_GOOD)
		counters_count(&counters[COUNTERS_FACE_EXPIRING]);
}

/* 0 when it must go the long way; then nothing was counted. */
static size_t answer_quickly(struct answer *answer, const struct answer_query *query,
			     uint8_t *ret_wire, size_t wire_max)
{
	struct question_common question;
	if (wire_max < KNOT_WIRE_MIN_PKTSIZE || query->size > ANSWER_QUERY_MAX ||
	    !question_parse(query->wire, query->size, &question))
		return 0;
	const struct catalog_face *face =
		catalog_find(answer->catalog, question.name, question.name_size);
	if (face == NULL || face->is_classic || zone_begin(face->zone) != 0)
		return 0;
	struct zone *zone = face->zone;
	if (zone->facts.expires_s != 0 && query->now_s >= zone->facts.expires_s)
		return 0;
	if (zone->has_clients && clients_judge(zone, query->client).verdict != CLIENTS_PASS)
		return 0;
	/* A rule may be for a key, but a question with a TSIG is no common one. */
	if (judge_access(answer, query, zone, NULL) != SETTINGS_ALLOW ||
	    judge_rate(answer, query) != RATELIMIT_PASS)
		return 0;
	const struct question envelope = { .has_edns = question.has_edns,
					   .edns_payload = question.payload };
	struct quick_query quick = { .question = &question,
				     .wire = query->wire,
				     .zone = zone,
				     .labels_size = question.name_size - face->name->size,
				     .payload = answer->udp_max_payload };
	size_t max = response_max(answer, &envelope, query->is_tcp);
	enum reply_result result = REPLY_SERVFAIL;
	size_t size = quick_make(&quick, ret_wire, max < wire_max ? max : wire_max, &result);
	if (size != 0)
		count_quick(answer, query, face, question.has_do && zone->is_signed, result);
	return size;
}

void answer_set_talkers(struct answer *answer, const struct talkers *talkers)
{
	answer->talkers = *talkers;
}

size_t answer_make(struct answer *answer, const struct answer_query *query, uint8_t *ret_wire,
		   size_t wire_max)
{
	talkers_count(&answer->talkers, query->client);
	answer->has_transfer = false;
	answer->is_judged = false;
	size_t size = answer_quickly(answer, query, ret_wire, wire_max);
	return size != 0 ? size : answer_by_libknot(answer, query, ret_wire, wire_max);
}
