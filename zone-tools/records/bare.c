/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/bare.h"

#include <string.h>

enum { SOA_NUMBERS_SIZE = 20, SOA_MAX = 2 * (DNSBLV6_LABELS_MAX + 1) + SOA_NUMBERS_SIZE };

int bare_unpack(struct store_bytes value, struct bare_rrs *ret_rrs)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	ret_rrs->count = 0;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		if (ret_rrs->count == BARE_RRS_MAX)
			return DNSBLV6_ESPACE;
		ret_rrs->items[ret_rrs->count++] = rr;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static bool is_of_keys(uint16_t type)
{
	return type == DNSBLV6_TYPE_DNSKEY || type == DNSBLV6_TYPE_CDS ||
	       type == DNSBLV6_TYPE_CDNSKEY;
}

/* All but RRSIG and, at the apex, what the keys make. */
static int take_rrs(struct store_bytes value, bool is_apex, struct bare_rrs *ret_rrs)
{
	size_t count = 0;
	int ret = bare_unpack(value, ret_rrs);
	for (size_t i = 0; i < ret_rrs->count; i++) {
		uint16_t type = ret_rrs->items[i].type;
		if (type != DNSBLV6_TYPE_RRSIG && !(is_apex && is_of_keys(type)))
			ret_rrs->items[count++] = ret_rrs->items[i];
	}
	ret_rrs->count = count;
	return ret == DNSBLV6_OK && count > BARE_RRS_MAX - KEYSET_RRS_MAX ? DNSBLV6_ESPACE : ret;
}

int bare_record(struct store_bytes value, uint8_t *ret_data, size_t *ret_size)
{
	struct bare_rrs rrs;
	int kind = dnsblv6_record_kind(value.data, value.size);
	if (kind == DNSBLV6_RECORD_BITMAP && value.size >= DNSBLV6_BITMAP_RECORD_SIZE) {
		memcpy(ret_data, value.data, DNSBLV6_BITMAP_RECORD_SIZE);
		*ret_size = DNSBLV6_BITMAP_RECORD_SIZE;
		return DNSBLV6_OK;
	}
	if (kind != DNSBLV6_RECORD_RRSETS)
		return DNSBLV6_ERECORD;
	int ret = take_rrs(value, false, &rrs);
	return ret == DNSBLV6_OK ? dnsblv6_record_encode_rrs(rrs.items, rrs.count, ret_data,
							     BARE_RECORD_MAX, ret_size)
				 : ret;
}

/* The serial is the first of an SOA's five numbers. */
static int renew_soa(struct bare_rrs *rrs, uint32_t serial, uint8_t *ret_rdata)
{
	for (size_t i = 0; i < rrs->count; i++) {
		struct dnsblv6_rr *rr = &rrs->items[i];
		if (rr->type != DNSBLV6_TYPE_SOA)
			continue;
		if (rr->rdata_size < SOA_NUMBERS_SIZE || rr->rdata_size > SOA_MAX)
			return DNSBLV6_ERECORD;
		memcpy(ret_rdata, rr->rdata, rr->rdata_size);
		uint8_t *number = ret_rdata + rr->rdata_size - SOA_NUMBERS_SIZE;
		for (unsigned j = 0; j < 4; j++)
			number[j] = (uint8_t)(serial >> (24 - 8 * j));
		rr->rdata = ret_rdata;
		return DNSBLV6_OK;
	}
	return DNSBLV6_ERECORD;
}

int bare_apex(struct store_bytes value, uint32_t serial, const struct keyset *keyset, uint32_t ttl,
	      uint8_t *ret_data, size_t *ret_size)
{
	uint8_t soa[SOA_MAX];
	struct bare_rrs rrs;
	int ret = take_rrs(value, true, &rrs);
	if (ret == DNSBLV6_OK)
		ret = renew_soa(&rrs, serial, soa);
	if (ret != DNSBLV6_OK)
		return ret;
	rrs.count += keyset_rrs(keyset, ttl, rrs.items + rrs.count);
	return dnsblv6_record_encode_rrs(rrs.items, rrs.count, ret_data, BARE_RECORD_MAX, ret_size);
}
