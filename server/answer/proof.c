/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/proof.h"

#include "server/zone/neighbours.h"

/* What is not so is damage of the store. Returns is_so. */
static bool check(struct reply *reply, bool is_so)
{
	reply->is_broken |= !is_so;
	return is_so;
}

/* ---- signatures ---- */

static void add_bitmap_rrsig(struct reply *reply, const struct dnsblv6_labels *owner,
			     uint8_t algorithm, const struct dnsblv6_signatures *signatures,
			     uint16_t type)
{
	const struct zone *zone = reply->zone;
	bool is_nsec = type == KNOT_RRTYPE_NSEC;
	struct dnsblv6_rrsig rrsig = {
		.type_covered = type,
		.algorithm = algorithm,
		.labels = dnsblv6_rrsig_labels(&zone->facts.zone, owner),
		.ttl = is_nsec ? zone->negative_ttl : zone->facts.ttl,
		.signature = is_nsec ? signatures->nsec : signatures->aaaa,
	};
	uint8_t rdata[DNSBLV6_RRSIG_MAX];
	size_t size = dnsblv6_rrsig_encode(&rrsig, &zone->facts.zone, rdata);
	reply_rrset_add(reply, rdata, size);
}

static void add_bitmap_rrsigs(struct reply *reply, const struct zone_entry *entry, uint16_t type)
{
	const struct dnsblv6_signing *signing = &reply->zone->signing;
	const struct store_bytes *record = &entry->record;
	struct dnsblv6_signatures signatures;
	struct dnsblv6_labels owner;
	if (!check(reply, dnsblv6_record_decode_signatures(record->data, record->size,
							   &signatures) == DNSBLV6_OK) ||
	    !check(reply,
		   dnsblv6_key_to_labels(entry->key.data, entry->key.size, &owner) == DNSBLV6_OK))
		return;
	add_bitmap_rrsig(reply, &owner, signing->algorithm, &signatures, type);
	if (signing->other_algorithm != 0 &&
	    check(reply, dnsblv6_record_decode_other_signatures(record->data, record->size,
								&signatures) == DNSBLV6_OK))
		add_bitmap_rrsig(reply, &owner, signing->other_algorithm, &signatures, type);
}

static void add_static_rrsigs(struct reply *reply, const struct store_bytes *record, uint16_t type)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(record->data, record->size, &offset, &rr)) ==
	       DNSBLV6_OK) {
		if (zone_rr_is_rrsig_of(&rr, type))
			reply_rrset_add(reply, rr.rdata, rr.rdata_size);
	}
	check(reply, ret == DNSBLV6_ENOTFOUND && reply->rrset.rrs.count > 0);
}

/* Into the RRset begun. */
static void add_rrsigs(struct reply *reply, const struct zone_entry *entry, uint16_t type)
{
	int kind = dnsblv6_record_kind(entry->record.data, entry->record.size);
	if (kind == DNSBLV6_RECORD_BITMAP)
		add_bitmap_rrsigs(reply, entry, type);
	else
		add_static_rrsigs(reply, &entry->record, type);
}

void proof_sign(struct reply *reply, const struct zone_entry *entry, uint16_t type)
{
	if (!reply->has_dnssec)
		return;
	reply_rrset_begin_rrsig(reply);
	add_rrsigs(reply, entry, type);
	reply_rrset_put(reply);
}

void proof_answer_rrsig(struct reply *reply, const struct zone_entry *entry, uint16_t type,
			uint32_t ttl)
{
	reply_rrset_begin(reply, KNOT_RRTYPE_RRSIG, ttl);
	add_rrsigs(reply, entry, type);
	reply_rrset_put(reply);
}

/* ---- NSEC ---- */

/* Completes the RRset begun. */
static void put_nsec(struct reply *reply, const struct zone_link *link)
{
	const struct zone *zone = reply->zone;
	const struct store_bytes *record = &link->entry.record;
	struct dnsblv6_labels next;
	struct dnsblv6_types types;
	if (!check(reply, dnsblv6_types_of_record(record->data, record->size, true, &types) ==
				  DNSBLV6_OK) ||
	    !check(reply,
		   dnsblv6_key_to_labels(link->next.data, link->next.size, &next) == DNSBLV6_OK) ||
	    !check(reply, next.size + zone->apex_size <= KNOT_DNAME_MAXLEN))
		return;
	uint8_t rdata[DNSBLV6_NSEC_MAX];
	size_t size = dnsblv6_nsec_encode(&zone->facts.zone, &next, &types, rdata);
	reply_rrset_add(reply, rdata, size);
	reply_rrset_put(reply);
	proof_sign(reply, &link->entry, KNOT_RRTYPE_NSEC);
}

static bool find_link(struct reply *reply, const uint8_t *key, size_t size,
		      struct zone_link *ret_link)
{
	return check(reply, zone_find_link(reply->zone, key, size, ret_link) == DNSBLV6_OK);
}

void proof_answer_nsec(struct reply *reply, const struct zone_entry *entry)
{
	struct zone_link link;
	if (!find_link(reply, entry->key.data, entry->key.size, &link))
		return;
	reply_rrset_begin(reply, KNOT_RRTYPE_NSEC, reply->zone->negative_ttl);
	put_nsec(reply, &link);
}

/* The NSEC of link under its own name. */
static void put_link(struct reply *reply, const struct zone_link *link)
{
	const struct store_bytes *key = &link->entry.key;
	struct dnsblv6_labels labels;
	if (!check(reply, dnsblv6_key_to_labels(key->data, key->size, &labels) == DNSBLV6_OK))
		return;
	const uint8_t *owner = reply_make_name(reply, labels.wire, labels.size);
	if (owner == NULL)
		return;
	reply_rrset_begin_at(reply, owner, KNOT_RRTYPE_NSEC, reply->zone->negative_ttl);
	put_nsec(reply, link);
}

void proof_put(struct reply *reply, const struct dnsblv6_key *key, const struct zone_match *match,
	       bool is_answered)
{
	struct zone_link name;
	struct zone_link wildcard;
	if (!reply->has_dnssec || (match->is_name && is_answered) ||
	    !find_link(reply, key->bytes, key->size, &name))
		return;
	reply_begin_section(reply, KNOT_AUTHORITY);
	put_link(reply, &name);
	if (match->is_name || is_answered)
		return;
	if (find_link(reply, match->wildcard.bytes, match->wildcard.size, &wildcard) &&
	    /* Of one version of a store: equal keys lie at one place. */
	    wildcard.entry.key.data != name.entry.key.data)
		put_link(reply, &wildcard);
}

/* ---- neighbours ---- */

enum {
	POINTER_SIZE = 2,
	RR_HEAD_SIZE = POINTER_SIZE + 10, /* type, class, TTL, size of RDATA */
	SOA_NUMBERS_SIZE = 20,
	RRSIG_HEAD_SIZE = 18,
};

/* ---- bytes that quick.c takes, which points to names of the question alone ---- */

static size_t soa_size(const struct zone *zone)
{
	size_t size = RR_HEAD_SIZE + SOA_NUMBERS_SIZE;
	for (size_t i = 0; i < ZONE_SOA_NAMES; i++) {
		const struct zone_soa_name *name = &zone->soa_names[i];
		size += name->size + (name->is_below ? (size_t)POINTER_SIZE : 0);
	}
	return size + RR_HEAD_SIZE + zone->soa_rrsig_size;
}

static size_t rrsigs_size(const struct zone *zone, const struct store_bytes *record)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	size_t size = 0;
	if (dnsblv6_record_kind(record->data, record->size) == DNSBLV6_RECORD_BITMAP)
		return RR_HEAD_SIZE + RRSIG_HEAD_SIZE + zone->apex_size + DNSBLV6_SIGNATURE_BYTES;
	while (dnsblv6_record_next_rr(record->data, record->size, &offset, &rr) == DNSBLV6_OK) {
		if (zone_rr_is_rrsig_of(&rr, KNOT_RRTYPE_NSEC))
			size += RR_HEAD_SIZE + rr.rdata_size;
	}
	return size;
}

/* Labels of the owner that the name of the question does not end in. */
static size_t own_size(const struct store_bytes *owner, const struct dnsblv6_key *asked)
{
	struct dnsblv6_labels name;
	unsigned own =
		dnsblv6_key_label_count(owner->data, owner->size) -
		dnsblv6_key_common_labels(asked->bytes, asked->size, owner->data, owner->size);
	size_t size = 0;
	if (dnsblv6_key_to_labels(owner->data, owner->size, &name) != DNSBLV6_OK)
		return 0;
	for (; own > 0; own--)
		size += 1U + name.wire[size];
	return size;
}

/* The NSEC of link and its signatures; of a link that put_link() has put. */
static size_t link_size(const struct zone *zone, const struct zone_link *link,
			const struct dnsblv6_key *asked)
{
	const struct store_bytes *record = &link->entry.record;
	struct dnsblv6_labels next;
	struct dnsblv6_types types;
	uint8_t rdata[DNSBLV6_NSEC_MAX];
	if (dnsblv6_types_of_record(record->data, record->size, true, &types) != DNSBLV6_OK ||
	    dnsblv6_key_to_labels(link->next.data, link->next.size, &next) != DNSBLV6_OK)
		return 0;
	return own_size(&link->entry.key, asked) + RR_HEAD_SIZE +
	       dnsblv6_nsec_encode(&zone->facts.zone, &next, &types, rdata) +
	       rrsigs_size(zone, record);
}

/* The response so far, with its OPT. */
static size_t quick_size(const struct reply *reply, const struct dnsblv6_key *key,
			 const struct zone_link *name, const struct zone_link *wildcard)
{
	size_t size = KNOT_WIRE_HEADER_SIZE;
	size += knot_pkt_question_size(reply->query);
	size += reply->response->reserved;
	size += soa_size(reply->zone) + link_size(reply->zone, name, key);
	if (wildcard->entry.key.data != name->entry.key.data)
		size += link_size(reply->zone, wildcard, key);
	return size;
}

void proof_put_neighbours(struct reply *reply, const struct dnsblv6_key *key,
			  const struct zone_match *match)
{
	struct zone_link name;
	struct zone_link wildcard;
	struct neighbours found;
	size_t max = reply->response->max_size;
	/* With two signatures of each there is no room for more. */
	if (reply->grant.side_max == 0 || !reply->has_dnssec || reply->is_full ||
	    reply->is_broken || reply->zone->signing.other_algorithm != 0 ||
	    !find_link(reply, key->bytes, key->size, &name) ||
	    !find_link(reply, match->wildcard.bytes, match->wildcard.size, &wildcard))
		return;
	if (max > NEIGHBOURS_RESPONSE_MAX)
		max = NEIGHBOURS_RESPONSE_MAX;
	size_t size = quick_size(reply, key, &name, &wildcard);
	if (size >= max)
		return;
	neighbours_find(reply->zone, key, &name, &reply->grant, max - size, &found);
	for (unsigned i = 0; i < found.given.count; i++)
		put_link(reply, &found.links[i]);
	reply->given = found.given;
}
