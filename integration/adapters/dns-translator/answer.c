/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/dns-translator/answer.h"

#include <string.h>

#include "lib/format/bytes.h"
#include "lib/format/name.h"

enum {
	HEADER_SIZE = 12,
	TYPE_A = 1,
	TYPE_NS = 2,
	TYPE_SOA = 6,
	TYPE_TXT = 16,
	TYPE_OPT = 41,
	TYPE_ANY = 255,
	CLASS_IN = 1,
	RCODE_NOERROR = 0,
	RCODE_SERVFAIL = 2,
	RCODE_NXDOMAIN = 3,
	RCODE_REFUSED = 5,
	/* RFC 8914 */
	OPTION_EDE = 15,
	EDE_NONE = 0,
	EDE_NOT_AUTHORITATIVE = 20,
	EDE_NO_AUTHORITY = 22, /* "No Reachable Authority" */
	/* Bits of the third and fourth octet of a header. */
	BIT_QR = 0x80,
	BITS_KEPT = 0x79, /* opcode and RD */
	BIT_AA = 0x04,
	BIT_TC = 0x02,
	DO_BIT = 0x80,
	OFFSET_COUNTS = 4,
	OFFSET_ANSWERS = 6,
	OFFSET_AUTHORITY = 8,
	OFFSET_ADDITIONAL = 10,
	POINTER = 0xc000,
	STRING_MAX = 255, /* octets of one character-string of a TXT record */
	OPT_SIZE = 11,
	EDE_SIZE = 6,
};

#define REASON_MAX 600 /* dnsblv6.h: always enough */

/* ---- bytes ---- */

struct writer {
	uint8_t *wire;
	size_t size;
	size_t max; /* less than the room by what an OPT takes */
	bool is_full;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
	if (size > writer->max - writer->size) {
		writer->is_full = true;
		return;
	}
	memcpy(writer->wire + writer->size, bytes, size);
	writer->size += size;
}

/* Everything of a record but its data, at a name that is in the question already. */
static void put_record(struct writer *writer, size_t owner, unsigned type, uint32_t ttl_s,
		       size_t data_size)
{
	uint8_t bytes[12];
	uint8_t *at = bytes;
	bytes_put16(&at, POINTER | (unsigned)owner);
	bytes_put16(&at, type);
	bytes_put16(&at, CLASS_IN);
	bytes_put32(&at, ttl_s);
	bytes_put16(&at, (unsigned)data_size);
	put(writer, bytes, sizeof(bytes));
}

/* One record more in the section that is counted at offset. */
static void count(const struct writer *writer, size_t offset)
{
	uint8_t *at = writer->wire + offset;
	if (!writer->is_full)
		bytes_put16(&at, bytes_get16(at) + 1);
}

/* ---- the frame of a response ---- */

static struct writer begin(const struct answer_question *question, uint8_t *wire, size_t wire_max)
{
	size_t max = question->payload < wire_max ? question->payload : wire_max;
	size_t opt_size = question->has_edns ? OPT_SIZE + EDE_SIZE : 0;
	struct writer writer = { .wire = wire, .max = max - opt_size };
	put(&writer, question->head, question->head_size);
	wire[2] = (uint8_t)(BIT_QR | (wire[2] & BITS_KEPT));
	wire[3] = 0;
	memset(wire + OFFSET_COUNTS, 0, HEADER_SIZE - OFFSET_COUNTS);
	wire[OFFSET_COUNTS + 1] = question->head_size > HEADER_SIZE;
	return writer;
}

static void put_opt(struct writer *writer, const struct answer_question *question, unsigned rcode,
		    unsigned ede)
{
	uint8_t bytes[OPT_SIZE + EDE_SIZE];
	uint8_t *at = bytes;
	bytes_put(&at, 0, 1); /* the root */
	bytes_put16(&at, TYPE_OPT);
	bytes_put16(&at, ANSWER_PAYLOAD);
	bytes_put(&at, rcode >> 4, 1);
	bytes_put(&at, 0, 1); /* version */
	bytes_put16(&at, question->has_do ? DO_BIT << 8 : 0);
	bytes_put16(&at, ede != EDE_NONE ? EDE_SIZE : 0);
	if (ede != EDE_NONE) {
		bytes_put16(&at, OPTION_EDE);
		bytes_put16(&at, 2);
		bytes_put16(&at, ede);
	}
	writer->max += OPT_SIZE + EDE_SIZE;
	put(writer, bytes, (size_t)(at - bytes));
	count(writer, OFFSET_ADDITIONAL);
}

static size_t end(struct writer *writer, const struct answer_question *question, unsigned rcode,
		  unsigned ede)
{
	/* Part of an answer is of no use: the question alone, and TC. */
	if (writer->is_full) {
		writer->is_full = false;
		writer->size = question->head_size;
		writer->wire[2] |= BIT_TC;
		memset(writer->wire + OFFSET_ANSWERS, 0, HEADER_SIZE - OFFSET_ANSWERS);
	}
	writer->wire[3] = (uint8_t)(rcode & 15);
	if (question->has_edns)
		put_opt(writer, question, rcode, ede);
	return writer->size;
}

/* Nothing but an RCODE; what is not from a zone of ours has no AA. */
static size_t refuse(const struct answer_question *question, unsigned rcode, unsigned ede,
		     uint8_t *wire, size_t wire_max)
{
	struct writer writer = begin(question, wire, wire_max);
	return end(&writer, question, rcode, ede);
}

/* ---- SOA and NS ---- */

/* This zone has no secondaries: only its last number, for negative answers, is of use. */
static void put_soa(struct writer *writer, const struct translate_setup *setup,
		    const struct answer_question *question, uint32_t ttl_s)
{
	static const uint8_t no_mailbox[] = "\6nobody\7invalid";
	const uint32_t numbers[] = { 1, 3600, 600, 86400, setup->ttl_max_s };
	const struct setup_name *server = &setup->name_server;
	uint8_t bytes[sizeof(numbers)];
	uint8_t *at = bytes;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		bytes_put32(&at, numbers[i]);
	put_record(writer, question->apex, TYPE_SOA, ttl_s,
		   server->size + sizeof(no_mailbox) + sizeof(bytes));
	put(writer, server->wire, server->size);
	put(writer, no_mailbox, sizeof(no_mailbox));
	put(writer, bytes, sizeof(bytes));
}

static size_t end_negative(const struct translate_setup *setup,
			   const struct answer_question *question, unsigned rcode, uint32_t ttl_s,
			   uint8_t *wire, size_t wire_max)
{
	struct writer writer = begin(question, wire, wire_max);
	wire[2] |= BIT_AA;
	put_soa(&writer, setup, question, ttl_s);
	count(&writer, OFFSET_AUTHORITY);
	return end(&writer, question, rcode, EDE_NONE);
}

static size_t answer_apex(const struct translate_setup *setup,
			  const struct answer_question *question, uint8_t *wire, size_t wire_max)
{
	const struct setup_name *server = &setup->name_server;
	uint16_t qtype = question->qtype;
	if (qtype != TYPE_SOA && qtype != TYPE_NS && qtype != TYPE_ANY)
		return end_negative(setup, question, RCODE_NOERROR, setup->ttl_max_s, wire,
				    wire_max);
	struct writer writer = begin(question, wire, wire_max);
	wire[2] |= BIT_AA;
	if (qtype == TYPE_NS) {
		put_record(&writer, question->apex, TYPE_NS, setup->ttl_max_s, server->size);
		put(&writer, server->wire, server->size);
	} else {
		put_soa(&writer, setup, question, setup->ttl_max_s);
	}
	count(&writer, OFFSET_ANSWERS);
	return end(&writer, question, RCODE_NOERROR, EDE_NONE);
}

/* ---- questions ---- */

/* The zone with the longest name that the question ends in. */
static const struct setup_zone *find_zone(const struct translate_setup *setup,
					  const struct question_common *common,
					  size_t *ret_labels_size)
{
	const struct setup_zone *found = NULL;
	for (unsigned i = 0; i < setup->zone_count; i++) {
		const struct setup_name *name = &setup->zones[i].name;
		if (name->label_count > common->label_count ||
		    (found != NULL && name->size <= found->name.size))
			continue;
		size_t offset = common->offsets[common->label_count - name->label_count];
		if (common->name_size - offset != name->size ||
		    memcmp(common->name + offset, name->wire, name->size) != 0)
			continue;
		found = &setup->zones[i];
		*ret_labels_size = offset;
	}
	return found;
}

enum named { NAMED_ADDRESS, NAMED_BLOCK, NAMED_NOTHING };

/*
 * What labels stand for. Four of one digit are an IPv4 address, and something that IPv6
 * addresses may be below.
 */
static enum named read_labels(const uint8_t *labels, size_t size, struct answer_question *question)
{
	struct dnsblv6_prefix four;
	struct dnsblv6_prefix six;
	bool is_four = dnsblv6_name_parse_classic4(labels, size, &four) == 0;
	bool is_six = (!is_four || size <= 8) && /* of one digit: two octets each */
		      dnsblv6_name_parse_classic6(labels, size, &six) == 0;
	question->has_below = is_six && six.prefix_len < 128;
	if (is_four && four.prefix_len == 128)
		dnsblv6_addr_to_bytes(four.first, question->ip.bytes);
	else if (is_six && six.prefix_len == 128)
		dnsblv6_addr_to_bytes(six.first, question->ip.bytes);
	else
		return is_four || is_six ? NAMED_BLOCK : NAMED_NOTHING;
	return NAMED_ADDRESS;
}

static void make_question(const struct question_common *common, const uint8_t *wire, bool is_tcp,
			  struct answer_question *ret_question)
{
	uint16_t payload = common->payload > ANSWER_PAYLOAD ? ANSWER_PAYLOAD : common->payload;
	if (!common->has_edns || payload < ANSWER_MIN)
		payload = ANSWER_MIN;
	*ret_question = (struct answer_question){
		.head = wire,
		.head_size =
			(uint16_t)(common->name_size == 0 ? HEADER_SIZE : question_end(common)),
		.qtype = common->qtype,
		.payload = is_tcp ? UINT16_MAX : payload,
		.has_edns = common->has_edns,
		.has_do = common->has_edns && common->has_do,
	};
}

/* A question about a zone of ours, with labels before the zone's name. */
static enum answer_kind begin_labels(const struct translate_setup *setup,
				     struct answer_question *question, const uint8_t *labels,
				     size_t labels_size, uint8_t *wire, size_t wire_max,
				     size_t *ret_size, enum answer_outcome *ret_outcome)
{
	enum named named = read_labels(labels, labels_size, question);
	if (named == NAMED_ADDRESS)
		return ANSWER_ASK;
	unsigned rcode = named == NAMED_BLOCK ? RCODE_NOERROR : RCODE_NXDOMAIN;
	*ret_outcome = named == NAMED_BLOCK ? ANSWER_NODATA : ANSWER_NXDOMAIN;
	*ret_size = end_negative(setup, question, rcode, setup->ttl_max_s, wire, wire_max);
	return ANSWER_READY;
}

enum answer_kind answer_begin(const struct translate_setup *setup, const uint8_t *wire, size_t size,
			      bool is_tcp, struct answer_question *ret_question, uint8_t *ret_wire,
			      size_t wire_max, size_t *ret_size, enum answer_outcome *ret_outcome)
{
	struct question_common common;
	enum question_verdict verdict = QUESTION_GOOD;
	size_t labels_size = 0;
	if (!question_parse(wire, size, &common))
		verdict = question_read(wire, size, &common);
	if (verdict == QUESTION_SILENCE)
		return ANSWER_SILENCE;
	make_question(&common, wire, is_tcp, ret_question);
	if (verdict != QUESTION_GOOD) {
		*ret_outcome = verdict == QUESTION_REFUSED ? ANSWER_REFUSED : ANSWER_ERROR;
		*ret_size = refuse(ret_question, (unsigned)verdict, EDE_NONE, ret_wire, wire_max);
		return ANSWER_READY;
	}
	ret_question->zone = find_zone(setup, &common, &labels_size);
	if (ret_question->zone == NULL) {
		*ret_outcome = ANSWER_REFUSED;
		*ret_size = refuse(ret_question, RCODE_REFUSED, EDE_NOT_AUTHORITATIVE, ret_wire,
				   wire_max);
		return ANSWER_READY;
	}
	ret_question->apex = (uint16_t)(HEADER_SIZE + labels_size);
	if (labels_size > 0)
		return begin_labels(setup, ret_question, common.name, labels_size, ret_wire,
				    wire_max, ret_size, ret_outcome);
	*ret_outcome = ANSWER_APEX;
	*ret_size = answer_apex(setup, ret_question, ret_wire, wire_max);
	return ANSWER_READY;
}

/* ---- answers ---- */

bool answer_is_good(const struct answer_question *question, const struct dnsblv6_result *result)
{
	return (question->zone->entries & ~(result->zones_answered & ~result->zones_stale)) == 0;
}

static bool is_listed(const struct setup_listing *listing, const struct dnsblv6_result *result)
{
	return (result->zones_listed >> listing->entry & 1) != 0;
}

static void put_codes(struct writer *writer, const struct setup_zone *zone,
		      const struct dnsblv6_result *result, uint32_t ttl_s)
{
	for (unsigned i = 0; i < zone->listing_count; i++) {
		const struct setup_listing *listing = &zone->listings[i];
		bool is_new = is_listed(listing, result);
		for (unsigned j = 0; j < i && is_new; j++)
			is_new = !is_listed(&zone->listings[j], result) ||
				 memcmp(zone->listings[j].code, listing->code, 4) != 0;
		if (!is_new)
			continue;
		put_record(writer, HEADER_SIZE, TYPE_A, ttl_s, sizeof(listing->code));
		put(writer, listing->code, sizeof(listing->code));
		count(writer, OFFSET_ANSWERS);
	}
}

static void put_text(struct writer *writer, const char *text, size_t text_size, uint32_t ttl_s)
{
	size_t part_count = text_size == 0 ? 1 : (text_size + STRING_MAX - 1) / STRING_MAX;
	put_record(writer, HEADER_SIZE, TYPE_TXT, ttl_s, text_size + part_count);
	for (size_t i = 0; i < part_count; i++) {
		size_t left = text_size - i * STRING_MAX;
		uint8_t part_size = (uint8_t)(left < STRING_MAX ? left : STRING_MAX);
		put(writer, &part_size, 1);
		put(writer, text + i * STRING_MAX, part_size);
	}
	count(writer, OFFSET_ANSWERS);
}

/* The text of the zone, with the address for each dollar sign. */
static size_t expand(const char *text, const struct dnsblv6_ip *ip, char *ret_text)
{
	char address[DNSBLV6_IP_TEXT_SIZE];
	size_t address_size = dnsblv6_ip_format(ip, address);
	size_t size = 0;
	for (const char *at = text; *at != '\0'; at++) {
		const char *added = *at == '$' ? address : at;
		size_t added_size = *at == '$' ? address_size : 1;
		if (added_size > STRING_MAX - size)
			added_size = STRING_MAX - size;
		memcpy(ret_text + size, added, added_size);
		size += added_size;
	}
	return size;
}

/* A text of each list that has the address; a list may have several codes, but one text. */
static void put_reasons(struct writer *writer, struct dnsblv6 *client,
			const struct answer_question *question, const struct dnsblv6_result *result,
			uint32_t ttl_s)
{
	uint64_t listed = result->zones_listed & question->zone->entries;
	for (; listed != 0; listed &= listed - 1) {
		char text[REASON_MAX];
		struct dnsblv6_result one = *result;
		one.zones_listed = listed & -listed;
		int size = dnsblv6_reason(client, &question->ip, &one, 0, text, sizeof(text));
		if (size > 0)
			put_text(writer, text, (size_t)size, ttl_s);
	}
}

static size_t end_listed(const struct translate_setup *setup,
			 const struct answer_question *question,
			 const struct dnsblv6_result *result, uint32_t ttl_s, uint8_t *wire,
			 size_t wire_max)
{
	const struct setup_zone *zone = question->zone;
	struct writer writer = begin(question, wire, wire_max);
	wire[2] |= BIT_AA;
	if (question->qtype == TYPE_TXT && zone->text[0] != '\0') {
		char text[STRING_MAX];
		put_text(&writer, text, expand(zone->text, &question->ip, text), ttl_s);
	} else if (question->qtype == TYPE_TXT) {
		put_reasons(&writer, setup->handle.client, question, result, ttl_s);
	} else {
		put_codes(&writer, zone, result, ttl_s);
	}
	return end(&writer, question, RCODE_NOERROR, EDE_NONE);
}

/* 0 is of answers that bitmap zones settle by their format: they have no end. */
static uint32_t find_ttl(const struct translate_setup *setup, const struct dnsblv6_result *result,
			 bool has_failed)
{
	uint32_t most_s = has_failed && setup->ttl_max_s > ANSWER_PARTIAL_TTL_S
				  ? ANSWER_PARTIAL_TTL_S
				  : setup->ttl_max_s;

	return result->ttl_s == 0 || result->ttl_s > most_s ? most_s : result->ttl_s;
}

size_t answer_finish(const struct translate_setup *setup, const struct answer_question *question,
		     const struct dnsblv6_result *result, uint8_t *ret_wire, size_t wire_max,
		     enum answer_outcome *ret_outcome)
{
	const struct setup_zone *zone = question->zone;
	bool has_failed = (zone->entries & ~result->zones_answered) != 0;
	uint32_t ttl_s = find_ttl(setup, result, has_failed);
	if ((result->zones_listed & zone->entries) != 0) {
		*ret_outcome = ANSWER_LISTED;
		if (question->qtype == TYPE_A || question->qtype == TYPE_TXT ||
		    question->qtype == TYPE_ANY)
			return end_listed(setup, question, result, ttl_s, ret_wire, wire_max);
		return end_negative(setup, question, RCODE_NOERROR, ttl_s, ret_wire, wire_max);
	}
	*ret_outcome = has_failed ? ANSWER_FAILED : ANSWER_NXDOMAIN;
	if (has_failed && !zone->has_nxdomain)
		return refuse(question, RCODE_SERVFAIL, EDE_NO_AUTHORITY, ret_wire, wire_max);
	/* No resolver is to remember that a list was out of order. */
	return end_negative(setup, question, question->has_below ? RCODE_NOERROR : RCODE_NXDOMAIN,
			    has_failed ? 0 : ttl_s, ret_wire, wire_max);
}
