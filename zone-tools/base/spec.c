/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/base/spec.h"

#include "lib/format/wellknown.h"

#include <string.h>

/*
 * SOA timers matter to secondaries only; RIPE-203's advice, shortened for lists
 * that change hourly. No secondary that is cut off serves signatures that have ended: they are
 * renewed when five days are left (RFC 6781 section 4.4.2).
 */
enum { REFRESH_S = 3600, RETRY_S = 900, EXPIRE_S = 5 * 86400, NEGATIVE_TTL_S = 600 };

static const char *add_glue(struct spec *spec, size_t ns, const char *text)
{
	struct dnsblv6_addr addr;
	if (spec->glue_count == SPEC_ADDRESSES_MAX)
		return "more than 16 name server addresses";
	int ret = dnsblv6_addr_parse(text, strlen(text), &addr);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	/* Signatures are over different records. */
	for (size_t i = 0; i < spec->glue_count; i++) {
		if (spec->glue[i].ns == ns && dnsblv6_addr_compare(spec->glue[i].addr, addr) == 0)
			return "address given twice";
	}
	spec->glue[spec->glue_count++] = (struct spec_glue){ ns, addr };
	return NULL;
}

const char *spec_explain_name(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text >= 0x80)
			return "not a domain name: in ASCII, with A-labels (xn--...)";
	}
	return "not a domain name";
}

static bool is_same_name(const struct dnsblv6_labels *a, const struct dnsblv6_labels *b)
{
	return a->size == b->size &&
	       strncasecmp((const char *)a->wire, (const char *)b->wire, a->size) == 0;
}

const char *spec_add_ns(struct spec *spec, char *text)
{
	struct dnsblv6_labels name;
	char *rest = text;
	const char *server = strsep(&rest, ",");

	if (spec->ns_count == LISTING_NS_MAX)
		return "more than 32 name servers";
	int ret = dnsblv6_name_from_text(server, &name);
	if (ret != DNSBLV6_OK || name.size == 0)
		return spec_explain_name(server);
	for (size_t i = 0; i < spec->ns_count; i++) {
		struct dnsblv6_labels other;
		if (dnsblv6_name_from_text(spec->ns[i], &other) == DNSBLV6_OK &&
		    is_same_name(&name, &other))
			return "given twice";
	}
	spec->ns[spec->ns_count++] = server;
	while (rest != NULL) {
		const char *problem = add_glue(spec, spec->ns_count - 1, strsep(&rest, ","));
		if (problem != NULL)
			return problem;
	}
	return NULL;
}

const char *spec_take_mailbox(void *mailbox, const char *text)
{
	struct dnsblv6_labels name;
	*(const char **)mailbox = text;
	return dnsblv6_name_from_text(text, &name) == DNSBLV6_OK ? NULL : spec_explain_name(text);
}

const char *spec_take_classic(void *classic, const char *text)
{
	struct dnsblv6_labels name;
	bool is_name = dnsblv6_name_from_text(text, &name) == DNSBLV6_OK && name.size > 0;
	*(const char **)classic = text;
	return is_name && strlen(text) <= DNSBLV6_METADATA_VALUE_MAX ? NULL
								     : spec_explain_name(text);
}

const char *spec_take_reason(void *reason, const char *text)
{
	*(const char **)reason = text;
	if (strlen(text) > DNSBLV6_METADATA_VALUE_MAX)
		return "longer than 246 bytes";
	return strpbrk(text, " \t\r\n") != NULL ? "has a blank in it" : NULL;
}

static void set_default(uint32_t *number, uint32_t from_list, uint32_t fallback)
{
	if (*number == 0)
		*number = from_list != 0 ? from_list : fallback;
}

static bool is_below(const char *text, const struct dnsblv6_labels *zone)
{
	struct dnsblv6_labels name;
	struct dnsblv6_key key;
	struct dnsblv6_key zone_key;
	return dnsblv6_name_from_text(text, &name) == DNSBLV6_OK &&
	       dnsblv6_key_from_labels(name.wire, name.size, &key) == DNSBLV6_OK &&
	       dnsblv6_key_from_labels(zone->wire, zone->size, &zone_key) == DNSBLV6_OK &&
	       dnsblv6_key_is_below(key.bytes, key.size, zone_key.bytes, zone_key.size);
}

static bool has_glue(const struct spec *spec, size_t ns)
{
	for (size_t i = 0; i < spec->glue_count; i++) {
		if (spec->glue[i].ns == ns)
			return true;
	}
	return false;
}

static bool is_apex(const char *text, const struct dnsblv6_labels *zone)
{
	struct dnsblv6_labels name;
	return dnsblv6_name_from_text(text, &name) == DNSBLV6_OK && is_same_name(&name, zone);
}

/* The names of addresses have records of their own. */
static bool is_taken(const char *text, const struct dnsblv6_labels *zone)
{
	struct dnsblv6_labels name;
	return dnsblv6_name_from_text(text, &name) == DNSBLV6_OK && name.size > zone->size &&
	       dnsblv6_name_is_reserved(name.wire, (size_t)name.size - zone->size);
}

const char *spec_check_servers(const struct spec *spec, size_t *ret_number)
{
	for (size_t i = 0; i < spec->ns_count; i++) {
		*ret_number = i;
		bool is_inside = is_below(spec->ns[i], &spec->zone);
		if (is_inside && !has_glue(spec, i))
			return "a name server inside the zone needs its addresses: --ns "
			       "NAME,ADDRESS";
		if (is_inside && is_taken(spec->ns[i], &spec->zone))
			return "a name server inside the zone has a name that addresses need";
		if (is_apex(spec->ns[i], &spec->zone))
			return "a name server cannot have the name of the zone itself";
		if (!is_inside && has_glue(spec, i))
			return "only a name server inside the zone has addresses in it";
	}
	return NULL;
}

bool spec_has_classic_below(const struct spec *spec)
{
	return spec->classic != NULL && is_below(spec->classic, &spec->zone);
}

const char *spec_check_classic(const struct spec *spec)
{
	return spec->classic != NULL && is_apex(spec->classic, &spec->zone)
		       ? "the classic zone cannot have the name of the zone itself"
		       : NULL;
}

static const char *check_names(const struct spec *spec)
{
	struct dnsblv6_labels name;
	if (dnsblv6_name_from_text(spec->primary, &name) != DNSBLV6_OK)
		return "the primary name server is not a domain name";
	if (spec->mailbox != NULL && dnsblv6_name_from_text(spec->mailbox, &name) != DNSBLV6_OK)
		return "the mailbox is not a domain name (hostmaster.example.net.)";
	return spec_check_classic(spec);
}

const char *spec_complete(struct spec *spec, const struct zone_lines *lines)
{
	if (spec->ns_count == 0) {
		for (; spec->ns_count < lines->ns_count; spec->ns_count++)
			spec->ns[spec->ns_count] = lines->ns[spec->ns_count];
		spec->ns_ttl = lines->ns_ttl;
	}
	if (spec->primary == NULL)
		spec->primary = lines->has_soa ? lines->soa_primary : spec->ns[0];
	if (spec->mailbox == NULL && lines->has_soa)
		spec->mailbox = lines->soa_mailbox;
	set_default(&spec->serial, lines->soa_serial, 0);
	set_default(&spec->refresh, lines->soa_refresh, REFRESH_S);
	set_default(&spec->retry, lines->soa_retry, RETRY_S);
	set_default(&spec->expire, lines->soa_expire, EXPIRE_S);
	set_default(&spec->negative_ttl, lines->soa_minimum, NEGATIVE_TTL_S);
	set_default(&spec->ttl, 0, LISTING_TTL_DEFAULT);
	set_default(&spec->ns_ttl, 0, spec->ttl);
	spec->expires_s = lines->expires_s;

	if (spec->ns_count == 0)
		return "a zone needs a name server: give --ns, or $NS in a list";
	size_t number;
	const char *problem = spec_check_servers(spec, &number);
	return problem != NULL ? problem : check_names(spec);
}
