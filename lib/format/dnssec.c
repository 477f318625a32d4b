/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/dnssec.h"

#include "lib/format/bytes.h"
#include "lib/format/name.h"

#include <stdlib.h>
#include <string.h>

/* name.zone. as an absolute name, wire form. */
static void put_name(uint8_t **out, const struct dnsblv6_labels *name,
		     const struct dnsblv6_labels *zone)
{
	bytes_put_string(out, name->wire, name->size);
	bytes_put_string(out, zone->wire, zone->size);
	bytes_put(out, 0, 1);
}

/* ---- NSEC ---- */

static bool add_type(struct dnsblv6_types *types, unsigned number)
{
	unsigned at = types->count;
	while (at > 0 && types->numbers[at - 1] >= number) {
		if (types->numbers[at - 1] == number)
			return true;
		at--;
	}
	if (number > 255 || types->count == DNSBLV6_TYPES_MAX)
		return false;
	memmove(types->numbers + at + 1, types->numbers + at, types->count - at);
	types->numbers[at] = (uint8_t)number;
	types->count++;
	return true;
}

static int add_rr_types(const uint8_t *data, size_t size, struct dnsblv6_types *types)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(data, size, &offset, &rr)) == DNSBLV6_OK) {
		if (!add_type(types, rr.type))
			return DNSBLV6_ERECORD;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

int dnsblv6_types_of_record(const uint8_t *data, size_t size, bool is_signed,
			    struct dnsblv6_types *ret_types)
{
	struct dnsblv6_types types = { 0 };
	int kind = dnsblv6_record_kind(data, size);
	int ret = DNSBLV6_OK;
	if (kind < 0)
		return kind;
	if (kind == DNSBLV6_RECORD_BITMAP)
		add_type(&types, DNSBLV6_TYPE_AAAA);
	else
		ret = add_rr_types(data, size, &types);
	if (ret == DNSBLV6_OK && is_signed &&
	    (!add_type(&types, DNSBLV6_TYPE_RRSIG) || !add_type(&types, DNSBLV6_TYPE_NSEC)))
		ret = DNSBLV6_ERECORD;
	if (ret == DNSBLV6_OK)
		*ret_types = types;
	return ret;
}

int dnsblv6_rr_compare(const struct dnsblv6_rr *a, const struct dnsblv6_rr *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	int by_bytes = memcmp(a->rdata, b->rdata,
			      a->rdata_size < b->rdata_size ? a->rdata_size : b->rdata_size);
	return by_bytes != 0 ? by_bytes : (int)a->rdata_size - (int)b->rdata_size;
}

size_t dnsblv6_nsec_encode(const struct dnsblv6_labels *zone, const struct dnsblv6_labels *next,
			   const struct dnsblv6_types *types, uint8_t *ret_rdata)
{
	uint8_t *out = ret_rdata;
	put_name(&out, next, zone);
	if (types->count == 0)
		return (size_t)(out - ret_rdata);

	/* All types lie in window 0: its number, its size, its bits. */
	unsigned bits_size = types->numbers[types->count - 1] / 8u + 1;
	bytes_put(&out, 0, 1);
	bytes_put(&out, bits_size, 1);
	memset(out, 0, bits_size);
	for (unsigned i = 0; i < types->count; i++)
		out[types->numbers[i] / 8] |= (uint8_t)(0x80u >> (types->numbers[i] % 8));
	return (size_t)(out - ret_rdata) + bits_size;
}

/* ---- RRSIG ---- */

uint8_t dnsblv6_rrsig_labels(const struct dnsblv6_labels *zone, const struct dnsblv6_labels *owner)
{
	bool is_wildcard = owner->size >= 2 && owner->wire[0] == 1 && owner->wire[1] == '*';
	return (uint8_t)(dnsblv6_name_label_count(owner) - is_wildcard +
			 dnsblv6_name_label_count(zone));
}

/* Everything before the signature: what is signed begins with it too. */
static size_t encode_head(const struct dnsblv6_rrsig *rrsig, const struct dnsblv6_labels *zone,
			  uint8_t *ret_rdata)
{
	static const struct dnsblv6_labels apex = { 0 };
	uint8_t *out = ret_rdata;
	bytes_put(&out, rrsig->type_covered, 2);
	bytes_put(&out, rrsig->algorithm, 1);
	bytes_put(&out, rrsig->labels, 1);
	bytes_put(&out, rrsig->ttl, 4);
	bytes_put(&out, rrsig->signature.expiration, 4);
	bytes_put(&out, rrsig->signature.inception, 4);
	bytes_put(&out, rrsig->signature.key_tag, 2);
	put_name(&out, &apex, zone);
	return (size_t)(out - ret_rdata);
}

size_t dnsblv6_rrsig_encode(const struct dnsblv6_rrsig *rrsig, const struct dnsblv6_labels *zone,
			    uint8_t *ret_rdata)
{
	size_t size = encode_head(rrsig, zone, ret_rdata);
	memcpy(ret_rdata + size, rrsig->signature.bytes, DNSBLV6_SIGNATURE_BYTES);
	return size + DNSBLV6_SIGNATURE_BYTES;
}

int dnsblv6_rrsig_decode(const uint8_t *rdata, size_t size, uint16_t type,
			 struct dnsblv6_signature *ret_signature)
{
	enum { HEAD_SIZE = 18 };
	if (size < HEAD_SIZE + 1 + DNSBLV6_SIGNATURE_BYTES)
		return DNSBLV6_ERECORD;
	if (bytes_get16(rdata) != type)
		return DNSBLV6_ENOTFOUND;
	ret_signature->expiration = (uint32_t)bytes_get(rdata + 8, 4);
	ret_signature->inception = (uint32_t)bytes_get(rdata + 12, 4);
	ret_signature->key_tag = (uint16_t)bytes_get16(rdata + 16);
	/* Between them is the signer's name, of any size; the signature is last. */
	memcpy(ret_signature->bytes, rdata + size - DNSBLV6_SIGNATURE_BYTES,
	       DNSBLV6_SIGNATURE_BYTES);
	return DNSBLV6_OK;
}

/* RFC 4034 section 6.3: as left-justified byte strings. */
static int compare_rdatas(const void *a, const void *b)
{
	const struct dnsblv6_rdata *left = a;
	const struct dnsblv6_rdata *right = b;
	size_t shared = left->size < right->size ? left->size : right->size;
	int by_bytes = memcmp(left->bytes, right->bytes, shared);
	return by_bytes != 0 ? by_bytes : (int)left->size - (int)right->size;
}

int dnsblv6_signing_input(const struct dnsblv6_rrsig *rrsig, const struct dnsblv6_labels *zone,
			  const struct dnsblv6_labels *owner, struct dnsblv6_rdata *rdatas,
			  size_t rdata_count, uint8_t *ret_input, size_t input_max,
			  size_t *ret_size)
{
	enum { RR_HEADER_SIZE = 10, CLASS_IN = 1 };
	size_t size = DNSBLV6_RRSIG_MAX;
	for (size_t i = 0; i < rdata_count; i++)
		size += DNSBLV6_LABELS_MAX + 1 + RR_HEADER_SIZE + rdatas[i].size;
	if (size > input_max)
		return DNSBLV6_ESPACE;

	uint8_t *out = ret_input;
	out += encode_head(rrsig, zone, out);
	qsort(rdatas, rdata_count, sizeof(*rdatas), compare_rdatas);
	for (size_t i = 0; i < rdata_count; i++) {
		put_name(&out, owner, zone);
		bytes_put(&out, rrsig->type_covered, 2);
		bytes_put(&out, CLASS_IN, 2);
		bytes_put(&out, rrsig->ttl, 4);
		bytes_put(&out, rdatas[i].size, 2);
		bytes_put_string(&out, rdatas[i].bytes, rdatas[i].size);
	}
	*ret_size = (size_t)(out - ret_input);
	return DNSBLV6_OK;
}
