/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet to question_parse() and to libknot: what ours takes, libknot takes
 * with the same content; and what libknot finds to be a common question, ours
 * takes. The same packet to question_read(): it never judges less of a question than
 * question_parse(), and takes what libknot finds nothing wrong with.
 */

#include "lib/dns/question.h"

#include <libknot/cookies.h>
#include <libknot/libknot.h>

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

static bool has_common_options(const knot_rrset_t *opt)
{
	knot_edns_cookie_t theirs;
	knot_edns_cookie_t ours;
	if (opt->rrs.rdata->len == 0)
		return true;
	uint8_t *at = knot_edns_get_option(opt, KNOT_EDNS_OPTION_COOKIE, NULL);
	if (at == NULL)
		return false;
	uint16_t size = knot_edns_opt_get_length(at);
	return opt->rrs.rdata->len == KNOT_EDNS_OPTION_HDRLEN + size &&
	       knot_edns_cookie_parse(&theirs, &ours, knot_edns_opt_get_data(at), size) == KNOT_EOK;
}

/* The definition in question.h, said with what libknot has found. */
static bool is_common(const knot_pkt_t *packet, int ret, size_t size)
{
	const uint8_t *wire = packet->wire;
	if (ret != KNOT_EOK || packet->parsed != size || knot_wire_get_qr(wire) ||
	    knot_wire_get_opcode(wire) != KNOT_OPCODE_QUERY || knot_wire_get_qdcount(wire) != 1 ||
	    packet->rrset_count != (packet->opt_rr != NULL ? 1 : 0))
		return false;
	uint16_t qtype = knot_pkt_qtype(packet);
	if (knot_pkt_qclass(packet) != KNOT_CLASS_IN || qtype == KNOT_RRTYPE_OPT || qtype >= 128)
		return false;
	const knot_rrset_t *opt = packet->opt_rr;
	/* The root as it is, and not by a pointer to an octet that happens to be 0. */
	size_t opt_at = KNOT_WIRE_HEADER_SIZE + (size_t)packet->qname_size + 4;
	return opt == NULL ||
	       (knot_wire_get_arcount(wire) == 1 && wire[opt_at] == 0 &&
		knot_edns_get_version(opt) == 0 && knot_edns_get_payload(opt) != KNOT_CLASS_IN &&
		has_common_options(opt));
}

static void compare(const struct question_common *question, const knot_pkt_t *packet)
{
	require(question->name_size == packet->qname_size &&
			memcmp(question->name, knot_pkt_qname(packet), question->name_size) == 0,
		"another name");
	require(question->qtype == knot_pkt_qtype(packet), "another type");
	require(question->has_edns == (packet->opt_rr != NULL), "an OPT here or there");
	require(question_end(question) ==
			KNOT_WIRE_HEADER_SIZE + (size_t)knot_pkt_question_size(packet),
		"another end");
	require(question->label_count == knot_dname_labels(question->name, NULL) + 1, "labels");
	if (packet->opt_rr == NULL)
		return;
	require(question->has_do == knot_edns_do(packet->opt_rr), "another DO");
	require(question->payload == knot_edns_get_payload(packet->opt_rr), "another payload");
	uint8_t *cookie = knot_edns_get_option(packet->opt_rr, KNOT_EDNS_OPTION_COOKIE, NULL);
	require((cookie != NULL) == (question->cookie_size != 0), "a COOKIE here or there");
	require(cookie == NULL || (knot_edns_opt_get_length(cookie) == question->cookie_size &&
				   memcmp(knot_edns_opt_get_data(cookie),
					  packet->wire + packet->size - question->cookie_size,
					  question->cookie_size) == 0),
		"another COOKIE");
}

/* What question_read() says, when libknot has no fault to find with the packet. */
static enum question_verdict judge(const knot_pkt_t *packet)
{
	uint16_t qtype = knot_pkt_qtype(packet);
	if (packet->opt_rr != NULL && knot_edns_get_version(packet->opt_rr) != 0)
		return QUESTION_BADVERS;
	if (knot_pkt_qclass(packet) != KNOT_CLASS_IN)
		return QUESTION_REFUSED;
	bool is_meta = qtype == KNOT_RRTYPE_OPT || (qtype >= 128 && qtype < KNOT_RRTYPE_ANY);
	return is_meta ? QUESTION_NOTIMP : QUESTION_GOOD;
}

static void compare_any(const uint8_t *data, size_t size, const struct question_common *common,
			const knot_pkt_t *packet, int ret)
{
	struct question_common question;
	enum question_verdict verdict = question_read(data, size, &question);
	if (size < KNOT_WIRE_HEADER_SIZE || knot_wire_get_qr(data)) {
		require(verdict == QUESTION_SILENCE, "no silence");
		return;
	}
	if (knot_wire_get_opcode(data) != KNOT_OPCODE_QUERY) {
		require(verdict == QUESTION_NOTIMP, "another opcode");
		return;
	}
	require(common == NULL || verdict == QUESTION_GOOD, "common, and not good");
	/* Of data that libknot knows the form of, it may find that broken; we do not look. */
	if (ret != KNOT_EOK || packet->parsed != size || knot_wire_get_qdcount(data) != 1 ||
	    (packet->opt_rr != NULL && packet->opt_rr->owner[0] != 0))
		return;
	/* An owner that is the root by way of a pointer is none to us. */
	if (packet->opt_rr != NULL && !question.has_edns && verdict == QUESTION_FORMERR)
		return;
	require(verdict == judge(packet), "another verdict");
	require(question.name_size == packet->qname_size &&
			memcmp(question.name, knot_pkt_qname(packet), question.name_size) == 0,
		"another name, of any");
	require(question.qtype == knot_pkt_qtype(packet), "another type, of any");
	require(question.has_edns == (packet->opt_rr != NULL), "an OPT here or there, of any");
	if (packet->opt_rr == NULL)
		return;
	require(question.has_do == knot_edns_do(packet->opt_rr), "another DO, of any");
	require(question.payload == knot_edns_get_payload(packet->opt_rr),
		"another payload, of any");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t copy[4096];
	struct question_common question;
	if (size > sizeof(copy))
		return 0;
	bool is_taken = question_parse(data, size, &question);
	if (size > 0)
		memcpy(copy, data, size);
	knot_pkt_t *packet = knot_pkt_new(copy, (uint16_t)size, NULL);
	if (packet == NULL)
		abort();
	int ret = knot_pkt_parse(packet, KNOT_PF_NOCANON);
	require(is_taken == is_common(packet, ret, size),
		is_taken ? "only ours" : "only libknot's");
	if (is_taken)
		compare(&question, packet);
	compare_any(data, size, is_taken ? &question : NULL, packet, ret);
	knot_pkt_free(packet);
	return 0;
}
