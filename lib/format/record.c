/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/record.h"

#include "lib/format/bytes.h"

#include <string.h>

static void put_labels(uint8_t **out, const struct dnsblv6_labels *name)
{
	bytes_put(out, name->size, 1);
	bytes_put_string(out, name->wire, name->size);
}

static void take_labels(struct bytes_input *input, struct dnsblv6_labels *ret_name)
{
	struct dnsblv6_key key;
	memset(ret_name, 0, sizeof(*ret_name));
	size_t size = (size_t)bytes_take(input, 1);
	const uint8_t *wire = bytes_take_string(input, size);
	if (wire == NULL)
		return;
	if (size > DNSBLV6_LABELS_MAX || dnsblv6_key_from_labels(wire, size, &key) != DNSBLV6_OK) {
		input->has_failed = true;
		return;
	}
	ret_name->size = (uint8_t)size;
	memcpy(ret_name->wire, wire, size);
}

/* ---- records ---- */

int dnsblv6_record_kind(const uint8_t *data, size_t size)
{
	if (size == 0 || (data[0] != DNSBLV6_RECORD_BITMAP && data[0] != DNSBLV6_RECORD_RRSETS))
		return DNSBLV6_ERECORD;
	return data[0];
}

void dnsblv6_record_encode_bitmap(const struct dnsblv6_bitmap *map, uint8_t *ret_data)
{
	ret_data[0] = DNSBLV6_RECORD_BITMAP;
	memcpy(ret_data + 1, map->bytes, DNSBLV6_BITMAP_SIZE);
}

static bool is_bitmap(const uint8_t *data, size_t size)
{
	return (size == DNSBLV6_BITMAP_RECORD_SIZE || size == DNSBLV6_SIGNED_BITMAP_RECORD_SIZE ||
		size == DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE) &&
	       data[0] == DNSBLV6_RECORD_BITMAP;
}

int dnsblv6_record_decode_bitmap(const uint8_t *data, size_t size, struct dnsblv6_bitmap *ret_map)
{
	if (!is_bitmap(data, size))
		return DNSBLV6_ERECORD;
	memcpy(ret_map->bytes, data + 1, DNSBLV6_BITMAP_SIZE);
	return DNSBLV6_OK;
}

static void put_signature(uint8_t **out, const struct dnsblv6_signature *signature)
{
	bytes_put(out, signature->inception, 4);
	bytes_put(out, signature->expiration, 4);
	bytes_put(out, signature->key_tag, 2);
	bytes_put_string(out, signature->bytes, DNSBLV6_SIGNATURE_BYTES);
}

static void take_signature(struct bytes_input *input, struct dnsblv6_signature *ret_signature)
{
	ret_signature->inception = (uint32_t)bytes_take(input, 4);
	ret_signature->expiration = (uint32_t)bytes_take(input, 4);
	ret_signature->key_tag = (uint16_t)bytes_take(input, 2);
	const uint8_t *bytes = bytes_take_string(input, DNSBLV6_SIGNATURE_BYTES);
	if (bytes != NULL)
		memcpy(ret_signature->bytes, bytes, DNSBLV6_SIGNATURE_BYTES);
}

void dnsblv6_record_encode_signed_bitmap(const struct dnsblv6_bitmap *map,
					 const struct dnsblv6_signatures *signatures,
					 uint8_t *ret_data)
{
	dnsblv6_record_encode_bitmap(map, ret_data);
	uint8_t *out = ret_data + DNSBLV6_BITMAP_RECORD_SIZE;
	put_signature(&out, &signatures->aaaa);
	put_signature(&out, &signatures->nsec);
}

void dnsblv6_record_encode_twice_signed_bitmap(const struct dnsblv6_bitmap *map,
					       const struct dnsblv6_signatures signatures[2],
					       uint8_t *ret_data)
{
	dnsblv6_record_encode_signed_bitmap(map, &signatures[0], ret_data);
	uint8_t *out = ret_data + DNSBLV6_SIGNED_BITMAP_RECORD_SIZE;
	put_signature(&out, &signatures[1].aaaa);
	put_signature(&out, &signatures[1].nsec);
}

/* The two that stand at offset, if the record is that long. */
static int decode_signatures_at(const uint8_t *data, size_t size, size_t offset,
				struct dnsblv6_signatures *ret_signatures)
{
	if (!is_bitmap(data, size))
		return DNSBLV6_ERECORD;
	if (size <= offset)
		return DNSBLV6_ENOTFOUND;
	struct bytes_input input = { data + offset, size - offset, false };
	take_signature(&input, &ret_signatures->aaaa);
	take_signature(&input, &ret_signatures->nsec);
	return DNSBLV6_OK;
}

int dnsblv6_record_decode_signatures(const uint8_t *data, size_t size,
				     struct dnsblv6_signatures *ret_signatures)
{
	return decode_signatures_at(data, size, DNSBLV6_BITMAP_RECORD_SIZE, ret_signatures);
}

int dnsblv6_record_decode_other_signatures(const uint8_t *data, size_t size,
					   struct dnsblv6_signatures *ret_signatures)
{
	return decode_signatures_at(data, size, DNSBLV6_SIGNED_BITMAP_RECORD_SIZE, ret_signatures);
}

enum { RR_HEADER_SIZE = 8 };

int dnsblv6_record_encode_rrs(const struct dnsblv6_rr *rrs, size_t rr_count, uint8_t *ret_data,
			      size_t data_max, size_t *ret_size)
{
	size_t size = 1;
	for (size_t i = 0; i < rr_count; i++)
		size += RR_HEADER_SIZE + rrs[i].rdata_size;
	if (size > data_max)
		return DNSBLV6_ESPACE;

	uint8_t *out = ret_data;
	bytes_put(&out, DNSBLV6_RECORD_RRSETS, 1);
	for (size_t i = 0; i < rr_count; i++) {
		bytes_put(&out, rrs[i].type, 2);
		bytes_put(&out, rrs[i].ttl, 4);
		bytes_put(&out, rrs[i].rdata_size, 2);
		bytes_put_string(&out, rrs[i].rdata, rrs[i].rdata_size);
	}
	*ret_size = size;
	return DNSBLV6_OK;
}

int dnsblv6_record_next_rr(const uint8_t *data, size_t size, size_t *offset,
			   struct dnsblv6_rr *ret_rr)
{
	if (*offset == 0) {
		if (size == 0 || data[0] != DNSBLV6_RECORD_RRSETS)
			return DNSBLV6_ERECORD;
		*offset = 1;
	}
	if (*offset >= size)
		return *offset == size ? DNSBLV6_ENOTFOUND : DNSBLV6_ERECORD;

	struct bytes_input input = { data + *offset, size - *offset, false };
	struct dnsblv6_rr rr;
	rr.type = (uint16_t)bytes_take(&input, 2);
	rr.ttl = (uint32_t)bytes_take(&input, 4);
	rr.rdata_size = (uint16_t)bytes_take(&input, 2);
	rr.rdata = bytes_take_string(&input, rr.rdata_size);
	if (input.has_failed)
		return DNSBLV6_ERECORD;
	*offset = size - input.size;
	*ret_rr = rr;
	return DNSBLV6_OK;
}

/* ---- segments ---- */

enum { FAMILY_IPV4 = 4, FAMILY_IPV6 = 6 };

static void put_addr(uint8_t **out, struct dnsblv6_addr addr)
{
	if (dnsblv6_addr_is_ipv4(addr)) {
		bytes_put(out, dnsblv6_addr_ipv4(addr), 4);
		return;
	}
	dnsblv6_addr_to_bytes(addr, *out);
	*out += 16;
}

static struct dnsblv6_addr take_addr(struct bytes_input *input, uint64_t family)
{
	if (family == FAMILY_IPV4)
		return dnsblv6_addr_from_ipv4((uint32_t)bytes_take(input, 4));
	const uint8_t *bytes = bytes_take_string(input, 16);
	struct dnsblv6_addr addr = { 0, 0 };
	if (bytes != NULL)
		addr = dnsblv6_addr_from_bytes(bytes);
	/* An IPv4 address has one form only, or first and last could differ in family. */
	if (family != FAMILY_IPV6 || dnsblv6_addr_is_ipv4(addr))
		input->has_failed = true;
	return addr;
}

size_t dnsblv6_segment_make_key(uint16_t origin, struct dnsblv6_addr last, uint8_t *ret_key)
{
	uint8_t *out = ret_key;
	bytes_put(&out, origin, 2);
	bytes_put(&out, dnsblv6_addr_is_ipv4(last) ? FAMILY_IPV4 : FAMILY_IPV6, 1);
	put_addr(&out, last);
	return (size_t)(out - ret_key);
}

size_t dnsblv6_segment_encode(const struct dnsblv6_segment *segment, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	put_addr(&out, segment->first);
	bytes_put(&out, segment->set, 4);
	return (size_t)(out - ret_data);
}

int dnsblv6_segment_decode(const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
			   uint16_t *ret_origin, struct dnsblv6_segment *ret_segment)
{
	struct bytes_input key_input = { key, key_size, false };
	struct bytes_input data_input = { data, size, false };
	struct dnsblv6_segment segment;

	uint16_t origin = (uint16_t)bytes_take(&key_input, 2);
	uint64_t family = bytes_take(&key_input, 1);
	segment.last = take_addr(&key_input, family);
	segment.first = take_addr(&data_input, family);
	segment.set = (uint32_t)bytes_take(&data_input, 4);
	if (bytes_finish(&key_input) != DNSBLV6_OK || bytes_finish(&data_input) != DNSBLV6_OK ||
	    dnsblv6_addr_compare(segment.first, segment.last) > 0)
		return DNSBLV6_ERECORD;
	*ret_origin = origin;
	*ret_segment = segment;
	return DNSBLV6_OK;
}

/* ---- value sets ---- */

enum { VALUE_HEADER_SIZE = 9 };

void dnsblv6_set_make_key(uint32_t set, uint8_t *ret_key)
{
	bytes_put(&ret_key, set, DNSBLV6_SET_KEY_SIZE);
}

int dnsblv6_set_encode(const struct dnsblv6_value *values, size_t value_count, uint8_t *ret_data,
		       size_t data_max, size_t *ret_size)
{
	size_t size = 0;
	for (size_t i = 0; i < value_count; i++)
		size += VALUE_HEADER_SIZE + values[i].text_size;
	if (size > data_max)
		return DNSBLV6_ESPACE;

	uint8_t *out = ret_data;
	for (size_t i = 0; i < value_count; i++) {
		bytes_put(&out, values[i].a, 4);
		bytes_put(&out, values[i].ttl, 4);
		bytes_put(&out, values[i].text_size, 1);
		bytes_put_string(&out, values[i].text, values[i].text_size);
	}
	*ret_size = size;
	return DNSBLV6_OK;
}

int dnsblv6_set_next(const uint8_t *data, size_t size, size_t *offset,
		     struct dnsblv6_value *ret_value)
{
	if (*offset >= size)
		return *offset == size ? DNSBLV6_ENOTFOUND : DNSBLV6_ERECORD;

	struct bytes_input input = { data + *offset, size - *offset, false };
	struct dnsblv6_value value;
	value.a = (uint32_t)bytes_take(&input, 4);
	value.ttl = (uint32_t)bytes_take(&input, 4);
	value.text_size = (uint8_t)bytes_take(&input, 1);
	value.text = bytes_take_string(&input, value.text_size);
	if (input.has_failed)
		return DNSBLV6_ERECORD;
	*offset = size - input.size;
	*ret_value = value;
	return DNSBLV6_OK;
}

size_t dnsblv6_value_expand(const struct dnsblv6_value *value, struct dnsblv6_addr addr,
			    uint8_t *ret_text)
{
	char address[DNSBLV6_ADDR_TEXT_SIZE];
	size_t address_size = dnsblv6_addr_format(addr, address);
	size_t size = 0;

	for (unsigned i = 0; i < value->text_size; i++) {
		const uint8_t *piece = value->text + i;
		size_t piece_size = 1;
		if (*piece == DNSBLV6_TEXT_ADDRESS) {
			piece = (const uint8_t *)address;
			piece_size = address_size;
		}
		if (piece_size > DNSBLV6_TEXT_MAX - size)
			piece_size = DNSBLV6_TEXT_MAX - size;
		memcpy(ret_text + size, piece, piece_size);
		size += piece_size;
	}
	return size;
}

/* ---- facts ---- */

size_t dnsblv6_facts_encode(const struct dnsblv6_facts *facts, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	put_labels(&out, &facts->zone);
	bytes_put(&out, facts->style, 1);
	bytes_put(&out, facts->ttl, 4);
	bytes_put(&out, facts->serial, 4);
	bytes_put(&out, facts->built_s, 8);
	bytes_put(&out, facts->expires_s, 8);
	bytes_put(&out, facts->record_count, 8);
	bytes_put(&out, facts->block_count, 8);
	bytes_put(&out, facts->ipv4_count, 8);
	bytes_put(&out, facts->ipv6_count, 8);
	bytes_put(&out, facts->name_count, 8);
	return (size_t)(out - ret_data);
}

int dnsblv6_facts_decode(const uint8_t *data, size_t size, struct dnsblv6_facts *ret_facts)
{
	struct bytes_input input = { data, size, false };
	struct dnsblv6_facts facts;
	take_labels(&input, &facts.zone);
	facts.style = (uint8_t)bytes_take(&input, 1);
	facts.ttl = (uint32_t)bytes_take(&input, 4);
	facts.serial = (uint32_t)bytes_take(&input, 4);
	facts.built_s = bytes_take(&input, 8);
	facts.expires_s = bytes_take(&input, 8);
	facts.record_count = bytes_take(&input, 8);
	facts.block_count = bytes_take(&input, 8);
	facts.ipv4_count = bytes_take(&input, 8);
	facts.ipv6_count = bytes_take(&input, 8);
	facts.name_count = bytes_take(&input, 8);
	if (bytes_finish(&input) != DNSBLV6_OK || facts.style > DNSBLV6_STYLE_BOTH6 ||
	    facts.zone.size == 0)
		return DNSBLV6_ERECORD;
	*ret_facts = facts;
	return DNSBLV6_OK;
}

size_t dnsblv6_signing_encode(const struct dnsblv6_signing *signing, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	bytes_put(&out, signing->algorithm, 1);
	bytes_put(&out, signing->expires_s, 8);
	if (signing->other_algorithm != 0)
		bytes_put(&out, signing->other_algorithm, 1);
	return (size_t)(out - ret_data);
}

int dnsblv6_signing_decode(const uint8_t *data, size_t size, struct dnsblv6_signing *ret_signing)
{
	struct bytes_input input = { data, size, false };
	struct dnsblv6_signing signing = { 0 };
	bool has_other = size == DNSBLV6_SIGNING_MAX;
	signing.algorithm = (uint8_t)bytes_take(&input, 1);
	signing.expires_s = bytes_take(&input, 8);
	if (has_other)
		signing.other_algorithm = (uint8_t)bytes_take(&input, 1);
	if (bytes_finish(&input) != DNSBLV6_OK ||
	    (has_other && signing.other_algorithm <= signing.algorithm))
		return DNSBLV6_ERECORD;
	*ret_signing = signing;
	return DNSBLV6_OK;
}

void dnsblv6_lists_encode(uint64_t written_s, uint8_t *ret_data)
{
	bytes_put(&ret_data, written_s, DNSBLV6_LISTS_SIZE);
}

int dnsblv6_lists_decode(const uint8_t *data, size_t size, uint64_t *ret_written_s)
{
	struct bytes_input input = { data, size, false };
	uint64_t written_s = bytes_take(&input, DNSBLV6_LISTS_SIZE);
	if (bytes_finish(&input) != DNSBLV6_OK || written_s == 0)
		return DNSBLV6_ERECORD;
	*ret_written_s = written_s;
	return DNSBLV6_OK;
}

size_t dnsblv6_list_file_encode(const struct dnsblv6_list_file *file, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	bytes_put(&out, file->written_s, 8);
	bytes_put(&out, file->name_size, 1);
	bytes_put_string(&out, file->name, file->name_size);
	return (size_t)(out - ret_data);
}

/* Programs print it as it is. */
static bool is_printable(const uint8_t *name, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (name[i] < ' ' || name[i] > '~')
			return false;
	}
	return size > 0;
}

int dnsblv6_list_file_next(const uint8_t *data, size_t size, size_t *offset,
			   struct dnsblv6_list_file *ret_file)
{
	if (*offset >= size)
		return *offset == size ? DNSBLV6_ENOTFOUND : DNSBLV6_ERECORD;

	struct bytes_input input = { data + *offset, size - *offset, false };
	struct dnsblv6_list_file file;
	file.written_s = bytes_take(&input, 8);
	file.name_size = (uint8_t)bytes_take(&input, 1);
	file.name = bytes_take_string(&input, file.name_size);
	if (input.has_failed || file.written_s == 0 || !is_printable(file.name, file.name_size))
		return DNSBLV6_ERECORD;
	*offset = size - input.size;
	*ret_file = file;
	return DNSBLV6_OK;
}

size_t dnsblv6_setting_encode(const struct dnsblv6_setting *setting, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	bytes_put(&out, setting->name_size, 1);
	bytes_put(&out, setting->value_size, 2);
	bytes_put_string(&out, setting->name, setting->name_size);
	bytes_put_string(&out, setting->value, setting->value_size);
	return (size_t)(out - ret_data);
}

int dnsblv6_setting_next(const uint8_t *data, size_t size, size_t *offset,
			 struct dnsblv6_setting *ret_setting)
{
	if (*offset >= size)
		return *offset == size ? DNSBLV6_ENOTFOUND : DNSBLV6_ERECORD;

	struct bytes_input input = { data + *offset, size - *offset, false };
	struct dnsblv6_setting setting;
	setting.name_size = (uint8_t)bytes_take(&input, 1);
	setting.value_size = (uint16_t)bytes_take(&input, 2);
	setting.name = bytes_take_string(&input, setting.name_size);
	setting.value = bytes_take_string(&input, setting.value_size);
	if (input.has_failed)
		return DNSBLV6_ERECORD;
	*offset = size - input.size;
	*ret_setting = setting;
	return DNSBLV6_OK;
}

enum { ORIGIN_PREFIX_SIZE = sizeof(DNSBLV6_FACT_ORIGIN) - 1 };

void dnsblv6_origin_make_key(uint16_t origin, uint8_t *ret_key)
{
	uint8_t *out = ret_key;
	bytes_put_string(&out, (const uint8_t *)DNSBLV6_FACT_ORIGIN, ORIGIN_PREFIX_SIZE);
	bytes_put(&out, origin, 2);
}

int dnsblv6_origin_parse_key(const uint8_t *key, size_t key_size, uint16_t *ret_origin)
{
	if (key_size != DNSBLV6_ORIGIN_KEY_SIZE ||
	    memcmp(key, DNSBLV6_FACT_ORIGIN, ORIGIN_PREFIX_SIZE) != 0)
		return DNSBLV6_ENOTFOUND;
	*ret_origin = (uint16_t)bytes_get16(key + ORIGIN_PREFIX_SIZE);
	return DNSBLV6_OK;
}

size_t dnsblv6_origin_encode(const struct dnsblv6_origin *origin, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	put_labels(&out, &origin->name);
	bytes_put(&out, origin->default_set, 4);
	return (size_t)(out - ret_data);
}

int dnsblv6_origin_decode(const uint8_t *data, size_t size, struct dnsblv6_origin *ret_origin)
{
	struct bytes_input input = { data, size, false };
	struct dnsblv6_origin origin;
	take_labels(&input, &origin.name);
	origin.default_set = (uint32_t)bytes_take(&input, 4);
	if (bytes_finish(&input) != DNSBLV6_OK)
		return DNSBLV6_ERECORD;
	*ret_origin = origin;
	return DNSBLV6_OK;
}
