/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * spec.h - what a zone is besides its list: names, times, name servers.
 *
 * Flow: build.c fills it from the command line, spec_complete() adds what
 *       $SOA and $NS lines said and the defaults; apex.c makes records of it.
 *
 * Text pointers are borrowed from the command line or the listing.
 */

#include "zone-tools/base/listing.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SPEC_ADDRESSES_MAX 16 /* glue addresses of all name servers together */

struct spec_glue {
	size_t ns; /* which of spec->ns */
	struct dnsblv6_addr addr;
};

/* 0 stands for "not given" in every number. */
struct spec {
	struct dnsblv6_labels zone;
	enum dnsblv6_style style;
	uint32_t ttl;	       /* of bitmaps, NS and metadata, seconds */
	uint32_t negative_ttl; /* SOA MINIMUM and the SOA's own TTL, RFC 2308 */
	uint32_t ns_ttl;
	uint32_t serial; /* 0: chosen when the store is written */
	bool has_serial; /* by option: it must be taken; a list's is a wish */
	uint32_t refresh, retry, expire;
	const char *primary; /* SOA MNAME */
	const char *mailbox; /* SOA RNAME, as a domain name */
	const char *ns[LISTING_NS_MAX];
	size_t ns_count;
	struct spec_glue glue[SPEC_ADDRESSES_MAX];
	size_t glue_count;
	const char *classic; /* name of the classic zone, or NULL */
	const char *reason;  /* URL, or NULL */
	uint64_t expires_s;
	bool has_zonemd; /* a digest of the zone, RFC 8976 */
};

/* Why a text is no domain name, static; such as for one that dnsblv6_name_from_text() has refused. */
const char *spec_explain_name(const char *text);

/*
 * "ns1.example.net." or "ns1.bl6.example.,192.0.2.53,2001:db8::53". text is
 * cut into pieces in place. Returns NULL, or what is wrong with it.
 */
const char *spec_add_ns(struct spec *spec, char *text);

/* Take the text of a row into the member of that name, which borrows it. NULL, or what is wrong, static. */
const char *spec_take_mailbox(void *mailbox, const char *text);
const char *spec_take_classic(void *classic, const char *text);
const char *spec_take_reason(void *reason, const char *text);

/* Why name server *ret_number cannot be one of the zone; NULL when all can, or there is none yet. */
const char *spec_check_servers(const struct spec *spec, size_t *ret_number);
/* Why the classic zone cannot have its name; NULL when it can, or there is none. */
const char *spec_check_classic(const struct spec *spec);
/* Is the classic zone's name below the zone's? A signed zone proves that there is nothing there. */
bool spec_has_classic_below(const struct spec *spec);

/* What the list and the defaults add. Returns NULL, or what is missing or wrong. */
const char *spec_complete(struct spec *spec, const struct zone_lines *lines);

#ifdef __cplusplus
}
#endif
