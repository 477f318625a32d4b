/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/records.h"

static bool put_bitmap(struct reply *reply, const struct store_bytes *record)
{
	struct dnsblv6_bitmap map;
	if (dnsblv6_record_decode_bitmap(record->data, record->size, &map) != DNSBLV6_OK) {
		reply->is_broken = true;
		return false;
	}
	if (!reply_wants(reply, KNOT_RRTYPE_AAAA))
		return false;
	reply_rrset_begin(reply, KNOT_RRTYPE_AAAA, reply->zone->facts.ttl);
	reply_rrset_add(reply, map.bytes, sizeof(map.bytes));
	reply_rrset_put(reply);
	return true;
}

/* True when there is data of the type asked for. */
static bool put_record(struct reply *reply, const struct store_bytes *record)
{
	switch (dnsblv6_record_kind(record->data, record->size)) {
	case DNSBLV6_RECORD_BITMAP:
		return put_bitmap(reply, record);
	case DNSBLV6_RECORD_RRSETS:
		return reply_put_static(reply, record->data, record->size);
	default:
		reply->is_broken = true;
		return false;
	}
}

enum reply_result records_answer(struct reply *reply)
{
	struct dnsblv6_key key;
	struct store_bytes record;
	int ret = dnsblv6_key_from_labels(reply->labels, reply->labels_size, &key);
	if (ret == DNSBLV6_OK)
		ret = zone_find(reply->zone, &key, &record);
	if (ret == DNSBLV6_OK && put_record(reply, &record))
		return REPLY_NOERROR;
	if (ret != DNSBLV6_OK && ret != ZONE_EMPTY && ret != DNSBLV6_ENOTFOUND)
		return REPLY_SERVFAIL;
	reply_put_negative_soa(reply);
	return ret == DNSBLV6_ENOTFOUND ? REPLY_NXDOMAIN : REPLY_NODATA;
}
