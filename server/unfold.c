/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/unfold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void unfold_init(struct unfold *unfold, const struct zone *zone)
{
	memset(unfold, 0, sizeof(*unfold));
	unfold->zone = zone;
}

void unfold_deinit(struct unfold *unfold)
{
	free(unfold->rrs);
	unfold->rrs = NULL;
	unfold->count = unfold->allocated = 0;
}

static int add(struct unfold *unfold, const struct dnsblv6_rr *rr)
{
	if (unfold->count == unfold->allocated) {
		size_t allocated = unfold->allocated * 2 + 16;
		struct dnsblv6_rr *rrs = reallocarray(unfold->rrs, allocated, sizeof(*rrs));
		if (rrs == NULL)
			return -ENOMEM;
		unfold->rrs = rrs;
		unfold->allocated = allocated;
	}
	unfold->rrs[unfold->count++] = *rr;
	return DNSBLV6_OK;
}

static int add_rdata(struct unfold *unfold, uint16_t type, uint32_t ttl, const uint8_t *rdata,
		     size_t size)
{
	struct dnsblv6_rr rr = {
		.type = type, .rdata_size = (uint16_t)size, .ttl = ttl, .rdata = rdata
	};
	return add(unfold, &rr);
}

static int add_rrs(struct unfold *unfold, struct store_bytes record)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(record.data, record.size, &offset, &rr)) ==
	       DNSBLV6_OK) {
		ret = add(unfold, &rr);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int add_rrsig(struct unfold *unfold, const struct dnsblv6_labels *name, uint16_t type,
		     uint32_t ttl, const struct dnsblv6_signature *signature, uint8_t *rdata)
{
	const struct zone *zone = unfold->zone;
	struct dnsblv6_rrsig rrsig = {
		.type_covered = type,
		.algorithm = zone->signing.algorithm,
		.labels = dnsblv6_rrsig_labels(&zone->facts.zone, name),
		.ttl = ttl,
		.signature = *signature,
	};
	size_t size = dnsblv6_rrsig_encode(&rrsig, &zone->facts.zone, rdata);
	return add_rdata(unfold, DNSBLV6_TYPE_RRSIG, ttl, rdata, size);
}

static int add_bitmap(struct unfold *unfold, const struct dnsblv6_labels *name,
		      struct store_bytes record)
{
	const struct zone *zone = unfold->zone;
	uint32_t ttl = zone->facts.ttl;
	struct dnsblv6_signatures signatures;
	int ret = dnsblv6_record_decode_bitmap(record.data, record.size, &unfold->bitmap);
	if (ret == DNSBLV6_OK)
		ret = add_rdata(unfold, DNSBLV6_TYPE_AAAA, ttl, unfold->bitmap.bytes,
				sizeof(unfold->bitmap.bytes));
	if (ret != DNSBLV6_OK || !zone->is_signed)
		return ret;
	if (dnsblv6_record_decode_signatures(record.data, record.size, &signatures) != DNSBLV6_OK)
		return DNSBLV6_ERECORD;
	ret = add_rrsig(unfold, name, DNSBLV6_TYPE_AAAA, ttl, &signatures.aaaa, unfold->rrsig);
	if (ret == DNSBLV6_OK)
		ret = add_rrsig(unfold, name, DNSBLV6_TYPE_NSEC, zone->negative_ttl,
				&signatures.nsec, unfold->nsec_rrsig);
	return ret;
}

static int add_nsec(struct unfold *unfold, struct store_bytes record, struct store_bytes next)
{
	const struct zone *zone = unfold->zone;
	struct dnsblv6_labels name;
	struct dnsblv6_types types;
	if (dnsblv6_key_to_labels(next.data, next.size, &name) != DNSBLV6_OK ||
	    dnsblv6_types_of_record(record.data, record.size, true, &types) != DNSBLV6_OK ||
	    name.size + zone->facts.zone.size > DNSBLV6_LABELS_MAX)
		return DNSBLV6_ERECORD;
	size_t size = dnsblv6_nsec_encode(&zone->facts.zone, &name, &types, unfold->nsec);
	return add_rdata(unfold, DNSBLV6_TYPE_NSEC, zone->negative_ttl, unfold->nsec, size);
}

int unfold_name(struct unfold *unfold, const struct dnsblv6_labels *name, struct store_bytes record,
		struct store_bytes next)
{
	unfold->count = 0;
	if (record.size == 0)
		return DNSBLV6_OK;
	int ret = DNSBLV6_ERECORD;
	int kind = dnsblv6_record_kind(record.data, record.size);
	if (kind == DNSBLV6_RECORD_BITMAP)
		ret = add_bitmap(unfold, name, record);
	else if (kind == DNSBLV6_RECORD_RRSETS)
		ret = add_rrs(unfold, record);
	return ret == DNSBLV6_OK && unfold->zone->is_signed ? add_nsec(unfold, record, next) : ret;
}
