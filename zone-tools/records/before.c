/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/before.h"

#include "lib/store/tables.h"

#include <string.h>

static int load_apex(struct writer *writer, struct keyset *keyset, uint64_t now_s,
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
		if (keyset_note(keyset, &rr, now_s) != DNSBLV6_OK)
			return STORE_ECORRUPT;
	}
	before->is_signed = keyset_is_signed(keyset);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : STORE_ECORRUPT;
}

int before_load(struct writer *writer, struct keyset *keyset, uint64_t now_s,
		struct before *ret_before)
{
	struct store_bytes value;
	memset(ret_before, 0, sizeof(*ret_before));
	keyset_begin(keyset);
	if (writer_is_new(writer))
		return DNSBLV6_OK;
	ret_before->is_there = true;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_facts_decode(value.data, value.size, &ret_before->facts);
	return ret == DNSBLV6_OK ? load_apex(writer, keyset, now_s, ret_before) : STORE_ECORRUPT;
}

/* RFC 1982: is a newer than b? */
static bool is_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < (uint32_t)1 << 31;
}

int before_choose_serial(const struct before *before, uint32_t wanted, bool must_be_taken,
			 uint64_t now_s, uint32_t *ret_serial)
{
	uint32_t serial = wanted != 0 ? wanted : (uint32_t)now_s;
	if (before->is_there && !is_newer(serial, before->facts.serial)) {
		if (must_be_taken)
			return BEFORE_ESERIAL;
		serial = before->facts.serial + 1;
	}
	*ret_serial = serial;
	return DNSBLV6_OK;
}
