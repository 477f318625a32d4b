/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/apex.h"

#include "zone-tools/records/zonemd.h"

#include "lib/format/ascii.h"
#include "lib/format/wellknown.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_WIRE = DNSBLV6_LABELS_MAX + 1, SOA_MAX = 2 * NAME_MAX_WIRE + 20 };

/*
 * An absolute name in wire form with its root label, in lower case: that is its
 * canonical form, RFC 4034 section 6.2. Returns the size.
 */
static size_t put_name(const struct dnsblv6_labels *name, uint8_t *out)
{
	for (unsigned i = 0; i < name->size; i++)
		out[i] = ascii_lower(name->wire[i]); /* sizes are below 64, letters are not */
	out[name->size] = 0;
	return name->size + 1u;
}

/* spec_complete() has checked that text is a name. */
static size_t put_text_name(const char *text, uint8_t *out)
{
	struct dnsblv6_labels name = { 0 };
	if (dnsblv6_name_from_text(text, &name) != DNSBLV6_OK)
		name.size = 0;
	return put_name(&name, out);
}

static size_t put_number(uint32_t number, uint8_t *out)
{
	for (unsigned i = 0; i < 4; i++)
		out[i] = (uint8_t)(number >> (24 - 8 * i));
	return 4;
}

/* The RNAME of the SOA: hostmaster.ZONE when the spec names no mailbox. */
static size_t put_mailbox(const struct spec *spec, uint8_t *out)
{
	static const uint8_t hostmaster[] = "\012hostmaster";
	struct dnsblv6_labels name;
	if (spec->mailbox != NULL)
		return put_text_name(spec->mailbox, out);
	if (dnsblv6_name_join(hostmaster, sizeof(hostmaster) - 1, spec->zone.wire, spec->zone.size,
			      &name) != DNSBLV6_OK)
		name = spec->zone;
	return put_name(&name, out);
}

static size_t put_soa(const struct spec *spec, uint32_t serial, uint8_t *out)
{
	const uint32_t numbers[] = { serial, spec->refresh, spec->retry, spec->expire,
				     spec->negative_ttl };
	size_t size = put_text_name(spec->primary, out);
	size += put_mailbox(spec, out + size);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		size += put_number(numbers[i], out + size);
	return size;
}

size_t apex_encode_apex(const struct spec *spec, uint32_t serial, const struct keyset *keyset,
			uint8_t *ret_data)
{
	uint8_t soa[SOA_MAX];
	uint8_t names[LISTING_NS_MAX][NAME_MAX_WIRE];
	uint8_t zonemd[ZONEMD_RDATA_SIZE];
	struct dnsblv6_rr rrs[2 + LISTING_NS_MAX + KEYSET_RRS_MAX];
	size_t count = 1 + spec->ns_count;
	size_t size = 0;

	rrs[0] = (struct dnsblv6_rr){ DNSBLV6_TYPE_SOA, (uint16_t)put_soa(spec, serial, soa),
				      spec->negative_ttl, soa };
	for (size_t i = 0; i < spec->ns_count; i++) {
		uint16_t rdata_size = (uint16_t)put_text_name(spec->ns[i], names[i]);
		rrs[1 + i] =
			(struct dnsblv6_rr){ DNSBLV6_TYPE_NS, rdata_size, spec->ns_ttl, names[i] };
	}
	count += keyset_rrs(keyset, spec->ttl, rrs + count);
	if (spec->has_zonemd) {
		zonemd_make_placeholder(zonemd);
		rrs[count++] = (struct dnsblv6_rr){ DNSBLV6_TYPE_ZONEMD, sizeof(zonemd), spec->ttl,
						    zonemd };
	}
	int ret = dnsblv6_record_encode_rrs(rrs, count, ret_data, APEX_RECORD_MAX, &size);
	return ret == DNSBLV6_OK ? size : 0;
}

size_t apex_encode_glue(const struct spec *spec, size_t ns, uint8_t *ret_data)
{
	uint8_t bytes[SPEC_ADDRESSES_MAX][16];
	struct dnsblv6_rr rrs[SPEC_ADDRESSES_MAX];
	size_t count = 0;
	size_t size = 0;

	/* Two passes: RRs of one type stand together. */
	for (int is_ipv4 = 1; is_ipv4 >= 0; is_ipv4--) {
		for (size_t i = 0; i < spec->glue_count; i++) {
			struct dnsblv6_addr addr = spec->glue[i].addr;
			if (spec->glue[i].ns != ns || dnsblv6_addr_is_ipv4(addr) != is_ipv4)
				continue;
			dnsblv6_addr_to_bytes(addr, bytes[count]);
			rrs[count] = (struct dnsblv6_rr){
				.type = is_ipv4 ? DNSBLV6_TYPE_A : DNSBLV6_TYPE_AAAA,
				.rdata_size = is_ipv4 ? 4 : 16,
				.ttl = spec->ns_ttl,
				.rdata = bytes[count] + (is_ipv4 ? 12 : 0),
			};
			count++;
		}
	}
	int ret = dnsblv6_record_encode_rrs(rrs, count, ret_data, APEX_RECORD_MAX, &size);
	return ret == DNSBLV6_OK ? size : 0;
}

size_t apex_encode_metadata(const struct spec *spec, bool has_ipv4, bool has_ipv6,
			    uint8_t *ret_data)
{
	struct dnsblv6_metadata metadata = { .style = spec->style,
					     .has_ipv4 = has_ipv4,
					     .has_ipv6 = has_ipv6 };
	uint8_t rdata[DNSBLV6_METADATA_RDATA_MAX];
	size_t size = 0;
	if (spec->classic != NULL)
		snprintf(metadata.classic, sizeof(metadata.classic), "%s", spec->classic);
	if (spec->reason != NULL)
		snprintf(metadata.reason, sizeof(metadata.reason), "%s", spec->reason);
	struct dnsblv6_rr rr = { .type = DNSBLV6_TYPE_TXT,
				 .rdata_size = (uint16_t)dnsblv6_metadata_encode(&metadata, rdata),
				 .ttl = spec->ttl,
				 .rdata = rdata };
	int ret = dnsblv6_record_encode_rrs(&rr, 1, ret_data, APEX_RECORD_MAX, &size);
	return ret == DNSBLV6_OK ? size : 0;
}

bool apex_glue_name(const struct spec *spec, size_t ns, struct dnsblv6_labels *ret_name)
{
	struct dnsblv6_labels name;
	if (dnsblv6_name_from_text(spec->ns[ns], &name) != DNSBLV6_OK ||
	    name.size <= spec->zone.size)
		return false;
	size_t own_size = (size_t)name.size - spec->zone.size;
	if (strncasecmp((const char *)name.wire + own_size, (const char *)spec->zone.wire,
			spec->zone.size) != 0)
		return false;
	return dnsblv6_name_join(name.wire, own_size, NULL, 0, ret_name) == DNSBLV6_OK;
}
