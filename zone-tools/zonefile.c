/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zonefile.h"

#include "zone-tools/contents.h"

#include "lib/format/dnssec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libknot/libknot.h>

struct zonefile {
	FILE *stream;
	struct dnsblv6_facts facts;
	struct dnsblv6_signing signing;
	bool is_signed;
	uint32_t negative_ttl; /* of NSEC records: the SOA's TTL is its MINIMUM */
	char *text;	       /* of one record; libknot makes it larger */
	size_t text_size;
};

static int print_rr(struct zonefile *zonefile, const struct dnsblv6_labels *owner, uint16_t type,
		    uint32_t ttl, const uint8_t *rdata, uint16_t rdata_size)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	memcpy(name, owner->wire, owner->size);
	name[owner->size] = 0;

	knot_rrset_t rrset;
	knot_rrset_init(&rrset, name, type, KNOT_CLASS_IN, ttl);
	int ret = knot_rrset_add_rdata(&rrset, rdata, rdata_size, NULL);
	if (ret != KNOT_EOK)
		return ret == KNOT_ENOMEM ? -ENOMEM : DNSBLV6_ERECORD;
	ret = knot_rrset_txt_dump(&rrset, &zonefile->text, &zonefile->text_size,
				  &KNOT_DUMP_STYLE_DEFAULT);
	knot_rdataset_clear(&rrset.rrs, NULL);
	if (ret < 0)
		return ret == KNOT_ENOMEM ? -ENOMEM : DNSBLV6_ERECORD;
	return fputs(zonefile->text, zonefile->stream) < 0 ? -errno : DNSBLV6_OK;
}

static int print_rrs(struct zonefile *zonefile, const struct dnsblv6_labels *owner,
		     struct store_bytes value)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		if (rr.type == DNSBLV6_TYPE_SOA)
			zonefile->negative_ttl = rr.ttl;
		ret = print_rr(zonefile, owner, rr.type, rr.ttl, rr.rdata, rr.rdata_size);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int print_rrsig(struct zonefile *zonefile, const struct dnsblv6_labels *name,
		       const struct dnsblv6_labels *owner, uint16_t type, uint32_t ttl,
		       const struct dnsblv6_signature *signature)
{
	uint8_t rdata[DNSBLV6_RRSIG_MAX];
	struct dnsblv6_rrsig rrsig = {
		.type_covered = type,
		.algorithm = zonefile->signing.algorithm,
		.labels = dnsblv6_rrsig_labels(&zonefile->facts.zone, name),
		.ttl = ttl,
		.signature = *signature,
	};
	size_t size = dnsblv6_rrsig_encode(&rrsig, &zonefile->facts.zone, rdata);
	return print_rr(zonefile, owner, DNSBLV6_TYPE_RRSIG, ttl, rdata, (uint16_t)size);
}

static int print_bitmap(struct zonefile *zonefile, const struct dnsblv6_labels *name,
			const struct dnsblv6_labels *owner, struct store_bytes value)
{
	struct dnsblv6_bitmap map;
	struct dnsblv6_signatures signatures;
	uint32_t ttl = zonefile->facts.ttl;
	int ret = dnsblv6_record_decode_bitmap(value.data, value.size, &map);
	if (ret == DNSBLV6_OK)
		ret = print_rr(zonefile, owner, DNSBLV6_TYPE_AAAA, ttl, map.bytes,
			       sizeof(map.bytes));
	if (ret != DNSBLV6_OK || !zonefile->is_signed)
		return ret;
	ret = dnsblv6_record_decode_signatures(value.data, value.size, &signatures);
	if (ret == DNSBLV6_OK)
		ret = print_rrsig(zonefile, name, owner, DNSBLV6_TYPE_AAAA, ttl, &signatures.aaaa);
	if (ret == DNSBLV6_OK)
		ret = print_rrsig(zonefile, name, owner, DNSBLV6_TYPE_NSEC, zonefile->negative_ttl,
				  &signatures.nsec);
	return ret;
}

/* The NSEC is in no record: it follows from the next name and the types here. */
static int print_nsec(struct zonefile *zonefile, const struct dnsblv6_labels *owner,
		      struct store_bytes value, const struct dnsblv6_labels *next)
{
	uint8_t rdata[DNSBLV6_NSEC_MAX];
	struct dnsblv6_types types;
	int ret = dnsblv6_types_of_record(value.data, value.size, true, &types);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size = dnsblv6_nsec_encode(&zonefile->facts.zone, next, &types, rdata);
	return print_rr(zonefile, owner, DNSBLV6_TYPE_NSEC, zonefile->negative_ttl, rdata,
			(uint16_t)size);
}

static int print_record(struct zonefile *zonefile, const struct dnsblv6_labels *name,
			struct store_bytes value, const struct dnsblv6_labels *next)
{
	struct dnsblv6_labels owner;
	const struct dnsblv6_labels *zone = &zonefile->facts.zone;
	int ret = dnsblv6_name_join(name->wire, name->size, zone->wire, zone->size, &owner);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = dnsblv6_record_kind(value.data, value.size) == DNSBLV6_RECORD_RRSETS
		      ? print_rrs(zonefile, &owner, value)
		      : print_bitmap(zonefile, name, &owner, value);
	return ret == DNSBLV6_OK && zonefile->is_signed ? print_nsec(zonefile, &owner, value, next)
							: ret;
}

/* Each name with the one behind it; behind the last comes the apex again. */
static int print_names(struct zonefile *zonefile, struct reader *reader)
{
	struct dnsblv6_labels name;
	struct dnsblv6_labels next = { 0 };
	struct store_bytes key;
	struct store_bytes value;
	struct store_bytes next_value = { 0 };
	int ret = reader_seek(reader, STORE_RECORDS, NULL, 0, &key, &value);
	bool has_more = ret == DNSBLV6_OK;
	if (has_more)
		ret = dnsblv6_key_to_labels(key.data, key.size, &name);
	while (ret == DNSBLV6_OK && has_more) {
		memset(&next, 0, sizeof(next));
		ret = reader_next(reader, STORE_RECORDS, &key, &next_value);
		has_more = ret == DNSBLV6_OK;
		if (has_more)
			ret = dnsblv6_key_to_labels(key.data, key.size, &next);
		if (ret == DNSBLV6_OK || ret == DNSBLV6_ENOTFOUND)
			ret = print_record(zonefile, &name, value, &next);
		name = next;
		value = next_value;
	}
	return ret;
}

static int read_signing(struct zonefile *zonefile, struct reader *reader)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_SIGNING,
			     strlen(DNSBLV6_FACT_SIGNING), &value);
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	zonefile->is_signed = true;
	return ret == DNSBLV6_OK
		       ? dnsblv6_signing_decode(value.data, value.size, &zonefile->signing)
		       : ret;
}

int zonefile_print(struct reader *reader, FILE *stream)
{
	struct zonefile zonefile = { .stream = stream, .text_size = 4096 };
	int ret = contents_read_facts(reader, &zonefile.facts);
	if (ret == DNSBLV6_OK)
		ret = read_signing(&zonefile, reader);
	if (ret != DNSBLV6_OK)
		return ret;
	zonefile.text = malloc(zonefile.text_size);
	if (zonefile.text == NULL)
		return -ENOMEM;
	ret = print_names(&zonefile, reader);
	free(zonefile.text);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}
