/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/zonefile.h"

#include "zone-tools/reading/contents.h"

#include "lib/format/unfold.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libknot/libknot.h>

struct zonefile {
	FILE *stream;
	struct dnsblv6_facts facts;
	struct dnsblv6_unfold unfold;
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

static int print_name(struct zonefile *zonefile, const struct dnsblv6_labels *name,
		      struct store_bytes value, const struct dnsblv6_labels *next)
{
	struct dnsblv6_labels owner;
	struct dnsblv6_unfold *unfold = &zonefile->unfold;
	const struct dnsblv6_labels *zone = unfold->zone;
	int ret = dnsblv6_name_join(name->wire, name->size, zone->wire, zone->size, &owner);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_unfold_name(unfold, name, value.data, value.size, next);
	for (size_t i = 0; ret == DNSBLV6_OK && i < unfold->count; i++) {
		const struct dnsblv6_rr *rr = &unfold->rrs[i];
		ret = print_rr(zonefile, &owner, rr->type, rr->ttl, rr->rdata, rr->rdata_size);
	}
	return ret;
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
			ret = print_name(zonefile, &name, value, &next);
		name = next;
		value = next_value;
	}
	return ret;
}

static int begin_unfolding(struct zonefile *zonefile, struct reader *reader)
{
	struct dnsblv6_key apex = dnsblv6_key_of_apex();
	struct dnsblv6_signing signing;
	struct store_bytes value;
	int ret = contents_read_facts(reader, &zonefile->facts);
	if (ret == DNSBLV6_OK)
		ret = reader_get(reader, STORE_RECORDS, apex.bytes, apex.size, &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_unfold_begin(&zonefile->unfold, &zonefile->facts, value.data,
					   value.size);
	if (ret == DNSBLV6_OK)
		ret = contents_read_signing(reader, &signing);
	if (ret != DNSBLV6_OK)
		return ret;
	zonefile->unfold.is_signed = signing.algorithm != 0;
	zonefile->unfold.algorithm = signing.algorithm;
	zonefile->unfold.other_algorithm = signing.other_algorithm;
	return DNSBLV6_OK;
}

int zonefile_print(struct reader *reader, FILE *stream)
{
	struct zonefile zonefile = { .stream = stream, .text_size = 4096 };
	int ret = begin_unfolding(&zonefile, reader);
	if (ret != DNSBLV6_OK)
		return ret;
	zonefile.text = malloc(zonefile.text_size);
	if (zonefile.text == NULL)
		return -ENOMEM;
	ret = print_names(&zonefile, reader);
	free(zonefile.text);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}
