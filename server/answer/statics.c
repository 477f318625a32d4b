/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/statics.h"

#include <string.h>

#include "lib/store/tables.h"
#include "server/answer/proof.h"

/* Steps through the RRs. False behind the last one; and for what is damaged, which breaks reply. */
static bool next_rr(struct reply *reply, const struct zone_entry *entry, size_t *offset,
		    struct dnsblv6_rr *ret_rr)
{
	int ret = dnsblv6_record_next_rr(entry->record.data, entry->record.size, offset, ret_rr);
	reply->is_broken |= ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND;
	return ret == DNSBLV6_OK;
}

bool statics_is_of_signing(uint16_t type)
{
	switch (type) {
	case KNOT_RRTYPE_RRSIG:
	case KNOT_RRTYPE_NSEC:
	case KNOT_RRTYPE_DNSKEY:
	/* The zone above would take a DS from these, also of a zone that is not signed (RFC 8078). */
	case KNOT_RRTYPE_CDS:
	case KNOT_RRTYPE_CDNSKEY:
	case KNOT_RRTYPE_ZONEMD:
		return true;
	default:
		return false;
	}
}

bool statics_first(struct reply *reply, const struct zone_entry *entry, struct dnsblv6_rr *ret_rr)
{
	struct dnsblv6_rr rr;
	for (size_t offset = 0; next_rr(reply, entry, &offset, &rr);) {
		if (rr.type != KNOT_RRTYPE_RRSIG) {
			*ret_rr = rr;
			return true;
		}
	}
	return false;
}

/* All RRs of one type into the RRset begun. */
static void add_type(struct reply *reply, const struct zone_entry *entry, uint16_t type)
{
	struct dnsblv6_rr rr;
	for (size_t offset = 0; next_rr(reply, entry, &offset, &rr);) {
		if (rr.type != type)
			continue;
		reply->rrset.ttl = rr.ttl;
		reply_rrset_add(reply, rr.rdata, rr.rdata_size);
	}
}

bool statics_put(struct reply *reply, const struct zone_entry *entry)
{
	uint16_t type = reply->qtype;
	if (type == KNOT_RRTYPE_ANY) {
		struct dnsblv6_rr first;
		if (!statics_first(reply, entry, &first))
			return false;
		type = first.type;
	}
	reply_rrset_begin(reply, type, 0);
	add_type(reply, entry, type);
	if (reply->rrset.rrs.count == 0)
		return false;
	reply_rrset_put(reply);
	proof_sign(reply, entry, type);
	return true;
}

/* ---- additional addresses ---- */

static void put_addresses(struct reply *reply, const uint8_t *name, const struct zone_entry *entry)
{
	static const uint16_t types[] = { KNOT_RRTYPE_A, KNOT_RRTYPE_AAAA };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		reply_rrset_begin_at(reply, name, types[i], 0);
		reply->is_optional = true;
		add_type(reply, entry, types[i]);
		if (reply_rrset_put(reply))
			proof_sign(reply, entry, types[i]);
	}
}

/* The addresses of target, when it is a name of this zone. */
static void put_glue(struct reply *reply, const uint8_t *target)
{
	const struct settings_name *apex = reply->face->name;
	uint8_t name[KNOT_DNAME_MAXLEN];
	size_t size = knot_dname_size(target);
	if (size > sizeof(name))
		return;
	memcpy(name, target, size);
	knot_dname_to_lower(name);
	if (knot_dname_in_bailiwick(name, apex->wire) <= 0)
		return;

	struct dnsblv6_key key;
	struct zone_entry entry;
	size_t labels_size = size - apex->size;
	if (dnsblv6_key_from_labels(name, labels_size, &key) != DNSBLV6_OK)
		return;
	entry.key = (struct store_bytes){ key.bytes, key.size };
	if (reader_get(reply->zone->reader, STORE_RECORDS, key.bytes, key.size, &entry.record) !=
		    DNSBLV6_OK ||
	    dnsblv6_record_kind(entry.record.data, entry.record.size) != DNSBLV6_RECORD_RRSETS)
		return;
	const uint8_t *owner = reply_make_name(reply, name, labels_size);
	if (owner != NULL)
		put_addresses(reply, owner, &entry);
}

void statics_put_additional(struct reply *reply, const struct zone_entry *entry)
{
	struct dnsblv6_rr rr;
	reply_begin_section(reply, KNOT_ADDITIONAL);
	for (size_t offset = 0; next_rr(reply, entry, &offset, &rr);) {
		const uint8_t *end = rr.rdata + rr.rdata_size;
		if (rr.type == KNOT_RRTYPE_NS && rr.rdata_size > 0 &&
		    knot_dname_wire_check(rr.rdata, end, NULL) > 0)
			put_glue(reply, rr.rdata);
	}
}
