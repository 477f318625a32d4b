/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/message.h"

#include <errno.h>
#include <string.h>

#include "lib/format/ascii.h"
#include "lib/format/bytes.h"
#include "lib/format/wellknown.h"

enum {
	HEADER_SIZE = 12,
	QUESTION_TAIL = 4, /* type and class */
	CLASS_IN = 1,
	TYPE_CNAME = 5,
	TYPE_OPT = 41,
	TYPE_TSIG = 250,
	OPTION_EDE = 15,
	RCODE_NXDOMAIN = 3,
	RCODE_REFUSED = 5,
	/* RFC 1035: 127 labels make a name, and a pointer leads to one at least. */
	HOPS_MAX = 127,
};

/* In the third and fourth octet of a header. */
enum { BIT_QR = 0x80, BITS_OPCODE = 0x78, BIT_TC = 0x02, BIT_RD = 0x01 };
enum { BIT_AD = 0x20, BITS_RCODE = 0x0f };

enum section { ANSWER, AUTHORITY, ADDITIONAL, SECTION_COUNT };

_Static_assert(HEADER_SIZE + DNSBLV6_LABELS_MAX + 1 + QUESTION_TAIL + 11 <= MESSAGE_QUERY_MAX,
	       "every query fits");
_Static_assert(sizeof(((struct message_reply *)0)->text_rdata) == DNSBLV6_METADATA_RDATA_MAX,
	       "all metadata fit");

/* ---- a query ---- */

/* Labels with the root label, type and class. */
static void put_question(uint8_t **out, const struct message_question *question)
{
	bytes_put_string(out, question->name.wire, question->name.size);
	bytes_put(out, 0, 1);
	bytes_put(out, question->type, 2);
	bytes_put(out, CLASS_IN, 2);
}

size_t message_make(const struct message_question *question, uint8_t *ret_query)
{
	static const uint8_t counts[] = { 0, 1, 0, 0, 0, 0, 0, 1 };
	uint8_t *out = ret_query;

	bytes_put(&out, question->id, 2);
	bytes_put(&out, BIT_RD, 1);
	bytes_put(&out, BIT_AD, 1);
	bytes_put_string(&out, counts, sizeof(counts));
	put_question(&out, question);
	/* OPT: the root, and then what RFC 6891 has for class and TTL */
	bytes_put(&out, 0, 1);
	bytes_put(&out, TYPE_OPT, 2);
	bytes_put(&out, MESSAGE_UDP_SIZE, 2);
	bytes_put(&out, question->wants_proof ? 0x8000 : 0, 4);
	bytes_put(&out, 0, 2);
	return (size_t)(out - ret_query);
}

void message_mix_case(struct dnsblv6_labels *name, const uint8_t *bits, size_t bits_size)
{
	size_t bit = 0;

	for (size_t at = 0; at < name->size; at += 1u + name->wire[at]) {
		for (size_t i = at + 1; i <= at + name->wire[at] && bit < 8 * bits_size; i++) {
			const uint8_t lower = name->wire[i] | 0x20;

			if (lower < 'a' || lower > 'z')
				continue;
			name->wire[i] = bits[bit / 8] >> (bit % 8) & 1 ? lower & 0xdf : lower;
			bit++;
		}
	}
}

/* ---- bytes of a reply ---- */

struct input {
	const uint8_t *bytes;
	size_t size;
};

/* One record. Its RDATA lies in the message, whole. */
struct record {
	struct dnsblv6_labels owner; /* lower case */
	uint16_t type, class;
	uint32_t ttl; /* as it came */
	size_t rdata_at, rdata_size;
};

static uint32_t get32(const uint8_t *in)
{
	return (uint32_t)bytes_get(in, 4);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* RFC 2181 section 8: a TTL whose uppermost bit is set counts as 0. */
static uint32_t clamp_ttl(uint32_t ttl)
{
	return ttl >> 31 != 0 ? 0 : min_u32(ttl, MESSAGE_TTL_MAX);
}

static bool add_label(struct dnsblv6_labels *name, const uint8_t *label)
{
	const size_t size = 1u + label[0];

	if (name->size + size > DNSBLV6_LABELS_MAX)
		return false;
	name->wire[name->size] = label[0];
	for (size_t i = 1; i < size; i++)
		name->wire[name->size + i] = ascii_lower(label[i]);
	name->size = (uint8_t)(name->size + size);
	return true;
}

/*
 * The name at *at, which moves behind it, in lower case. Pointers lead to before
 * the labels that they end, so that no name has a loop; none leads into the header, or
 * to the root label, which is shorter than a pointer (libknot refuses that in RDATA).
 */
static bool read_name(const struct input *in, size_t *at, struct dnsblv6_labels *ret_name)
{
	size_t from = *at, start = *at, end = 0;
	unsigned hops = 0;

	ret_name->size = 0;
	while (from < in->size && in->bytes[from] != 0) {
		const uint8_t *label = in->bytes + from;

		if (label[0] <= DNSBLV6_LABEL_MAX) {
			if (in->size - from <= label[0] || !add_label(ret_name, label))
				return false;
			from += 1u + label[0];
			continue;
		}
		if (label[0] < 0xc0 || in->size - from < 2 || ++hops > HOPS_MAX)
			return false;
		const size_t target = bytes_get16(label) & 0x3fff;

		if (target < HEADER_SIZE || target >= start || in->bytes[target] == 0)
			return false;
		if (end == 0)
			end = from + 2;
		from = start = target;
	}
	if (from >= in->size)
		return false;
	*at = end != 0 ? end : from + 1;
	return true;
}

static bool read_record(const struct input *in, size_t *at, struct record *ret_record)
{
	if (!read_name(in, at, &ret_record->owner) || in->size - *at < 10)
		return false;
	const uint8_t *fixed = in->bytes + *at;

	ret_record->type = (uint16_t)bytes_get16(fixed);
	ret_record->class = (uint16_t)bytes_get16(fixed + 2);
	ret_record->ttl = get32(fixed + 4);
	ret_record->rdata_size = bytes_get16(fixed + 8);
	ret_record->rdata_at = *at + 10;
	*at += 10 + ret_record->rdata_size;
	return *at <= in->size;
}

static bool is_same(const struct dnsblv6_labels *a, const struct dnsblv6_labels *b)
{
	return a->size == b->size && memcmp(a->wire, b->wire, a->size) == 0;
}

/* ---- RDATA ---- */

/* The name at *at of the RDATA, within it but for what it points to. */
static bool read_rdata_name(const struct input *in, const struct record *record, size_t *at,
			    struct dnsblv6_labels *ret_name)
{
	const struct input until = { in->bytes, record->rdata_at + record->rdata_size };

	return read_name(&until, at, ret_name);
}

static bool read_target(const struct input *in, const struct record *record,
			struct dnsblv6_labels *ret_target)
{
	size_t at = record->rdata_at;

	return read_rdata_name(in, record, &at, ret_target) &&
	       at == record->rdata_at + record->rdata_size;
}

/* The numbers of a SOA that are of use. */
struct soa {
	uint32_t serial;
	uint32_t minimum;
};

static bool read_soa(const struct input *in, const struct record *record, struct soa *ret_soa)
{
	struct dnsblv6_labels primary, mailbox;
	size_t at = record->rdata_at;

	if (!read_rdata_name(in, record, &at, &primary) ||
	    !read_rdata_name(in, record, &at, &mailbox) ||
	    record->rdata_at + record->rdata_size - at != 20)
		return false;
	*ret_soa = (struct soa){ get32(in->bytes + at), get32(in->bytes + at + 16) };
	return true;
}

/* RFC 4034 section 4.1.1: the next name is not compressed. */
static bool read_nsec(const struct input *in, const struct record *record,
		      struct dnsblv6_labels *ret_next)
{
	size_t at = record->rdata_at;

	return read_rdata_name(in, record, &at, ret_next) &&
	       at - record->rdata_at == ret_next->size + 1u;
}

/* One string at least, and the last ends where the RDATA does. */
static bool is_text(const struct input *in, const struct record *record)
{
	const uint8_t *rdata = in->bytes + record->rdata_at;
	size_t at = 0;

	while (at < record->rdata_size)
		at += 1u + rdata[at];
	return at > 0 && at == record->rdata_size;
}

static bool is_readable(const struct input *in, const struct record *record)
{
	struct dnsblv6_labels name;
	struct soa soa;

	switch (record->type) {
	case MESSAGE_A:
		return record->rdata_size == 4;
	case MESSAGE_AAAA:
		return record->rdata_size == 16;
	case MESSAGE_SOA:
		return read_soa(in, record, &soa);
	case MESSAGE_TXT:
		return is_text(in, record);
	case MESSAGE_NSEC:
		return read_nsec(in, record, &name);
	case TYPE_CNAME:
		return read_target(in, record, &name);
	case TYPE_TSIG: /* we sign nothing, so no reply is signed */
		return false;
	default:
		return true;
	}
}

/* ---- the sections ---- */

/* What is gathered while all records are passed once. */
struct walk {
	struct input in;
	size_t answer_at;
	unsigned answer_count;
	bool has_opt;
	struct message_reply *reply;
};

static void take_soa(struct walk *walk, const struct record *record)
{
	struct message_reply *reply = walk->reply;
	struct soa soa;

	if (reply->has_soa || !read_soa(&walk->in, record, &soa))
		return;
	reply->has_soa = true;
	reply->soa_owner = record->owner;
	reply->soa_serial = soa.serial;
	reply->ttl_s = min_u32(clamp_ttl(record->ttl), clamp_ttl(soa.minimum));
}

static void take_nsec(struct walk *walk, const struct record *record)
{
	struct message_reply *reply = walk->reply;
	struct message_nsec *nsec = &reply->nsecs[reply->nsec_count];

	if (reply->nsec_count == MESSAGE_NSEC_MAX || !read_nsec(&walk->in, record, &nsec->next))
		return;
	nsec->owner = record->owner;
	nsec->ttl_s = clamp_ttl(record->ttl);
	reply->nsec_count++;
}

/* One OPT, at the root, in the additional section; its options fill its RDATA. */
static bool take_opt(struct walk *walk, const struct record *record, enum section section)
{
	const uint8_t *rdata = walk->in.bytes + record->rdata_at;
	size_t left = record->rdata_size;

	if (walk->has_opt || section != ADDITIONAL || record->owner.size != 0)
		return false;
	walk->has_opt = true;
	walk->reply->rcode = (uint16_t)(record->ttl >> 24 << 4 | walk->reply->rcode);
	while (left > 0) {
		if (left < 4 || left - 4 < bytes_get16(rdata + 2))
			return false;
		const size_t size = bytes_get16(rdata + 2);

		if (bytes_get16(rdata) == OPTION_EDE && size >= 2 && walk->reply->ede < 0)
			walk->reply->ede = (int32_t)bytes_get16(rdata + 4);
		rdata += 4 + size;
		left -= 4 + size;
	}
	return true;
}

static bool take_record(struct walk *walk, const struct record *record, enum section section)
{
	if (record->type == TYPE_OPT)
		return take_opt(walk, record, section);
	if (!is_readable(&walk->in, record))
		return false;
	if (section != ADDITIONAL && record->type == MESSAGE_RRSIG && record->class == CLASS_IN)
		walk->reply->has_signature = true;
	if (section == AUTHORITY && record->class == CLASS_IN) {
		if (record->type == MESSAGE_SOA)
			take_soa(walk, record);
		if (record->type == MESSAGE_NSEC)
			take_nsec(walk, record);
	}
	return true;
}

/* Every record of every section, to the last byte. */
static bool walk_all(struct walk *walk)
{
	size_t at = walk->answer_at;

	for (unsigned section = ANSWER; section < SECTION_COUNT; section++) {
		const unsigned count = bytes_get16(walk->in.bytes + 6 + 2 * section);

		for (unsigned i = 0; i < count; i++) {
			struct record record;

			if (!read_record(&walk->in, &at, &record) ||
			    !take_record(walk, &record, (enum section)section))
				return false;
		}
	}
	return at == walk->in.size;
}

/* ---- the answer section ---- */

/* The CNAME at owner: 0 none, 1 with *ret_target and a TTL, -1 when there are two. */
static int find_cname(const struct walk *walk, const struct dnsblv6_labels *owner,
		      struct dnsblv6_labels *ret_target, uint32_t *ret_ttl_s)
{
	size_t at = walk->answer_at;
	int found = 0;

	for (unsigned i = 0; i < walk->answer_count; i++) {
		struct record record;

		if (!read_record(&walk->in, &at, &record))
			return -1;
		if (record.type != TYPE_CNAME || record.class != CLASS_IN ||
		    !is_same(&record.owner, owner))
			continue;
		if (found++ > 0 || !read_target(&walk->in, &record, ret_target))
			return -1;
		*ret_ttl_s = clamp_ttl(record.ttl);
	}
	return found;
}

/* *owner moves to the end of the chain; *ttl_s becomes the shortest on the way. */
static bool follow_chain(struct walk *walk, struct dnsblv6_labels *owner, uint32_t *ttl_s)
{
	for (unsigned i = 0; i <= MESSAGE_CNAMES_MAX; i++) {
		struct dnsblv6_labels target;
		uint32_t step_ttl_s;
		const int found = find_cname(walk, owner, &target, &step_ttl_s);

		if (found <= 0)
			return found == 0;
		walk->reply->has_cname = true;
		*owner = target;
		*ttl_s = min_u32(*ttl_s, step_ttl_s);
	}
	return false;
}

static void keep_text(struct message_reply *reply, const uint8_t *rdata, size_t size)
{
	if (reply->text_count++ > 0)
		return;
	if (size <= sizeof(reply->text_rdata)) {
		reply->text_total = (unsigned)size;
		memcpy(reply->text_rdata, rdata, size);
	}
	for (size_t at = 0; at < size; at += 1u + rdata[at]) {
		const size_t room = sizeof(reply->text) - reply->text_size;
		const size_t part = rdata[at] < room ? rdata[at] : room;

		memcpy(reply->text + reply->text_size, rdata + at + 1, part);
		reply->text_size += part;
	}
}

/*
 * Sorted. When there are more than room, the last place is that of the highest: an error code, which is
 * above all listings, must not be lost behind them.
 */
static void keep_address(struct message_reply *reply, const uint8_t *rdata)
{
	const size_t size = sizeof(reply->a[0]);
	const bool is_full = reply->a_count == MESSAGE_A_MAX;
	const unsigned room = is_full ? MESSAGE_A_MAX - 1 : MESSAGE_A_MAX;
	unsigned at = is_full ? room : reply->a_count++;

	if (is_full && memcmp(reply->a[room], rdata, size) < 0)
		memcpy(reply->a[room], rdata, size);
	for (; at > 0 && memcmp(reply->a[at - 1], rdata, size) > 0; at--) {
		if (at < room)
			memcpy(reply->a[at], reply->a[at - 1], size);
	}
	if (at < room)
		memcpy(reply->a[at], rdata, size);
}

static void keep_record(struct message_reply *reply, const struct record *record,
			const uint8_t *rdata)
{
	switch (record->type) {
	case MESSAGE_A:
		keep_address(reply, rdata);
		break;
	case MESSAGE_AAAA:
		if (reply->aaaa_count++ == 0)
			memcpy(reply->aaaa, rdata, 16);
		break;
	case MESSAGE_TXT:
		keep_text(reply, rdata, record->rdata_size);
		break;
	default:
		break;
	}
}

/* The records of owner of the type asked for. Returns how many. */
static unsigned keep_records(struct walk *walk, const struct dnsblv6_labels *owner, uint16_t type,
			     uint32_t *ttl_s)
{
	size_t at = walk->answer_at;
	unsigned count = 0;

	for (unsigned i = 0; i < walk->answer_count; i++) {
		struct record record;

		if (!read_record(&walk->in, &at, &record))
			break;
		if (record.type != type || record.class != CLASS_IN ||
		    !is_same(&record.owner, owner))
			continue;
		keep_record(walk->reply, &record, walk->in.bytes + record.rdata_at);
		*ttl_s = min_u32(*ttl_s, clamp_ttl(record.ttl));
		count++;
	}
	return count;
}

/* ---- a reply ---- */

/* A reply shows that its sender saw the question: all of it is there, byte for byte. */
static bool is_reply_to(const struct message_question *question, const struct input *in)
{
	uint8_t asked[DNSBLV6_LABELS_MAX + 1 + QUESTION_TAIL];
	uint8_t *out = asked;

	put_question(&out, question);
	const size_t size = (size_t)(out - asked);

	return in->size >= HEADER_SIZE + size && bytes_get16(in->bytes) == question->id &&
	       (in->bytes[2] & (BIT_QR | BITS_OPCODE)) == BIT_QR &&
	       bytes_get16(in->bytes + 4) == 1 && memcmp(in->bytes + HEADER_SIZE, asked, size) == 0;
}

static void set_negative_ttl(struct message_reply *reply, uint32_t chain_ttl_s)
{
	reply->ttl_s = reply->has_soa ? min_u32(reply->ttl_s, chain_ttl_s) : 0;
	for (unsigned i = 0; reply->has_soa && i < reply->nsec_count; i++)
		reply->nsecs[i].ttl_s = min_u32(reply->nsecs[i].ttl_s, reply->ttl_s);
}

/* The kind of a reply without an error, and what is in it. */
static bool judge(struct walk *walk, const struct message_question *question)
{
	struct message_reply *reply = walk->reply;
	struct dnsblv6_labels owner = { .size = 0 };
	uint32_t ttl_s = MESSAGE_TTL_MAX;
	size_t at = HEADER_SIZE;

	if (!read_name(&walk->in, &at, &owner) || !follow_chain(walk, &owner, &ttl_s))
		return false;
	const unsigned count = keep_records(walk, &owner, question->type, &ttl_s);

	if (reply->rcode == RCODE_NXDOMAIN) {
		reply->kind = MESSAGE_NXDOMAIN;
		set_negative_ttl(reply, ttl_s);
		return count == 0;
	}
	reply->kind = count > 0 ? MESSAGE_ANSWER : MESSAGE_NODATA;
	if (count > 0)
		reply->ttl_s = ttl_s;
	else
		set_negative_ttl(reply, ttl_s);
	return true;
}

int message_parse(const struct message_question *question, const uint8_t *bytes, size_t size,
		  struct message_reply *ret_reply)
{
	struct message_reply reply = { .kind = MESSAGE_TRUNCATED, .ede = -1 };
	struct walk walk = { .in = { bytes, size }, .reply = &reply };

	if (!is_reply_to(question, &walk.in))
		return -ENOMSG;
	reply.rcode = bytes[3] & BITS_RCODE;
	reply.is_secure = (bytes[3] & BIT_AD) != 0;
	if ((bytes[2] & BIT_TC) == 0) {
		walk.answer_at = HEADER_SIZE + question->name.size + 1u + QUESTION_TAIL;
		walk.answer_count = bytes_get16(bytes + 6);
		if (!walk_all(&walk))
			return -EBADMSG;
		reply.kind = reply.rcode == RCODE_REFUSED ? MESSAGE_REFUSED : MESSAGE_FAILURE;
		if ((reply.rcode == 0 || reply.rcode == RCODE_NXDOMAIN) && !judge(&walk, question))
			return -EBADMSG;
	}
	*ret_reply = reply;
	return 0;
}
