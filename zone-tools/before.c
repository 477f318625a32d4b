/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/before.h"

#include <string.h>

enum { DNSKEY_ALGORITHM = 3 }; /* where it stands in the RDATA, RFC 4034 section 2.1 */

static bool is_key(const struct dnsblv6_rr *rr, const struct key *key)
{
	uint8_t dnskey[KEY_DNSKEY_MAX];
	size_t size = key_dnskey(key, dnskey);
	return rr->rdata_size == size && memcmp(rr->rdata, dnskey, size) == 0;
}

static void note_dnskey(const struct dnsblv6_rr *rr, const struct key *const *keys,
			size_t key_count, struct before *before)
{
	if (rr->type != DNSBLV6_TYPE_DNSKEY || rr->rdata_size <= DNSKEY_ALGORITHM)
		return;
	before->is_signed = true;
	before->algorithm = rr->rdata[DNSKEY_ALGORITHM];
	before->dnskey_count++;
	for (size_t i = 0; i < key_count; i++) {
		if (!is_key(rr, keys[i]))
			continue;
		before->common_count++;
		before->has_active_key |= i == 0;
	}
}

static int load_apex(struct writer *writer, const struct key *const *keys, size_t key_count,
		     struct before *before)
{
	struct dnsblv6_key key;
	struct store_bytes value;
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret = dnsblv6_key_from_labels(before->facts.zone.wire, 0, &key);
	if (ret == DNSBLV6_OK)
		ret = writer_get(writer, STORE_RECORDS, key.bytes, key.size, &value);
	if (ret != DNSBLV6_OK)
		return STORE_ECORRUPT;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		if (rr.type == DNSBLV6_TYPE_SOA)
			before->negative_ttl = rr.ttl; /* apex.c gives MINIMUM the same value */
		note_dnskey(&rr, keys, key_count, before);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : STORE_ECORRUPT;
}

int before_load(struct writer *writer, const struct key *const *keys, size_t key_count,
		struct before *ret_before)
{
	struct store_bytes value;
	memset(ret_before, 0, sizeof(*ret_before));
	if (writer_is_new(writer))
		return DNSBLV6_OK;
	ret_before->is_there = true;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_facts_decode(value.data, value.size, &ret_before->facts);
	return ret == DNSBLV6_OK ? load_apex(writer, keys, key_count, ret_before) : STORE_ECORRUPT;
}

int before_check_keys(const struct before *before, size_t key_count)
{
	if (!before->is_signed)
		return DNSBLV6_OK;
	if (key_count == 0)
		return BEFORE_ESIGNED;
	return before->has_active_key ? DNSBLV6_OK : BEFORE_EKEY;
}

int before_check_same_keys(const struct before *before, size_t key_count)
{
	bool is_same = before->dnskey_count == key_count && before->common_count == key_count;
	return is_same ? DNSBLV6_OK : BEFORE_EKEYS;
}

/* RFC 1982: is a newer than b? */
static bool is_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < (uint32_t)1 << 31;
}

int before_choose_serial(const struct before *before, uint32_t wanted, uint64_t now_s,
			 uint32_t *ret_serial)
{
	uint32_t serial = wanted != 0 ? wanted : (uint32_t)now_s;
	if (before->is_there && !is_newer(serial, before->facts.serial)) {
		if (wanted != 0)
			return BEFORE_ESERIAL;
		serial = before->facts.serial + 1;
	}
	*ret_serial = serial;
	return DNSBLV6_OK;
}
