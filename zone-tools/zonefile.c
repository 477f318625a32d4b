/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zonefile.h"

#include "zone-tools/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libknot/libknot.h>

struct zonefile {
	FILE *stream;
	struct dnsblv6_facts facts;
	char *text; /* of one record; libknot makes it larger */
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
		ret = print_rr(zonefile, owner, rr.type, rr.ttl, rr.rdata, rr.rdata_size);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int print_record(struct zonefile *zonefile, struct store_bytes key, struct store_bytes value)
{
	struct dnsblv6_labels name;
	struct dnsblv6_labels owner;
	struct dnsblv6_bitmap map;
	const struct dnsblv6_labels *zone = &zonefile->facts.zone;
	int ret = dnsblv6_key_to_labels(key.data, key.size, &name);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_name_join(name.wire, name.size, zone->wire, zone->size, &owner);
	if (ret != DNSBLV6_OK)
		return ret;
	if (dnsblv6_record_kind(value.data, value.size) == DNSBLV6_RECORD_RRSETS)
		return print_rrs(zonefile, &owner, value);
	ret = dnsblv6_record_decode_bitmap(value.data, value.size, &map);
	if (ret != DNSBLV6_OK)
		return ret;
	return print_rr(zonefile, &owner, KNOT_RRTYPE_AAAA, zonefile->facts.ttl, map.bytes,
			sizeof(map.bytes));
}

int zonefile_print(struct reader *reader, FILE *stream)
{
	struct zonefile zonefile = { .stream = stream, .text_size = 4096 };
	struct store_bytes key;
	struct store_bytes value;
	int ret = contents_read_facts(reader, &zonefile.facts);
	if (ret != DNSBLV6_OK)
		return ret;
	zonefile.text = malloc(zonefile.text_size);
	if (zonefile.text == NULL)
		return -ENOMEM;
	ret = reader_seek(reader, STORE_RECORDS, NULL, 0, &key, &value);
	while (ret == DNSBLV6_OK) {
		ret = print_record(&zonefile, key, value);
		if (ret == DNSBLV6_OK)
			ret = reader_next(reader, STORE_RECORDS, &key, &value);
	}
	free(zonefile.text);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}
