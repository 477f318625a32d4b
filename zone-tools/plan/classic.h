/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * classic.h - the names of a classic zone (RFC 5782): addresses, and wildcards for networks.
 *
 * Flow: resolve.c's pieces -> classic_walk() calls builder.c and updater.c for every name, in
 *       the order of the store's keys -> classic_record() makes its record.
 *
 * A name below the apex is reversed decimals or reversed nibbles, and a tree of labels has both.
 * A wildcard stands at an octet's or a nibble's border; it answers for all below it that has no
 * names of its own, so an exception costs one name and the wildcards on its way. In a nibble its
 * 15 neighbours have names, and no wildcard above them:
 *
 *     192.0.2.0/24, !192.0.2.9      *.2.0.192 A, 9.2.0.192 HINFO: it exists, and is not listed
 *     192.0.0.0/16, !192.0.2.9      *.0.192 A, *.2.0.192 A, 9.2.0.192 HINFO
 *
 * A node has a wildcard for what most of its children are when few of them are unlisted. This
 * depends on its own children alone, so the names of a zone follow from what it lists and from
 * nothing else.
 *
 * Labels of one digit are an octet and a nibble at once: 2.6.0.0/16 is below "6.2", as is all of
 * 2600::/8. The tree has them as one node, whose wildcard would answer for both families.
 */

#include "zone-tools/plan/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

struct classic_name {
	struct dnsblv6_labels labels; /* relative to the origin */
	struct dnsblv6_prefix prefix; /* what it stands for: an address, or a network */
	uint32_t set;		      /* DNSBLV6_SET_NONE: it exists, but is not listed */
};

typedef int (*classic_fn)(void *context, const struct classic_name *name);
/*
 * Stops at the first call that does not return 0, and returns that; -ENOMEM. 127.0.0.2 stands
 * there in its mapped form as well (RFC 5782 section 5), if pieces have it.
 */
int classic_walk(const struct pieces *pieces, classic_fn fn, void *context);

#define CLASSIC_EVALUES (-2230) /* more values than fit an answer: NAMES_SOURCES_MAX */
/*
 * The record of a name with these values, or with none the one that says "not listed". "$" of a
 * text is the address, or the network of a wildcard. ret_data has data_max bytes. DNSBLV6_ESPACE
 * when that is too little.
 */
int classic_record(const struct classic_name *name, const struct dnsblv6_value *values,
		   size_t value_count, uint32_t ttl, uint8_t *ret_data, size_t data_max,
		   size_t *ret_size);

#ifdef __cplusplus
}
#endif
