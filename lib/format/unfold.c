/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/unfold.h"

#include <string.h>

int dnsblv6_unfold_begin(struct dnsblv6_unfold *ret_unfold, const struct dnsblv6_facts *facts,
			 const uint8_t *apex, size_t apex_size)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	memset(ret_unfold, 0, sizeof(*ret_unfold));
	ret_unfold->zone = &facts->zone;
	ret_unfold->ttl = facts->ttl;
	while (dnsblv6_record_next_rr(apex, apex_size, &offset, &rr) == DNSBLV6_OK) {
		if (rr.type != DNSBLV6_TYPE_SOA)
			continue;
		ret_unfold->negative_ttl = rr.ttl; /* its MINIMUM is the same */
		return DNSBLV6_OK;
	}
	return DNSBLV6_ERECORD;
}

static int add(struct dnsblv6_unfold *unfold, const struct dnsblv6_rr *rr)
{
	if (unfold->count == DNSBLV6_UNFOLD_MAX)
		return DNSBLV6_ERECORD;
	unfold->rrs[unfold->count++] = *rr;
	return DNSBLV6_OK;
}

static int add_rdata(struct dnsblv6_unfold *unfold, uint16_t type, uint32_t ttl,
		     const uint8_t *rdata, size_t size)
{
	struct dnsblv6_rr rr = {
		.type = type, .rdata_size = (uint16_t)size, .ttl = ttl, .rdata = rdata
	};
	return add(unfold, &rr);
}

static int add_rrs(struct dnsblv6_unfold *unfold, const uint8_t *data, size_t size)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(data, size, &offset, &rr)) == DNSBLV6_OK) {
		ret = add(unfold, &rr);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* Into the next of the four places; rrsig comes with its type, TTL and algorithm. */
static int add_rrsig(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
		     struct dnsblv6_rrsig rrsig, const struct dnsblv6_signature *signature)
{
	uint8_t *rdata = unfold->rrsigs[unfold->rrsig_count++];
	rrsig.labels = dnsblv6_rrsig_labels(unfold->zone, name);
	rrsig.signature = *signature;
	size_t size = dnsblv6_rrsig_encode(&rrsig, unfold->zone, rdata);
	return add_rdata(unfold, DNSBLV6_TYPE_RRSIG, rrsig.ttl, rdata, size);
}

static int add_rrsigs(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
		      uint8_t algorithm, const struct dnsblv6_signatures *signatures)
{
	struct dnsblv6_rrsig aaaa = { .type_covered = DNSBLV6_TYPE_AAAA,
				      .algorithm = algorithm,
				      .ttl = unfold->ttl };
	struct dnsblv6_rrsig nsec = { .type_covered = DNSBLV6_TYPE_NSEC,
				      .algorithm = algorithm,
				      .ttl = unfold->negative_ttl };
	int ret = add_rrsig(unfold, name, aaaa, &signatures->aaaa);
	return ret == DNSBLV6_OK ? add_rrsig(unfold, name, nsec, &signatures->nsec) : ret;
}

static int add_bitmap(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
		      const uint8_t *data, size_t size)
{
	struct dnsblv6_signatures signatures;
	int ret = dnsblv6_record_decode_bitmap(data, size, &unfold->bitmap);
	if (ret == DNSBLV6_OK)
		ret = add_rdata(unfold, DNSBLV6_TYPE_AAAA, unfold->ttl, unfold->bitmap.bytes,
				sizeof(unfold->bitmap.bytes));
	if (ret != DNSBLV6_OK || !unfold->is_signed)
		return ret;
	if (dnsblv6_record_decode_signatures(data, size, &signatures) != DNSBLV6_OK)
		return DNSBLV6_ERECORD;
	unfold->rrsig_count = 0;
	ret = add_rrsigs(unfold, name, unfold->algorithm, &signatures);
	if (ret != DNSBLV6_OK || unfold->other_algorithm == 0)
		return ret;
	if (dnsblv6_record_decode_other_signatures(data, size, &signatures) != DNSBLV6_OK)
		return DNSBLV6_ERECORD;
	return add_rrsigs(unfold, name, unfold->other_algorithm, &signatures);
}

/* It is in no record: it follows from the next name and the types here. */
static int add_nsec(struct dnsblv6_unfold *unfold, const uint8_t *data, size_t size,
		    const struct dnsblv6_labels *next)
{
	struct dnsblv6_types types;
	if (dnsblv6_types_of_record(data, size, true, &types) != DNSBLV6_OK ||
	    next->size + unfold->zone->size > DNSBLV6_LABELS_MAX)
		return DNSBLV6_ERECORD;
	size_t nsec_size = dnsblv6_nsec_encode(unfold->zone, next, &types, unfold->nsec);
	return add_rdata(unfold, DNSBLV6_TYPE_NSEC, unfold->negative_ttl, unfold->nsec, nsec_size);
}

int dnsblv6_unfold_name(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
			const uint8_t *data, size_t size, const struct dnsblv6_labels *next)
{
	int ret = DNSBLV6_ERECORD;
	unfold->count = 0;
	if (size == 0)
		return DNSBLV6_OK;
	int kind = dnsblv6_record_kind(data, size);
	if (kind == DNSBLV6_RECORD_BITMAP)
		ret = add_bitmap(unfold, name, data, size);
	else if (kind == DNSBLV6_RECORD_RRSETS)
		ret = add_rrs(unfold, data, size);
	return ret == DNSBLV6_OK && unfold->is_signed ? add_nsec(unfold, data, size, next) : ret;
}
