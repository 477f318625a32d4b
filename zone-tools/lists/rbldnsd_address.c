/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/rbldnsd_address.h"

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

#include <string.h>

static const char not_ipv4[] = "not an IPv4 address";
static const char not_ipv6[] = "not an IPv6 address";
static const char octet_too_large[] = "octet above 255";
static const char prefix_len_wrong[] = "prefix length out of range";

static const char *parse_prefix_len(const char **at, unsigned max, unsigned *ret_prefix_len)
{
	const int64_t number = ascii_take_number(at, NULL, max);
	if (number < 0)
		return prefix_len_wrong;
	*ret_prefix_len = (unsigned)number;
	return NULL;
}

/* ---- IPv4 ---- */

struct octets {
	uint32_t addr; /* octets not given are 0 */
	unsigned bits; /* given: 8, 16, 24 or 32 */
};

static uint32_t mask_of(unsigned bits)
{
	return bits == 0 ? 0 : UINT32_MAX << (32 - bits);
}

static const char *parse_octets(const char **at, struct octets *ret_octets)
{
	struct octets octets = { 0, 0 };
	for (;;) {
		if (!ascii_is_digit(**at))
			return not_ipv4;
		const int64_t octet = ascii_take_number(at, NULL, 255);
		if (octet < 0)
			return (*at)[strspn(*at, "0123456789abcdefABCDEF")] == ':'
				       ? not_ipv4
				       : octet_too_large;
		octets.bits += 8;
		octets.addr |= (uint32_t)octet << (32 - octets.bits);
		if (octets.bits == 32 || **at != '.')
			break;
		(*at)++;
	}
	*ret_octets = octets;
	return NULL;
}

static struct rbldnsd_range make_ipv4(uint32_t addr, unsigned bits)
{
	return (struct rbldnsd_range){
		.first = dnsblv6_addr_from_ipv4(addr & mask_of(bits)),
		.last = dnsblv6_addr_from_ipv4(addr | ~mask_of(bits)),
		.prefix_len = (uint8_t)(DNSBLV6_IPV4_BASE_LEN + bits),
		.has_host_bits = (addr & ~mask_of(bits)) != 0,
	};
}

/* Behind the dash. */
static const char *parse_range_end(const char **at, struct octets first,
				   struct rbldnsd_range *ret_range)
{
	struct octets last;
	const char *fault = parse_octets(at, &last);
	if (fault != NULL)
		return fault;
	if (last.bits == 8) {
		/* 127.0.0.1-2 is 127.0.0.1-127.0.0.2 */
		last.addr = last.addr >> (first.bits - 8) | (first.addr & mask_of(first.bits - 8));
		last.bits = first.bits;
	}
	if (last.bits != first.bits)
		return "ends of the range have different numbers of octets";
	last.addr |= ~mask_of(last.bits);
	if (first.addr > last.addr)
		return "range ends before it begins";
	*ret_range = make_ipv4(first.addr, 32);
	ret_range->last = dnsblv6_addr_from_ipv4(last.addr);
	return NULL;
}

static const char *parse_ipv4_prefix(const char **at, struct octets octets,
				     struct rbldnsd_range *ret_range)
{
	if (**at == '/') {
		(*at)++;
		const char *fault = parse_prefix_len(at, 32, &octets.bits);
		if (fault != NULL)
			return fault;
	} else if (octets.bits == 8) {
		/* "2a03::1" and "20::1" begin with an octet, too. */
		bool is_octet = strchr(" \t:#", **at) != NULL && strncmp(*at, "::", 2) != 0;
		return is_octet ? "one octet alone; write it with /8" : not_ipv4;
	}
	*ret_range = make_ipv4(octets.addr, octets.bits);
	return NULL;
}

static const char *parse_ip4set(const char **at, struct octets octets,
				struct rbldnsd_range *ret_range)
{
	if (**at == '-') {
		(*at)++;
		return parse_range_end(at, octets, ret_range);
	}
	const char *fault = parse_ipv4_prefix(at, octets, ret_range);
	if (fault == NULL && ret_range->prefix_len == DNSBLV6_IPV4_BASE_LEN)
		return "ip4set takes no /0";
	return fault;
}

static const char *parse_ip4tset(struct octets octets, struct rbldnsd_range *ret_range)
{
	if (octets.bits != 32)
		return "ip4tset takes whole addresses only";
	*ret_range = make_ipv4(octets.addr, 32);
	return NULL;
}

/* The last octet given is the last of the address. */
static uint32_t make_host(struct octets octets)
{
	uint32_t last_octet = octets.addr >> (32 - octets.bits) & 255;
	return octets.bits < 32 ? (octets.addr & mask_of(octets.bits - 8)) | last_octet
				: octets.addr;
}

bool rbldnsd_address_parse_host(const char **at, uint32_t *ret_host)
{
	struct octets octets;
	if (parse_octets(at, &octets) != NULL)
		return false;
	*ret_host = make_host(octets);
	return true;
}

const char *rbldnsd_address_parse_a(const char **at, uint32_t *ret_a)
{
	struct octets octets;
	if (parse_octets(at, &octets) != NULL)
		return "not an A value";
	uint32_t a = make_host(octets);
	if (a == 0)
		return "A value is zero";
	if (octets.bits == 8)
		a |= 0x7f000000;
	*ret_a = a;
	return NULL;
}

/* ---- IPv6 ---- */

#define IPV6_SIZE 16

/* False when there is no digit, or the group is above ffff. */
static bool parse_group(const char **at, unsigned *ret_group)
{
	const char *start = *at;
	unsigned group = 0;
	for (; hex_value(**at) >= 0; (*at)++) {
		group = group << 4 | (unsigned)hex_value(**at);
		if (group > 0xffff)
			return false;
	}
	*ret_group = group;
	return *at > start;
}

/* Puts the zeros in that "::" at byte zeros_at stands for. */
static bool expand_zeros(uint8_t *bytes, unsigned size, unsigned zeros_at)
{
	if (size == IPV6_SIZE)
		return false;
	unsigned tail_size = size - zeros_at;
	memmove(bytes + IPV6_SIZE - tail_size, bytes + zeros_at, tail_size);
	memset(bytes + zeros_at, 0, IPV6_SIZE - size);
	return true;
}

/*
 * Returns the bits given: 16 for each group, 128 with "::"; negative for no
 * address. Follows rbldnsd to the letter, which allows one colon too many at
 * the end behind a "::".
 */
static int parse_groups(const char **at, uint8_t *ret_bytes)
{
	unsigned size = 0;
	int zeros_at = -1;
	int bits = -1;

	memset(ret_bytes, 0, IPV6_SIZE);
	if (strncmp(*at, "::", 2) == 0) {
		zeros_at = 0;
		*at += 2;
	}
	unsigned group;
	while (parse_group(at, &group)) {
		ret_bytes[size++] = (uint8_t)(group >> 8);
		ret_bytes[size++] = (uint8_t)group;
		if (**at != ':' || size == IPV6_SIZE) {
			bits = (int)size * 8;
			break;
		}
		(*at)++;
		if (zeros_at < 0 && **at == ':') {
			zeros_at = (int)size;
			(*at)++;
		}
	}
	if (zeros_at < 0)
		return bits;
	return expand_zeros(ret_bytes, size, (unsigned)zeros_at) ? 128 : -1;
}

static const char *parse_ip6trie(const char **at, int bits, struct dnsblv6_addr addr,
				 struct rbldnsd_range *ret_range)
{
	unsigned prefix_len = (unsigned)bits;
	if (**at == '/') {
		(*at)++;
		const char *fault = parse_prefix_len(at, 128, &prefix_len);
		if (fault != NULL)
			return fault;
	} else if (bits == 16) {
		return **at == '.' ? not_ipv6 : "one group alone; write it with /16";
	}
	struct dnsblv6_prefix prefix = dnsblv6_prefix_make(addr, prefix_len);
	*ret_range = (struct rbldnsd_range){
		.first = prefix.first,
		.last = dnsblv6_prefix_last(prefix),
		.prefix_len = prefix.prefix_len,
		.has_host_bits = dnsblv6_addr_compare(prefix.first, addr) != 0,
	};
	return NULL;
}

static const char *parse_ip6tset(int bits, struct dnsblv6_addr addr, bool is_exclusion,
				 struct rbldnsd_range *ret_range)
{
	if (is_exclusion && bits != 128)
		return "an exclusion of ip6tset is a whole address";
	if (!is_exclusion && bits != 64)
		return "an entry of ip6tset is four groups, a /64";
	struct dnsblv6_prefix prefix = dnsblv6_prefix_make(addr, (unsigned)bits);
	*ret_range = (struct rbldnsd_range){
		.first = prefix.first,
		.last = dnsblv6_prefix_last(prefix),
		.prefix_len = prefix.prefix_len,
	};
	return NULL;
}

static const char *parse_ipv6(enum rbldnsd_type type, bool is_exclusion, const char **at,
			      struct rbldnsd_range *ret_range)
{
	uint8_t bytes[IPV6_SIZE];
	int bits = parse_groups(at, bytes);
	if (bits < 0)
		return not_ipv6;
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(bytes);
	const char *fault = type == RBLDNSD_IP6TRIE
				    ? parse_ip6trie(at, bits, addr, ret_range)
				    : parse_ip6tset(bits, addr, is_exclusion, ret_range);
	if (fault == NULL && ret_range->prefix_len >= DNSBLV6_IPV4_BASE_LEN &&
	    dnsblv6_addr_is_ipv4(ret_range->first))
		return "IPv4-mapped address; list it in an IPv4 dataset";
	return fault;
}

const char *rbldnsd_address_parse(enum rbldnsd_type type, bool is_exclusion, const char **at,
				  struct rbldnsd_range *ret_range)
{
	if (type == RBLDNSD_IP6TRIE || type == RBLDNSD_IP6TSET)
		return parse_ipv6(type, is_exclusion, at, ret_range);

	struct octets octets;
	const char *fault = parse_octets(at, &octets);
	if (fault != NULL)
		return fault;
	switch (type) {
	case RBLDNSD_IP4SET:
		return parse_ip4set(at, octets, ret_range);
	case RBLDNSD_IP4TRIE:
		return parse_ipv4_prefix(at, octets, ret_range);
	default:
		return parse_ip4tset(octets, ret_range);
	}
}
