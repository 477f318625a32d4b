/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * address.h - addresses, prefixes, and the unit and block each belongs to.
 *
 * Flow: zone-tools parses them out of lists; name.h turns blocks into owner
 *       names; client-lib asks about one.
 *
 * There is one address space of 128 bits. An IPv4 address lives in it as the
 * IPv4-mapped ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2), so sorting, ranges
 * and sweeps need no case for the family, and an IPv4-mapped IPv6 address is
 * IPv4 everywhere. Prefix lengths in struct dnsblv6_prefix count in that
 * space: IPv4 /24 is 120. Text always shows the family's own length.
 *
 * The format lists units and publishes blocks:
 *
 *              unit (one bit)   block (one bitmap)   whole-block borders
 *     IPv4     address, /32     /25                  /8 /16 /24
 *     IPv6     /64              /57                  /16 /32 /48 /56
 *
 * Values are plain. No function here allocates, locks, logs or keeps a pointer.
 */

#include "lib/format/status.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DNSBLV6_ADDR_TEXT_SIZE	 40 /* bytes, with the NUL: 8 groups of 4 and 7 colons */
#define DNSBLV6_PREFIX_TEXT_SIZE 44 /* the same with "/128" */
#define DNSBLV6_IPV4_BASE_LEN	 96 /* prefix length of ::ffff:0:0/96 */

struct dnsblv6_addr {
	uint64_t hi; /* the first 64 bits, host order */
	uint64_t lo;
};

struct dnsblv6_prefix {
	struct dnsblv6_addr first; /* bits below prefix_len are zero */
	uint8_t prefix_len;	   /* 0 to 128 in the mapped space */
};

struct dnsblv6_addr dnsblv6_addr_from_ipv4(uint32_t ipv4);
/* 16 bytes in network order, as in struct in6_addr or an AAAA. */
static inline struct dnsblv6_addr dnsblv6_addr_from_bytes(const uint8_t *bytes)
{
	uint64_t halves[2];
	struct dnsblv6_addr addr;

	memcpy(halves, bytes, sizeof(halves));
	addr.hi = be64toh(halves[0]);
	addr.lo = be64toh(halves[1]);
	return addr;
}
void dnsblv6_addr_to_bytes(struct dnsblv6_addr addr, uint8_t *ret_bytes);

static inline bool dnsblv6_addr_is_ipv4(struct dnsblv6_addr addr)
{
	return addr.hi == 0 && addr.lo >> 32 == 0xffff;
}
/* Host order; only meaningful when dnsblv6_addr_is_ipv4(). */
uint32_t dnsblv6_addr_ipv4(struct dnsblv6_addr addr);

/* <0, 0, >0 as memcmp() of the network bytes. */
int dnsblv6_addr_compare(struct dnsblv6_addr a, struct dnsblv6_addr b);
/* The neighbours; wrap at the ends of the space. */
struct dnsblv6_addr dnsblv6_addr_next(struct dnsblv6_addr addr);
struct dnsblv6_addr dnsblv6_addr_previous(struct dnsblv6_addr addr);

/*
 * Text of text_size bytes (no NUL needed) to an address: four canonical
 * decimals, or RFC 4291 section 2.2 text with or without a dotted tail.
 * No brackets, scope or blanks. Returns DNSBLV6_OK, or DNSBLV6_EADDRESS,
 * DNSBLV6_EOCTET or DNSBLV6_ELEADINGZERO; *ret_addr is written on success only.
 */
int dnsblv6_addr_parse(const char *text, size_t text_size, struct dnsblv6_addr *ret_addr);

/* IPv4 as a.b.c.d; IPv6 by RFC 5952. ret_text has DNSBLV6_ADDR_TEXT_SIZE bytes. Returns its length.
 */
size_t dnsblv6_addr_format(struct dnsblv6_addr addr, char *ret_text);

/*
 * "192.0.2.0/24", "2001:db8::/32", or an address alone. Host bits below the
 * length are DNSBLV6_EHOSTBITS, a length above the family's is
 * DNSBLV6_EPREFIXLEN, the rest as dnsblv6_addr_parse().
 */
int dnsblv6_prefix_parse(const char *text, size_t text_size, struct dnsblv6_prefix *ret_prefix);
/* An address alone is printed without a length. Returns the length of the text. */
size_t dnsblv6_prefix_format(struct dnsblv6_prefix prefix, char *ret_text);

/* The prefix of that length that holds addr (host bits are cut off). */
struct dnsblv6_prefix dnsblv6_prefix_make(struct dnsblv6_addr addr, unsigned prefix_len);
struct dnsblv6_addr dnsblv6_prefix_last(struct dnsblv6_prefix prefix);
bool dnsblv6_prefix_contains(struct dnsblv6_prefix prefix, struct dnsblv6_addr addr);
bool dnsblv6_prefix_is_ipv4(struct dnsblv6_prefix prefix);

/* The largest prefix that begins at first and ends at or before last. */
struct dnsblv6_prefix dnsblv6_prefix_of_range(struct dnsblv6_addr first, struct dnsblv6_addr last);
/* Then the next one up to last, which cuts any range into its fewest prefixes; false: it was the last. */
bool dnsblv6_prefix_follow(struct dnsblv6_prefix *prefix, struct dnsblv6_addr last);

/* The block whose bitmap holds addr: an IPv4 /25 or an IPv6 /57. */
struct dnsblv6_prefix dnsblv6_block_of(struct dnsblv6_addr addr);
/* Which of its 128 bits: 0 to 127. */
unsigned dnsblv6_host_index(struct dnsblv6_addr addr);
/* The unit that holds addr: the IPv4 address itself, or the IPv6 /64. */
struct dnsblv6_prefix dnsblv6_unit_of(struct dnsblv6_addr addr);

#ifdef __cplusplus
}
#endif
