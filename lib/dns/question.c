/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/question.h"

#include "lib/format/ascii.h"
#include "lib/format/bytes.h"

#include <string.h>

enum {
	HEADER_SIZE = 12,
	TYPE_CLASS_SIZE = 4,
	LABEL_MAX = 63,
	RECORD_SIZE = 10, /* behind the owner: type, class, TTL, size of the data */
	OPT_SIZE = 11,	 /* root, type, payload, extended rcode, version, flags, size of its data */
	OPTION_SIZE = 4, /* code, size of its data */
	OPTION_COOKIE = 10,
	COOKIE_CLIENT_SIZE = 8, /* RFC 7873: without a server cookie, and with the shortest and */
	COOKIE_MIN = 16,	/* the longest of those */
	COOKIE_MAX = 40,
	CLASS_IN = 1,
	TYPE_OPT = 41,
	FIRST_META_TYPE = 128, /* RFC 6895 section 3.1 */
	TYPE_ANY = 255,
	QR_BIT = 0x80,
	OPCODE_BITS = 0x78,
	POINTER_BITS = 0xc0,
	DO_BIT = 0x80,
};

/* QR and opcode are clear; one question, no answers, at most one additional record. */
static bool has_common_header(const uint8_t *wire, size_t size)
{
	static const uint8_t counts[] = { 0, 1, 0, 0, 0, 0, 0 };
	return size >= HEADER_SIZE && (wire[2] & 0xf8) == 0 &&
	       memcmp(wire + 4, counts, sizeof(counts)) == 0 && wire[11] <= 1;
}

/* The name at wire, of at most size bytes. False for one that is cut, too long or compressed. */
static bool take_name(const uint8_t *wire, size_t size, struct question_common *question)
{
	size_t offset = 0;
	unsigned count = 0;
	if (size > QUESTION_NAME_MAX)
		size = QUESTION_NAME_MAX;
	for (;;) {
		if (offset >= size || wire[offset] > LABEL_MAX || count == QUESTION_LABELS_MAX)
			return false;
		size_t label_size = wire[offset];
		question->offsets[count++] = (uint8_t)offset;
		question->name[offset++] = (uint8_t)label_size;
		if (label_size == 0)
			break;
		if (label_size > size - offset)
			return false;
		for (size_t end = offset + label_size; offset < end; offset++)
			question->name[offset] = ascii_lower(wire[offset]);
	}
	question->name_size = (uint8_t)offset;
	question->label_count = (uint8_t)count;
	return true;
}

/* size bytes that must be a COOKIE, whole, and nothing else. */
static bool take_cookie(const uint8_t *wire, size_t size, struct question_common *question)
{
	size_t cookie_size = size - OPTION_SIZE;
	if (size < OPTION_SIZE + COOKIE_CLIENT_SIZE || size > OPTION_SIZE + COOKIE_MAX ||
	    (cookie_size != COOKIE_CLIENT_SIZE && cookie_size < COOKIE_MIN) ||
	    bytes_get16(wire) != OPTION_COOKIE || bytes_get16(wire + 2) != cookie_size)
		return false;
	question->cookie_size = (uint8_t)cookie_size;
	return true;
}

/* size bytes that must be an OPT, whole, and nothing else. */
static bool take_opt(const uint8_t *wire, size_t size, struct question_common *question)
{
	if (size < OPT_SIZE || wire[0] != 0 || bytes_get16(wire + 1) != TYPE_OPT || wire[6] != 0 ||
	    bytes_get16(wire + 9) != size - OPT_SIZE)
		return false;
	if (size != OPT_SIZE && !take_cookie(wire + OPT_SIZE, size - OPT_SIZE, question))
		return false;
	/* To libknot that payload is class IN, in which an empty RDATA is malformed. */
	if (bytes_get16(wire + 3) == CLASS_IN)
		return false;
	question->has_edns = true;
	question->payload = (uint16_t)bytes_get16(wire + 3);
	question->has_do = (wire[7] & DO_BIT) != 0;
	return true;
}

bool question_parse(const uint8_t *wire, size_t size, struct question_common *ret_question)
{
	if (!has_common_header(wire, size) ||
	    !take_name(wire + HEADER_SIZE, size - HEADER_SIZE, ret_question))
		return false;
	size_t end = question_end(ret_question);
	if (end > size || bytes_get16(wire + end - 2) != CLASS_IN)
		return false;
	ret_question->qtype = (uint16_t)bytes_get16(wire + end - TYPE_CLASS_SIZE);
	if (ret_question->qtype == TYPE_OPT || ret_question->qtype >= FIRST_META_TYPE)
		return false;
	ret_question->has_edns = false;
	ret_question->has_do = false;
	ret_question->payload = 0;
	ret_question->cookie_size = 0;
	return wire[11] == 0 ? end == size : take_opt(wire + end, size - end, ret_question);
}

size_t question_end(const struct question_common *question)
{
	return HEADER_SIZE + question->name_size + (size_t)TYPE_CLASS_SIZE;
}

/* ---- any query ---- */

struct reader {
	const uint8_t *wire;
	size_t size;
	size_t at;
	uint16_t qclass;
	uint8_t edns_version;
	struct question_common *question;
};

/* Steps over the owner of a record; a pointer in it is not followed. */
static bool skip_name(struct reader *reader)
{
	while (reader->at < reader->size) {
		uint8_t byte = reader->wire[reader->at++];
		if (byte == 0)
			return true;
		if (byte >= POINTER_BITS)
			return reader->at++ < reader->size;
		if (byte > LABEL_MAX || byte > reader->size - reader->at)
			return false;
		reader->at += byte;
	}
	return false;
}

static bool are_options(const uint8_t *wire, size_t size)
{
	while (size >= OPTION_SIZE) {
		size_t option_size = OPTION_SIZE + (size_t)bytes_get16(wire + 2);
		if (option_size > size)
			return false;
		wire += option_size;
		size -= option_size;
	}
	return size == 0;
}

/* The fields of an OPT behind its owner, and its data. */
static bool read_opt(struct reader *reader, const uint8_t *record, size_t data_size)
{
	struct question_common *question = reader->question;
	if (question->has_edns)
		return false;
	question->has_edns = true;
	question->payload = (uint16_t)bytes_get16(record + 2);
	question->has_do = (record[6] & DO_BIT) != 0;
	reader->edns_version = record[5];
	/* What other versions have there is not ours to judge. */
	return reader->edns_version != 0 || are_options(record + RECORD_SIZE, data_size);
}

static bool read_record(struct reader *reader, bool may_be_opt)
{
	bool is_root = reader->at < reader->size && reader->wire[reader->at] == 0;
	if (!skip_name(reader) || reader->size - reader->at < RECORD_SIZE)
		return false;
	const uint8_t *record = reader->wire + reader->at;
	size_t data_size = bytes_get16(record + RECORD_SIZE - 2);
	reader->at += RECORD_SIZE;
	if (data_size > reader->size - reader->at)
		return false;
	reader->at += data_size;
	if (bytes_get16(record) != TYPE_OPT)
		return true;
	return may_be_opt && is_root && read_opt(reader, record, data_size);
}

/* One question, then the records of the other sections, then nothing. */
static bool read_sections(struct reader *reader)
{
	struct question_common *question = reader->question;
	const uint8_t *wire = reader->wire;
	if (bytes_get16(wire + 4) != 1 ||
	    !take_name(wire + HEADER_SIZE, reader->size - HEADER_SIZE, question))
		return false;
	reader->at = question_end(question);
	if (reader->at > reader->size) {
		question->name_size = 0;
		return false;
	}
	question->qtype = (uint16_t)bytes_get16(wire + reader->at - TYPE_CLASS_SIZE);
	reader->qclass = (uint16_t)bytes_get16(wire + reader->at - 2);
	/* Each takes bytes, so the packet bounds them. */
	unsigned others = bytes_get16(wire + 6) + bytes_get16(wire + 8);
	unsigned count = others + bytes_get16(wire + 10);
	for (unsigned i = 0; i < count; i++) {
		if (!read_record(reader, i >= others))
			return false;
	}
	return reader->at == reader->size;
}

enum question_verdict question_read(const uint8_t *wire, size_t size,
				    struct question_common *ret_question)
{
	struct reader reader = { .wire = wire, .size = size, .question = ret_question };
	ret_question->name_size = 0;
	ret_question->label_count = 0;
	ret_question->qtype = 0;
	ret_question->payload = 0;
	ret_question->has_edns = false;
	ret_question->has_do = false;
	ret_question->cookie_size = 0;
	if (size < HEADER_SIZE || (wire[2] & QR_BIT) != 0)
		return QUESTION_SILENCE;
	bool is_well_formed = read_sections(&reader);
	if ((wire[2] & OPCODE_BITS) != 0)
		return QUESTION_NOTIMP;
	if (!is_well_formed)
		return QUESTION_FORMERR;
	if (reader.edns_version != 0)
		return QUESTION_BADVERS;
	if (reader.qclass != CLASS_IN)
		return QUESTION_REFUSED;
	uint16_t qtype = ret_question->qtype;
	bool is_meta = qtype == TYPE_OPT || (qtype >= FIRST_META_TYPE && qtype < TYPE_ANY);
	return is_meta ? QUESTION_NOTIMP : QUESTION_GOOD;
}
