/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/anchor.h"

#include <errno.h>

#include <libknot/libknot.h>

int anchor_parse_zone(const char *text, struct dnsblv6_labels *ret_zone)
{
	struct dnsblv6_labels name;
	struct dnsblv6_key lower;
	int ret = dnsblv6_name_from_text(text, &name);
	if (ret != DNSBLV6_OK)
		return ret;
	if (name.size == 0)
		return DNSBLV6_ENAME;
	ret = dnsblv6_key_from_labels(name.wire, name.size, &lower);
	return ret == DNSBLV6_OK ? dnsblv6_key_to_labels(lower.bytes, lower.size, ret_zone) : ret;
}

static int print_rr(FILE *stream, const struct dnsblv6_labels *zone, uint16_t type,
		    const uint8_t *rdata, size_t rdata_size)
{
	char name[DNSBLV6_NAME_TEXT_SIZE];
	char type_name[16];
	char text[512]; /* a DNSKEY in base64 has 108 characters */
	knot_rrset_t rrset;

	dnsblv6_name_format(zone->wire, zone->size, name);
	knot_rrset_init(&rrset, NULL, type, KNOT_CLASS_IN, 0);
	int ret = knot_rrset_add_rdata(&rrset, rdata, (uint16_t)rdata_size, NULL);
	if (ret != KNOT_EOK)
		return -ENOMEM;
	ret = knot_rrset_txt_dump_data(&rrset, 0, text, sizeof(text), &KNOT_DUMP_STYLE_DEFAULT);
	knot_rdataset_clear(&rrset.rrs, NULL);
	if (ret < 0 || knot_rrtype_to_string(type, type_name, sizeof(type_name)) < 0)
		return DNSBLV6_ESPACE;
	ret = fprintf(stream, "%s. IN %s %s\n", name, type_name, text);
	return ret < 0 ? -errno : DNSBLV6_OK;
}

int anchor_print_ds(FILE *stream, const struct dnsblv6_labels *zone, const struct key *key)
{
	uint8_t rdata[KEY_DS_SIZE];
	size_t size = key_ds(zone, key, rdata);
	return size == 0 ? KEY_ECRYPTO : print_rr(stream, zone, KNOT_RRTYPE_DS, rdata, size);
}

int anchor_print_dnskey(FILE *stream, const struct dnsblv6_labels *zone, const struct key *key)
{
	uint8_t rdata[KEY_DNSKEY_MAX];
	size_t size = key_dnskey(key, rdata);
	return print_rr(stream, zone, KNOT_RRTYPE_DNSKEY, rdata, size);
}
