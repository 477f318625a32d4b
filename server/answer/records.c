/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/records.h"

#include "server/answer/proof.h"
#include "server/answer/statics.h"

static bool is_bitmap(const struct zone_entry *entry)
{
	return dnsblv6_record_kind(entry->record.data, entry->record.size) == DNSBLV6_RECORD_BITMAP;
}

static bool put_bitmap(struct reply *reply, const struct zone_entry *entry)
{
	struct dnsblv6_bitmap map;
	if (dnsblv6_record_decode_bitmap(entry->record.data, entry->record.size, &map) !=
	    DNSBLV6_OK) {
		reply->is_broken = true;
		return false;
	}
	if (!reply_wants(reply, KNOT_RRTYPE_AAAA))
		return false;
	reply_rrset_begin(reply, KNOT_RRTYPE_AAAA, reply->zone->facts.ttl);
	reply_rrset_add(reply, map.bytes, sizeof(map.bytes));
	reply_rrset_put(reply);
	proof_sign(reply, entry, KNOT_RRTYPE_AAAA);
	return true;
}

static bool put_data(struct reply *reply, const struct zone_entry *entry)
{
	switch (dnsblv6_record_kind(entry->record.data, entry->record.size)) {
	case DNSBLV6_RECORD_BITMAP:
		return put_bitmap(reply, entry);
	case DNSBLV6_RECORD_RRSETS:
		return statics_put(reply, entry);
	default:
		reply->is_broken = true;
		return false;
	}
}

/* As few as there may be, RFC 8482: those of one RRset. */
static bool put_rrsig(struct reply *reply, const struct zone_entry *entry)
{
	struct dnsblv6_rr first = { .type = KNOT_RRTYPE_AAAA, .ttl = reply->zone->facts.ttl };
	if (!is_bitmap(entry) && !statics_first(reply, entry, &first))
		return false;
	proof_answer_rrsig(reply, entry, first.type, first.ttl);
	return true;
}

/* True when there is data of the type asked for. */
static bool put_entry(struct reply *reply, const struct zone_entry *entry)
{
	if (!reply->face->is_own && statics_is_of_signing(reply->qtype))
		return false;
	switch (reply->qtype) {
	case KNOT_RRTYPE_RRSIG:
		return reply->zone->is_signed && put_rrsig(reply, entry);
	case KNOT_RRTYPE_NSEC:
		if (reply->zone->is_signed)
			proof_answer_nsec(reply, entry);
		return reply->zone->is_signed;
	default:
		return put_data(reply, entry);
	}
}

enum reply_result records_answer(struct reply *reply)
{
	struct dnsblv6_key key;
	struct zone_match match;
	int ret = dnsblv6_key_from_labels(reply->labels, reply->labels_size, &key);
	if (ret == DNSBLV6_OK)
		ret = zone_find(reply->zone, &key, &match);
	if (ret != DNSBLV6_OK && ret != ZONE_EMPTY && ret != DNSBLV6_ENOTFOUND)
		return REPLY_SERVFAIL;

	bool is_answered = ret == DNSBLV6_OK && put_entry(reply, &match.entry);
	if (!is_answered)
		reply_put_negative_soa(reply);
	proof_put(reply, &key, &match, is_answered);
	if (ret == DNSBLV6_ENOTFOUND)
		proof_put_neighbours(reply, &key, &match);
	if (is_answered && reply->qtype == KNOT_RRTYPE_NS)
		statics_put_additional(reply, &match.entry);
	if (is_answered)
		return REPLY_NOERROR;
	return ret == DNSBLV6_ENOTFOUND ? REPLY_NXDOMAIN : REPLY_NODATA;
}
