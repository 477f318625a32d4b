/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * wellknown.h - what every zone holds besides its list: test points, canaries
 *               and the metadata record.
 *
 * Flow: zone-tools/chain/builder.c puts them in; client-lib probes them.
 * The tables are part of the format: FORMAT.md parts 6 to 8.
 *
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include "lib/format/bitmap.h"
#include "lib/format/name.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 5782 section 5: one address that is always listed, one that never is. */
struct dnsblv6_testpoint {
	struct dnsblv6_addr addr;
	bool is_listed;
};

/* The same of lists of domain names: one label each. */
#define DNSBLV6_NAME_LISTED "test"
#define DNSBLV6_NAME_CLEAR  "invalid"

/* A bitmap with a fixed value, chosen so that some address filter eats it. */
struct dnsblv6_canary {
	struct dnsblv6_addr block; /* first address of its /25, below 127/8 */
	struct dnsblv6_bitmap map;
	const char *range; /* what a filter would name: "fd00::/8" */
};

#define DNSBLV6_TESTPOINT_COUNT 4
#define DNSBLV6_CANARY_COUNT	5

/* Static; index below the count. */
const struct dnsblv6_testpoint *dnsblv6_testpoint_get(size_t index);
const struct dnsblv6_canary *dnsblv6_canary_get(size_t index);

/* ---- metadata: the TXT record at _dnsblv6.ZONE ---- */

#define DNSBLV6_METADATA_LABEL	   "_dnsblv6"
#define DNSBLV6_METADATA_VALUE_MAX 246 /* "classic=" and 246 make a character-string of 254 */

struct dnsblv6_metadata {
	enum dnsblv6_style style;
	bool has_ipv4;
	bool has_ipv6;
	char classic[DNSBLV6_METADATA_VALUE_MAX + 1]; /* classic zone, "" when there is none */
	char reason[DNSBLV6_METADATA_VALUE_MAX + 1];  /* URL, $ is the address; "" for none */
};

/*
 * The RDATA of the TXT: one character-string for each "key=value", "v=1"
 * first. ret_rdata has DNSBLV6_METADATA_RDATA_MAX bytes. Returns the size.
 */
#define DNSBLV6_METADATA_RDATA_MAX 1024
size_t dnsblv6_metadata_encode(const struct dnsblv6_metadata *metadata, uint8_t *ret_rdata);

/*
 * Unknown keys are skipped, so that later versions may add some; another v is
 * DNSBLV6_EMETADATA. Any bytes may be given.
 */
int dnsblv6_metadata_decode(const uint8_t *rdata, size_t size,
			    struct dnsblv6_metadata *ret_metadata);

#ifdef __cplusplus
}
#endif
