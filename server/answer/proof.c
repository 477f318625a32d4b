/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/proof.h"

/* What is not so is damage of the store. Returns is_so. */
static bool check(struct reply *reply, bool is_so)
{
	reply->is_broken |= !is_so;
	return is_so;
}

/* ---- signatures ---- */

static void add_bitmap_rrsig(struct reply *reply, const struct zone_entry *entry, uint16_t type)
{
	const struct zone *zone = reply->zone;
	struct dnsblv6_signatures signatures;
	struct dnsblv6_labels owner;
	if (!check(reply, dnsblv6_record_decode_signatures(entry->record.data, entry->record.size,
							   &signatures) == DNSBLV6_OK) ||
	    !check(reply,
		   dnsblv6_key_to_labels(entry->key.data, entry->key.size, &owner) == DNSBLV6_OK))
		return;
	bool is_nsec = type == KNOT_RRTYPE_NSEC;
	struct dnsblv6_rrsig rrsig = {
		.type_covered = type,
		.algorithm = zone->signing.algorithm,
		.labels = dnsblv6_rrsig_labels(&zone->facts.zone, &owner),
		.ttl = is_nsec ? zone->negative_ttl : zone->facts.ttl,
		.signature = is_nsec ? signatures.nsec : signatures.aaaa,
	};
	uint8_t rdata[DNSBLV6_RRSIG_MAX];
	size_t size = dnsblv6_rrsig_encode(&rrsig, &zone->facts.zone, rdata);
	reply_rrset_add(reply, rdata, size);
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
		add_bitmap_rrsig(reply, entry, type);
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
