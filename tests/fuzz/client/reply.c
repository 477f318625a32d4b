/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet as a reply to the question that is in it, and to libknot: what ours
 * reads libknot reads, and finds as many addresses at the end of the same chain. Which owner of a SOA
 * is above the question, so that its zone may deny it, both say alike.
 */

#include "client-lib/base/message.h"
#include "client-lib/engine/answer.h"

#include "lib/format/key.h"

#include <libknot/libknot.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

/* The question of the packet, or some other. */
static struct message_question find_question(const uint8_t *data, size_t size)
{
	struct message_question question = { .type = MESSAGE_AAAA };
	size_t at = 12;

	while (at < size && data[at] != 0 && data[at] <= DNSBLV6_LABEL_MAX &&
	       at + data[at] - 12 < DNSBLV6_LABELS_MAX)
		at += 1u + data[at];
	if (at + 3 > size || data[at] != 0)
		return question;
	question.id = knot_wire_get_id(data);
	question.type = knot_wire_read_u16(data + at + 1);
	question.name.size = (uint8_t)(at - 12);
	memcpy(question.name.wire, data + 12, question.name.size);
	return question;
}

static bool is_name(const struct dnsblv6_labels *name)
{
	struct dnsblv6_key key;
	return dnsblv6_key_from_labels(name->wire, name->size, &key) == DNSBLV6_OK;
}

static void check_bounds(const struct message_reply *reply)
{
	require(reply->ttl_s <= MESSAGE_TTL_MAX, "a TTL too long");
	require(reply->ede >= -1 && reply->ede <= UINT16_MAX, "no EDE");
	require(reply->rcode < 4096, "no RCODE");
	require(reply->a_count <= MESSAGE_A_MAX, "too many A");
	require(reply->nsec_count <= MESSAGE_NSEC_MAX, "too many NSEC");
	require(reply->text_size <= MESSAGE_TEXT_MAX, "too long a text");
	require(reply->text_total <= sizeof(reply->text_rdata), "too long a TXT");
	require(!reply->has_soa || is_name(&reply->soa_owner), "no owner of the SOA");
	for (unsigned i = 0; i < reply->nsec_count; i++) {
		require(is_name(&reply->nsecs[i].owner), "no owner of an NSEC");
		require(is_name(&reply->nsecs[i].next), "no next name");
		require(reply->nsecs[i].ttl_s <= MESSAGE_TTL_MAX, "a TTL too long");
	}
}

static void check_kind(const struct message_reply *reply)
{
	const unsigned records = reply->a_count + reply->aaaa_count + reply->text_count;

	if (reply->kind != MESSAGE_ANSWER)
		require(records == 0, "records without an answer");
	if (reply->kind == MESSAGE_ANSWER || reply->kind == MESSAGE_NODATA)
		require(reply->rcode == 0, "an RCODE that is no error");
	if (reply->kind == MESSAGE_NXDOMAIN)
		require(reply->rcode == 3, "another RCODE than NXDOMAIN");
}

/*
 * Types whose RDATA ours reads; libknot reads more, and may find them broken. It has
 * no OPT of less than 512 bytes, which RFC 6891 section 6.2.3 takes for 512.
 */
static bool is_ours(uint16_t type, uint16_t class)
{
	if (type == KNOT_RRTYPE_OPT)
		return class >= 512;
	return type == MESSAGE_A || type == MESSAGE_SOA || type == MESSAGE_TXT ||
	       type == MESSAGE_AAAA || type == MESSAGE_NSEC || type == KNOT_RRTYPE_CNAME;
}

/* The packet has been read: names end, and counts are right. */
static bool has_only_ours(const uint8_t *data, size_t question_end)
{
	const unsigned count = knot_wire_get_ancount(data) + knot_wire_get_nscount(data) +
			       (unsigned)knot_wire_get_arcount(data);
	const uint8_t *at = data + question_end;

	for (unsigned i = 0; i < count; i++) {
		while (*at != 0 && *at < 0xc0)
			at += 1 + *at;
		at += *at == 0 ? 1 : 2;
		if (!is_ours(knot_wire_read_u16(at), knot_wire_read_u16(at + 2)))
			return false;
		at += 10 + knot_wire_read_u16(at + 8);
	}
	return true;
}

/* How many records of type has owner in the answer section; the last in *ret_found. */
static unsigned count_records(const knot_pkt_t *packet, const knot_dname_t *owner, uint16_t type,
			      const knot_rrset_t **ret_found)
{
	const knot_pktsection_t *answer = knot_pkt_section(packet, KNOT_ANSWER);
	unsigned count = 0;

	for (uint16_t i = 0; i < answer->count; i++) {
		const knot_rrset_t *rr = knot_pkt_rr(answer, i);
		if (rr->type != type || rr->rclass != KNOT_CLASS_IN ||
		    !knot_dname_is_case_equal(rr->owner, owner))
			continue;
		*ret_found = rr;
		count++;
	}
	return count;
}

static void compare(const struct message_reply *reply, uint16_t type, const knot_pkt_t *packet)
{
	const knot_dname_t *owner = knot_pkt_qname(packet);
	const knot_rrset_t *found = NULL;
	unsigned steps = 0;

	while (count_records(packet, owner, KNOT_RRTYPE_CNAME, &found) > 0) {
		require(++steps <= MESSAGE_CNAMES_MAX, "a chain too long");
		owner = knot_cname_name(found->rrs.rdata);
	}
	require(reply->has_cname == (steps > 0), "a chain here or there");
	const unsigned count = count_records(packet, owner, type, &found);
	require((reply->kind == MESSAGE_ANSWER) == (count > 0), "an answer here or there");
	if (type == MESSAGE_AAAA)
		require(reply->aaaa_count == count, "another number of AAAA");
	if (type == MESSAGE_A)
		require(reply->a_count == (count < MESSAGE_A_MAX ? count : MESSAGE_A_MAX),
			"another number of A");
	if (type == MESSAGE_TXT)
		require(reply->text_count == count, "another number of TXT");
}

/* With its root, in lower case. */
static void make_dname(const struct dnsblv6_labels *name, knot_dname_t *ret_dname)
{
	memcpy(ret_dname, name->wire, name->size);
	ret_dname[name->size] = 0;
	knot_dname_to_lower(ret_dname);
}

static void compare_owner(const struct dnsblv6_labels *name, const struct dnsblv6_labels *owner)
{
	knot_dname_t below[DNSBLV6_LABELS_MAX + 1];
	knot_dname_t above[DNSBLV6_LABELS_MAX + 1];

	make_dname(name, below);
	make_dname(owner, above);
	require(answer_is_below(name, owner) == (knot_dname_in_bailiwick(below, above) >= 0),
		"a name above here or there");
}

static void ask_libknot(const struct message_reply *reply, const struct message_question *question,
			const uint8_t *data, size_t size)
{
	static uint8_t copy[UINT16_MAX];

	memcpy(copy, data, size);
	knot_pkt_t *packet = knot_pkt_new(copy, (uint16_t)size, NULL);
	if (packet == NULL)
		abort();
	const int ret = knot_pkt_parse(packet, KNOT_PF_NOCANON);
	if (ret != KNOT_EOK)
		require(!has_only_ours(data, 12 + question->name.size + 5u), knot_strerror(ret));
	else if (reply->rcode == 0)
		compare(reply, question->type, packet);
	if (ret == KNOT_EOK)
		require(reply->rcode == knot_pkt_ext_rcode(packet), "another RCODE");
	knot_pkt_free(packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_question question = find_question(data, size);
	struct message_reply reply;
	const int ret = message_parse(&question, data, size, &reply);

	require(ret == 0 || ret == -ENOMSG || ret == -EBADMSG, "another status");
	if (ret == 0) {
		check_bounds(&reply);
		check_kind(&reply);
		if (reply.has_soa)
			compare_owner(&question.name, &reply.soa_owner);
		if (reply.kind != MESSAGE_TRUNCATED && size <= UINT16_MAX)
			ask_libknot(&reply, &question, data, size);
	}
	question.id = (uint16_t)~question.id;
	require(message_parse(&question, data, size, &reply) == -ENOMSG, "another id");
	return 0;
}
