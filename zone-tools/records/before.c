/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/before.h"

#include "lib/dns/soa.h"
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

static int load_signing(struct writer *writer, struct before *before)
{
	struct store_bytes value;
	if (!before->is_signed)
		return DNSBLV6_OK;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_SIGNING,
			     strlen(DNSBLV6_FACT_SIGNING), &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_signing_decode(value.data, value.size, &before->signing);
	return ret == DNSBLV6_OK ? DNSBLV6_OK : STORE_ECORRUPT;
}

/* Two processes may have planned a step from the same state. */
static int check_memo(struct writer *writer, const struct keyset *keyset)
{
	struct store_bytes value = { NULL, 0 };
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_KEYS, strlen(DNSBLV6_FACT_KEYS),
			     &value);
	if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (!keyset->is_rolled)
		return ret == DNSBLV6_ENOTFOUND || keyset->key_count == 0 || keyset->may_replace
			       ? DNSBLV6_OK
			       : KEYSET_EROLLED;
	size_t size = strlen(keyset->memo);
	return value.size == size && (size == 0 || memcmp(value.data, keyset->memo, size) == 0)
		       ? DNSBLV6_OK
		       : KEYSET_EMOVED;
}

int before_load(struct writer *writer, struct keyset *keyset, uint64_t now_s,
		struct before *ret_before)
{
	struct store_bytes value;
	memset(ret_before, 0, sizeof(*ret_before));
	keyset_begin(keyset);
	if (writer_is_new(writer))
		return keyset->memo[0] == '\0' ? DNSBLV6_OK : KEYSET_EMOVED;
	ret_before->is_there = true;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_facts_decode(value.data, value.size, &ret_before->facts);
	if (ret != DNSBLV6_OK)
		return STORE_ECORRUPT;
	ret = load_apex(writer, keyset, now_s, ret_before);
	if (ret == DNSBLV6_OK)
		ret = load_signing(writer, ret_before);
	return ret == DNSBLV6_OK ? check_memo(writer, keyset) : ret;
}

bool before_keeps_algorithms(const struct before *before, const struct keyset *keyset)
{
	if (!before->is_signed || keyset->key_count == 0)
		return true;
	struct dnsblv6_signing signing = keyset_signing(keyset, 0);
	return signing.algorithm == before->signing.algorithm &&
	       signing.other_algorithm == before->signing.other_algorithm;
}

int before_remember_keys(struct writer *writer, const struct keyset *keyset, uint32_t dnskey_ttl,
			 uint32_t ttl_max)
{
	char text[ROLLOVER_TEXT_SIZE];
	struct rollover rollover = keyset->rollover;
	if (!keyset->is_rolled) {
		int ret = writer_delete(writer, STORE_FACTS, DNSBLV6_FACT_KEYS,
					strlen(DNSBLV6_FACT_KEYS));
		return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
	}
	rollover_note_ttls(&rollover, dnskey_ttl, ttl_max);
	size_t size = rollover_text_write(&rollover, text);
	return writer_put(writer, STORE_FACTS, DNSBLV6_FACT_KEYS, strlen(DNSBLV6_FACT_KEYS), text,
			  size);
}

int before_choose_serial(const struct before *before, uint32_t wanted, bool must_be_taken,
			 uint64_t now_s, uint32_t *ret_serial)
{
	uint32_t serial = wanted != 0 ? wanted : (uint32_t)now_s;
	bool is_newer =
		serial != before->facts.serial && soa_is_as_new(serial, before->facts.serial);
	if (before->is_there && !is_newer) {
		if (must_be_taken)
			return BEFORE_ESERIAL;
		serial = before->facts.serial + 1;
	}
	*ret_serial = serial;
	return DNSBLV6_OK;
}
