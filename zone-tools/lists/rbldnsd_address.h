/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rbldnsd_address.h - addresses as rbldnsd writes them.
 *
 *     type      taken                                        example
 *     ip4set    1 to 4 octets, /len, or a range of those     127.16-31, 10.0.0/8
 *     ip4trie   1 to 4 octets, /len                          10/8, 192.0.2
 *     ip4tset   4 octets                                     192.0.2.1
 *     ip6trie   1 to 8 groups, "::", /len                    2001:db8, ::1
 *     ip6tset   4 groups; as exclusion all 128 bits          2001:db8:0:1
 *
 * An octet may have leading zeros and is decimal even so. One octet or one
 * group alone is no address. In a range a last end of one octet replaces the
 * last octet given of the first end, and what is missing behind it is 255.
 *
 * Parsers get a pointer to the place in a text that ends in NUL, and move it
 * behind what they took; what may follow is the caller's. They return NULL, or
 * why not: static text. No function here allocates, logs or keeps a pointer.
 */

#include "lib/format/address.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rbldnsd_type {
	RBLDNSD_IP4SET,
	RBLDNSD_IP4TRIE,
	RBLDNSD_IP4TSET,
	RBLDNSD_IP6TRIE,
	RBLDNSD_IP6TSET,
	RBLDNSD_COMBINED,
	RBLDNSD_DNSET,
	RBLDNSD_GENERIC,
	RBLDNSD_ACL,
};

struct rbldnsd_range {
	struct dnsblv6_addr first; /* with its host bits cut off */
	struct dnsblv6_addr last;
	uint8_t prefix_len; /* in the mapped space; 128 for a range "a-b" */
	bool has_host_bits; /* they were set in the text */
};

const char *rbldnsd_address_parse(enum rbldnsd_type type, bool is_exclusion, const char **at,
				  struct rbldnsd_range *ret_range);

/*
 * An A value: as an address, only that "5" is 127.0.0.5, "127.5" is 127.0.0.5
 * and "127.1.5" is 127.1.0.5. Never 0.0.0.0.
 */
const char *rbldnsd_address_parse_a(const char **at, uint32_t *ret_a);
/* The same as a generic list has it: "5" is 0.0.0.5, and 0.0.0.0 is an address. */
bool rbldnsd_address_parse_host(const char **at, uint32_t *ret_host);

#ifdef __cplusplus
}
#endif
