/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/quick.h"

#include <string.h>

#include "lib/format/bytes.h"

enum {
	HEADER_SIZE = 12,
	POINTER_SIZE = 2,
	RR_SIZE = 10, /* type, class, TTL, size of RDATA */
	OPT_SIZE = 11,
	OPTION_SIZE = 4,   /* of the head of an option */
	NUMBERS_SIZE = 20, /* of an SOA */
	RRSIG_HEAD_SIZE = 18,
	POINTER = 0xc000,
	QR_AA = 0x84,
	RD = 0x01,
	DO_BIT = 0x80,
};

/* A response that grows. */
struct packet {
	const struct quick_query *query;
	const uint8_t *wire;
	uint8_t *at;
	const uint8_t *end;
	size_t tail_size; /* kept behind the end, for the OPT */
	const struct zone *zone;
	uint16_t apex; /* a pointer to it */
	unsigned answer_count;
	unsigned authority_count;
	struct neighbours_given given;
	bool has_dnssec;
};

static bool has_room(const struct packet *packet, size_t size)
{
	return size <= (size_t)(packet->end - packet->at);
}

/* ---- RRs: false when there is no room, or the store is damaged ---- */

/* An owner: labels, and behind them a pointer. */
struct owner {
	const uint8_t *labels;
	uint8_t size;
	uint16_t pointer;
};

static void put_rr(struct packet *packet, const struct owner *owner, uint16_t type, uint32_t ttl,
		   size_t rdata_size)
{
	if (owner->size > 0)
		bytes_put_string(&packet->at, owner->labels, owner->size);
	bytes_put16(&packet->at, owner->pointer);
	bytes_put16(&packet->at, type);
	bytes_put16(&packet->at, KNOT_CLASS_IN);
	bytes_put32(&packet->at, ttl);
	bytes_put16(&packet->at, (unsigned)rdata_size);
}

static bool put_whole_rr(struct packet *packet, const struct owner *owner, uint16_t type,
			 uint32_t ttl, const uint8_t *rdata, size_t rdata_size)
{
	if (!has_room(packet, owner->size + (size_t)POINTER_SIZE + RR_SIZE + rdata_size))
		return false;
	put_rr(packet, owner, type, ttl, rdata_size);
	bytes_put_string(&packet->at, rdata, rdata_size);
	return true;
}

/* The RRSIG of what a bitmap record has: its AAAA or its NSEC. labels as RFC 4034 counts them. */
static bool put_bitmap_rrsig(struct packet *packet, const struct owner *owner,
			     const struct store_bytes *record, uint16_t type, unsigned labels)
{
	const struct zone *zone = packet->zone;
	struct dnsblv6_signatures signatures;
	size_t size = RRSIG_HEAD_SIZE + zone->apex_size + DNSBLV6_SIGNATURE_BYTES;
	if (!has_room(packet, owner->size + (size_t)POINTER_SIZE + RR_SIZE + size) ||
	    dnsblv6_record_decode_signatures(record->data, record->size, &signatures) != DNSBLV6_OK)
		return false;
	bool is_nsec = type == KNOT_RRTYPE_NSEC;
	const struct dnsblv6_signature *signature = is_nsec ? &signatures.nsec : &signatures.aaaa;
	uint32_t ttl = is_nsec ? zone->negative_ttl : zone->facts.ttl;
	put_rr(packet, owner, KNOT_RRTYPE_RRSIG, ttl, size);
	bytes_put16(&packet->at, type);
	*packet->at++ = zone->signing.algorithm;
	*packet->at++ = (uint8_t)labels;
	bytes_put32(&packet->at, ttl);
	bytes_put32(&packet->at, signature->expiration);
	bytes_put32(&packet->at, signature->inception);
	bytes_put16(&packet->at, signature->key_tag);
	bytes_put_string(&packet->at, zone->apex, zone->apex_size);
	bytes_put_string(&packet->at, signature->bytes, DNSBLV6_SIGNATURE_BYTES);
	return true;
}

/* The RRSIGs of the NSEC at a name that is no bitmap. */
static bool put_static_rrsigs(struct packet *packet, const struct owner *owner,
			      const struct store_bytes *record)
{
	struct dnsblv6_rr rr;
	bool has_any = false;
	size_t offset = 0;
	while (dnsblv6_record_next_rr(record->data, record->size, &offset, &rr) == DNSBLV6_OK) {
		if (!zone_rr_is_rrsig_of(&rr, KNOT_RRTYPE_NSEC))
			continue;
		if (!put_whole_rr(packet, owner, KNOT_RRTYPE_RRSIG, packet->zone->negative_ttl,
				  rr.rdata, rr.rdata_size))
			return false;
		packet->authority_count++;
		has_any = true;
	}
	return has_any;
}

static bool is_bitmap(const struct store_bytes *record)
{
	return dnsblv6_record_kind(record->data, record->size) == DNSBLV6_RECORD_BITMAP;
}

/* ---- answers ---- */

/* labels: of the owner in the store, as RFC 4034 counts them. */
static bool put_bitmap(struct packet *packet, const struct store_bytes *record,
		       const struct dnsblv6_bitmap *map, unsigned labels)
{
	static const struct owner qname = { NULL, 0, POINTER | HEADER_SIZE };
	if (!put_whole_rr(packet, &qname, KNOT_RRTYPE_AAAA, packet->zone->facts.ttl, map->bytes,
			  sizeof(map->bytes)))
		return false;
	packet->answer_count = packet->has_dnssec ? 2 : 1;
	return !packet->has_dnssec ||
	       put_bitmap_rrsig(packet, &qname, record, KNOT_RRTYPE_AAAA, labels);
}

/* ---- what says no ---- */

static void put_soa_name(struct packet *packet, const struct zone_soa_name *name)
{
	bytes_put_string(&packet->at, name->labels, name->size);
	if (name->is_below)
		bytes_put16(&packet->at, packet->apex);
}

static bool put_soa(struct packet *packet)
{
	const struct zone *zone = packet->zone;
	const struct owner owner = { NULL, 0, packet->apex };
	if (!has_room(packet, POINTER_SIZE + RR_SIZE + zone->soa_size + (size_t)POINTER_SIZE))
		return false;
	put_rr(packet, &owner, KNOT_RRTYPE_SOA, zone->negative_ttl, 0);
	uint8_t *rdata = packet->at;
	for (size_t i = 0; i < ZONE_SOA_NAMES; i++)
		put_soa_name(packet, &zone->soa_names[i]);
	bytes_put_string(&packet->at, zone->soa + zone->soa_size - NUMBERS_SIZE, NUMBERS_SIZE);
	knot_wire_write_u16(rdata - 2, (uint16_t)(packet->at - rdata));
	packet->authority_count++;
	if (!packet->has_dnssec)
		return true;
	packet->authority_count++;
	return put_whole_rr(packet, &owner, KNOT_RRTYPE_RRSIG, zone->negative_ttl, zone->soa_rrsig,
			    zone->soa_rrsig_size);
}

/* name, the one of key, ends as the question does, whose key is asked: that end is pointed to. */
static struct owner compress(const struct packet *packet, const struct dnsblv6_labels *name,
			     const struct store_bytes *key, const struct dnsblv6_key *asked)
{
	const struct question_common *question = packet->query->question;
	unsigned shared =
		dnsblv6_key_common_labels(asked->bytes, asked->size, key->data, key->size);
	unsigned own = dnsblv6_key_label_count(key->data, key->size) - shared;
	unsigned first = question->label_count - 1U - packet->zone->apex_labels - shared;
	unsigned size = 0;
	for (; own > 0; own--)
		size += 1U + name->wire[size];
	return (struct owner){ name->wire, (uint8_t)size,
			       (uint16_t)(POINTER | (HEADER_SIZE + question->offsets[first])) };
}

/* The NSEC of link, with its signature, in answer to the question of that key. */
static bool put_nsec(struct packet *packet, const struct zone_link *link,
		     const struct dnsblv6_key *asked)
{
	const struct zone *zone = packet->zone;
	const struct store_bytes *record = &link->entry.record;
	struct dnsblv6_labels name;
	struct dnsblv6_labels next;
	struct dnsblv6_types types;
	if (dnsblv6_key_to_labels(link->entry.key.data, link->entry.key.size, &name) !=
		    DNSBLV6_OK ||
	    dnsblv6_key_to_labels(link->next.data, link->next.size, &next) != DNSBLV6_OK ||
	    dnsblv6_types_of_record(record->data, record->size, true, &types) != DNSBLV6_OK ||
	    next.size + zone->apex_size > KNOT_DNAME_MAXLEN)
		return false;
	struct owner owner = compress(packet, &name, &link->entry.key, asked);
	const struct owner again = { NULL, 0, (uint16_t)(POINTER | (packet->at - packet->wire)) };
	uint8_t rdata[DNSBLV6_NSEC_MAX];
	size_t size = dnsblv6_nsec_encode(&zone->facts.zone, &next, &types, rdata);
	if (!put_whole_rr(packet, &owner, KNOT_RRTYPE_NSEC, zone->negative_ttl, rdata, size))
		return false;
	if (owner.size > 0)
		owner = again;
	packet->authority_count++;
	if (!is_bitmap(record))
		return put_static_rrsigs(packet, &owner, record);
	packet->authority_count++;
	return put_bitmap_rrsig(packet, &owner, record, KNOT_RRTYPE_NSEC,
				dnsblv6_rrsig_labels(&zone->facts.zone, &name));
}

/* What zone_find_cover() knows of the link of key, or else what zone_find_link() finds. */
static bool find_link(struct zone *zone, const struct dnsblv6_key *key, bool is_known,
		      struct zone_link *link)
{
	return is_known || zone_find_link(zone, key->bytes, key->size, link) == DNSBLV6_OK;
}

/* As proof_put() does it; the rule is in proof.h. */
static bool put_proof(struct packet *packet, struct zone *zone, const struct dnsblv6_key *key,
		      const struct zone_match *match, struct zone_cover *cover)
{
	bool is_answered = packet->answer_count != 0;
	if (!packet->has_dnssec || (match->is_name && is_answered))
		return true;
	if (!find_link(zone, key, cover->has_name, &cover->name) ||
	    !put_nsec(packet, &cover->name, key))
		return false;
	if (match->is_name || is_answered)
		return true;
	if (!find_link(zone, &match->wildcard, cover->has_wildcard, &cover->wildcard))
		return false;
	return cover->wildcard.entry.key.data == cover->name.entry.key.data ||
	       put_nsec(packet, &cover->wildcard, key);
}

/* What there is room for, of the names beside the one that cover denies. False: damage. */
static bool put_neighbours(struct packet *packet, const struct zone_link *cover)
{
	const struct quick_query *query = packet->query;
	struct neighbours found;
	size_t size = (size_t)(packet->at - packet->wire);
	size_t end = (size_t)(packet->end - packet->wire);
	if (end > NEIGHBOURS_RESPONSE_MAX - packet->tail_size)
		end = NEIGHBOURS_RESPONSE_MAX - packet->tail_size;
	if (!packet->has_dnssec || query->grant.side_max == 0 || size >= end)
		return true;
	neighbours_find(query->zone, query->key, cover, &query->grant, end - size, &found);
	for (unsigned i = 0; i < found.given.count; i++) {
		if (!put_nsec(packet, &found.links[i], query->key))
			return false;
	}
	packet->given = found.given;
	return true;
}

/* ---- the packet ---- */

static size_t opt_size(const struct quick_query *query)
{
	if (!query->question->has_edns)
		return 0;
	return query->cookie == NULL ? OPT_SIZE : (size_t)OPT_SIZE + OPTION_SIZE + COOKIE_SIZE;
}

/* Room for the OPT is kept, so that it never is what does not fit. */
static bool begin(struct packet *packet, const struct quick_query *query, uint8_t *wire, size_t max)
{
	size_t head = question_end(query->question);
	size_t tail = opt_size(query);
	if (head + tail > max)
		return false;
	memcpy(wire, query->wire, head);
	packet->at = wire + head;
	packet->end = wire + max - tail;
	packet->tail_size = tail;
	return true;
}

static void put_opt(struct packet *packet, const struct quick_query *query)
{
	uint8_t opt[OPT_SIZE] = { 0, 0, KNOT_RRTYPE_OPT };
	opt[3] = (uint8_t)(query->payload >> 8);
	opt[4] = (uint8_t)query->payload;
	opt[7] = query->question->has_do ? DO_BIT : 0;
	if (query->cookie != NULL)
		opt[10] = OPTION_SIZE + COOKIE_SIZE;
	bytes_put_string(&packet->at, opt, sizeof(opt));
	if (query->cookie == NULL)
		return;
	bytes_put16(&packet->at, KNOT_EDNS_OPTION_COOKIE);
	bytes_put16(&packet->at, COOKIE_SIZE);
	bytes_put_string(&packet->at, query->cookie, COOKIE_SIZE);
}

/* The header, when everything else is known. Returns the size of the packet. */
static size_t finish(struct packet *packet, const struct quick_query *query, uint8_t *wire,
		     enum reply_result result)
{
	bool has_edns = query->question->has_edns;
	if (has_edns)
		put_opt(packet, query);
	wire[2] = QR_AA | (wire[2] & RD);
	wire[3] = result == REPLY_NXDOMAIN ? KNOT_RCODE_NXDOMAIN : KNOT_RCODE_NOERROR;
	knot_wire_set_ancount(wire, (uint16_t)packet->answer_count);
	knot_wire_set_nscount(wire, (uint16_t)packet->authority_count);
	knot_wire_set_arcount(wire, has_edns);
	return (size_t)(packet->at - wire);
}

/* RFC 4034 section 3.1.3 for what answers: of the name itself, or of the wildcard for it. */
static unsigned count_labels(const struct quick_query *query, const struct zone_match *match)
{
	const struct question_common *question = query->question;
	if (!match->is_name)
		return query->zone->apex_labels - 1U +
		       dnsblv6_key_label_count(match->wildcard.bytes, match->wildcard.size);
	bool is_wildcard = question->name[0] == 1 && question->name[1] == '*';
	return question->label_count - 1U - is_wildcard; /* the root is none */
}

/* What is at the name, or that nothing is. False when this is not for here. */
static bool put_sections(struct packet *packet, const struct quick_query *query,
			 enum reply_result *ret_result)
{
	struct zone_match match;
	struct zone_cover cover;
	int ret = packet->has_dnssec ? zone_find_cover(query->zone, query->key, &match, &cover)
				     : zone_find_entry(query->zone, query->key, &match.entry);
	if (ret != DNSBLV6_OK && ret != ZONE_EMPTY && ret != DNSBLV6_ENOTFOUND)
		return false;
	const struct store_bytes *record = &match.entry.record;
	struct dnsblv6_bitmap map;
	/* Also for a type that it has not: a damaged one is no reason to say that there is none. */
	if (ret == DNSBLV6_OK &&
	    dnsblv6_record_decode_bitmap(record->data, record->size, &map) != DNSBLV6_OK)
		return false;
	if (ret == DNSBLV6_OK && query->question->qtype == KNOT_RRTYPE_AAAA) {
		*ret_result = REPLY_NOERROR;
		unsigned labels = packet->has_dnssec ? count_labels(query, &match) : 0;
		if (!put_bitmap(packet, record, &map, labels))
			return false;
	} else {
		*ret_result = ret == DNSBLV6_ENOTFOUND ? REPLY_NXDOMAIN : REPLY_NODATA;
		if (!put_soa(packet))
			return false;
	}
	return put_proof(packet, query->zone, query->key, &match, &cover) &&
	       (ret != DNSBLV6_ENOTFOUND || put_neighbours(packet, &cover.name));
}

size_t quick_make(const struct quick_query *query, uint8_t *ret_wire, size_t wire_max,
		  struct quick_said *ret_said)
{
	uint16_t qtype = query->question->qtype;
	struct packet packet = {
		.query = query,
		.wire = ret_wire,
		.zone = query->zone,
		.apex = (uint16_t)(POINTER | (HEADER_SIZE + query->labels_size)),
		.has_dnssec = query->question->has_do && query->zone->is_signed,
	};
	/* Two signatures of everything, for some days of a change of keys, are not for here. */
	if (qtype == KNOT_RRTYPE_RRSIG || qtype == KNOT_RRTYPE_NSEC ||
	    (packet.has_dnssec && query->zone->signing.other_algorithm != 0) ||
	    !begin(&packet, query, ret_wire, wire_max) ||
	    !put_sections(&packet, query, &ret_said->result))
		return 0;
	ret_said->given = packet.given;
	return finish(&packet, query, ret_wire, ret_said->result);
}
