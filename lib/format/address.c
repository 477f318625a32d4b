/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/format/ascii.h"

#define IPV4_MAPPED (0xffffull << 32) /* the middle of ::ffff:0:0/96, as part of lo */

enum { GROUPS = 8 };

/* ---- values ---- */

struct dnsblv6_addr dnsblv6_addr_from_ipv4(uint32_t ipv4)
{
	return (struct dnsblv6_addr){ 0, IPV4_MAPPED | ipv4 };
}

void dnsblv6_addr_to_bytes(struct dnsblv6_addr addr, uint8_t *ret_bytes)
{
	for (unsigned i = 0; i < 8; i++) {
		ret_bytes[i] = (uint8_t)(addr.hi >> (56 - 8 * i));
		ret_bytes[8 + i] = (uint8_t)(addr.lo >> (56 - 8 * i));
	}
}

uint32_t dnsblv6_addr_ipv4(struct dnsblv6_addr addr)
{
	return (uint32_t)addr.lo;
}

int dnsblv6_addr_compare(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	if (a.hi != b.hi)
		return a.hi < b.hi ? -1 : 1;
	return (a.lo > b.lo) - (a.lo < b.lo);
}

struct dnsblv6_addr dnsblv6_addr_next(struct dnsblv6_addr addr)
{
	addr.lo++;
	addr.hi += addr.lo == 0;
	return addr;
}

struct dnsblv6_addr dnsblv6_addr_previous(struct dnsblv6_addr addr)
{
	addr.hi -= addr.lo == 0;
	addr.lo--;
	return addr;
}

/* ---- text in ---- */

/*
 * One canonical decimal up to max at text + *offset, which moves behind it.
 * large_status is what a number above max is called.
 */
static int parse_decimal(const char *text, size_t text_size, size_t *offset, unsigned max,
			 int large_status, unsigned *ret_number)
{
	size_t start = *offset;
	size_t i = start;
	unsigned number = 0;

	while (i < text_size && ascii_is_digit(text[i])) {
		number = number * 10 + (unsigned)(text[i] - '0');
		if (number > max)
			return large_status;
		i++;
	}
	if (i == start)
		return DNSBLV6_EADDRESS;
	if (text[start] == '0' && i - start > 1)
		return DNSBLV6_ELEADINGZERO;
	*offset = i;
	*ret_number = number;
	return DNSBLV6_OK;
}

static int parse_ipv4(const char *text, size_t text_size, uint32_t *ret_ipv4)
{
	uint32_t ipv4 = 0;
	size_t offset = 0;

	for (unsigned i = 0; i < 4; i++) {
		unsigned octet;
		if (i > 0 && (offset >= text_size || text[offset++] != '.'))
			return DNSBLV6_EADDRESS;
		int ret = parse_decimal(text, text_size, &offset, 255, DNSBLV6_EOCTET, &octet);
		if (ret != DNSBLV6_OK)
			return ret;
		ipv4 = ipv4 << 8 | octet;
	}
	if (offset != text_size)
		return DNSBLV6_EADDRESS;
	*ret_ipv4 = ipv4;
	return DNSBLV6_OK;
}

static int parse_ipv6(const char *text, size_t text_size, struct dnsblv6_addr *ret_addr)
{
	char copy[INET6_ADDRSTRLEN] = "";
	uint8_t bytes[16];
	if (text_size >= sizeof(copy))
		return DNSBLV6_EADDRESS;
	memcpy(copy, text, text_size);
	if (strlen(copy) != text_size)
		return DNSBLV6_EADDRESS;
	if (inet_pton(AF_INET6, copy, bytes) == 1) {
		*ret_addr = dnsblv6_addr_from_bytes(bytes);
		return DNSBLV6_OK;
	}
	/* What is wrong with octets has a name. */
	const char *tail = strrchr(copy, ':') + 1;
	uint32_t ipv4;
	int ret = strchr(tail, '.') != NULL ? parse_ipv4(tail, strlen(tail), &ipv4)
					    : DNSBLV6_EADDRESS;
	return ret == DNSBLV6_OK ? DNSBLV6_EADDRESS : ret;
}

int dnsblv6_addr_parse(const char *text, size_t text_size, struct dnsblv6_addr *ret_addr)
{
	if (memchr(text, ':', text_size) != NULL)
		return parse_ipv6(text, text_size, ret_addr);
	uint32_t ipv4;
	int ret = parse_ipv4(text, text_size, &ipv4);
	if (ret == DNSBLV6_OK)
		*ret_addr = dnsblv6_addr_from_ipv4(ipv4);
	return ret;
}

int dnsblv6_prefix_parse(const char *text, size_t text_size, struct dnsblv6_prefix *ret_prefix)
{
	const char *slash = memchr(text, '/', text_size);
	size_t addr_size = slash != NULL ? (size_t)(slash - text) : text_size;
	struct dnsblv6_addr addr;
	int ret = dnsblv6_addr_parse(text, addr_size, &addr);
	if (ret != DNSBLV6_OK)
		return ret;

	/* "::ffff:192.0.2.0/120" counts in 128 bits, "192.0.2.0/24" in 32. */
	bool is_dotted = memchr(text, ':', addr_size) == NULL;
	unsigned prefix_len = is_dotted ? 32 : 128;
	if (slash != NULL) {
		size_t offset = addr_size + 1;
		ret = parse_decimal(text, text_size, &offset, prefix_len, DNSBLV6_EPREFIXLEN,
				    &prefix_len);
		if (ret == DNSBLV6_EADDRESS || (ret == DNSBLV6_OK && offset != text_size))
			return DNSBLV6_EPREFIXLEN;
		if (ret != DNSBLV6_OK)
			return ret;
	}
	if (is_dotted)
		prefix_len += DNSBLV6_IPV4_BASE_LEN;

	struct dnsblv6_prefix prefix = dnsblv6_prefix_make(addr, prefix_len);
	if (dnsblv6_addr_compare(prefix.first, addr) != 0)
		return DNSBLV6_EHOSTBITS;
	*ret_prefix = prefix;
	return DNSBLV6_OK;
}

/* ---- text out ---- */

static unsigned group_of(struct dnsblv6_addr addr, unsigned index)
{
	uint64_t half = index < GROUPS / 2 ? addr.hi : addr.lo;
	return (unsigned)(half >> (48 - 16 * (index % (GROUPS / 2)))) & 0xffff;
}

/* RFC 5952 section 4.2: the longest run of two or more zero groups, the first of equals. */
static void find_gap(struct dnsblv6_addr addr, unsigned *ret_start, unsigned *ret_count)
{
	*ret_start = GROUPS;
	*ret_count = 1;
	for (unsigned i = 0; i < GROUPS; i++) {
		unsigned count = 0;
		while (i + count < GROUPS && group_of(addr, i + count) == 0)
			count++;
		if (count > *ret_count) {
			*ret_start = i;
			*ret_count = count;
		}
	}
}

size_t dnsblv6_addr_format(struct dnsblv6_addr addr, char *ret_text)
{
	if (dnsblv6_addr_is_ipv4(addr)) {
		uint32_t ipv4 = dnsblv6_addr_ipv4(addr);
		return (size_t)snprintf(ret_text, DNSBLV6_ADDR_TEXT_SIZE, "%u.%u.%u.%u", ipv4 >> 24,
					ipv4 >> 16 & 255, ipv4 >> 8 & 255, ipv4 & 255);
	}

	unsigned gap_start;
	unsigned gap_count;
	find_gap(addr, &gap_start, &gap_count);
	char *out = ret_text;
	for (unsigned i = 0; i < GROUPS; i++) {
		if (i == gap_start) {
			*out++ = ':';
			if (i + gap_count == GROUPS)
				*out++ = ':';
			i += gap_count - 1;
			continue;
		}
		out += snprintf(out, 6, i > 0 ? ":%x" : "%x", group_of(addr, i));
	}
	*out = '\0';
	return (size_t)(out - ret_text);
}

size_t dnsblv6_prefix_format(struct dnsblv6_prefix prefix, char *ret_text)
{
	size_t size = dnsblv6_addr_format(prefix.first, ret_text);
	if (prefix.prefix_len == 128)
		return size;
	unsigned base = dnsblv6_prefix_is_ipv4(prefix) ? DNSBLV6_IPV4_BASE_LEN : 0;
	return size + (size_t)snprintf(ret_text + size, DNSBLV6_PREFIX_TEXT_SIZE - size, "/%u",
				       prefix.prefix_len - base);
}

/* ---- prefixes, units, blocks ---- */

/* Ones in the first bit_count bits of 64. */
static uint64_t head_mask(unsigned bit_count)
{
	return bit_count == 0 ? 0 : UINT64_MAX << (64 - bit_count);
}

static struct dnsblv6_addr net_mask(unsigned prefix_len)
{
	return (struct dnsblv6_addr){ head_mask(prefix_len < 64 ? prefix_len : 64),
				      head_mask(prefix_len < 64 ? 0 : prefix_len - 64) };
}

struct dnsblv6_prefix dnsblv6_prefix_make(struct dnsblv6_addr addr, unsigned prefix_len)
{
	if (prefix_len > 128)
		prefix_len = 128;
	struct dnsblv6_addr mask = net_mask(prefix_len);
	return (struct dnsblv6_prefix){ { addr.hi & mask.hi, addr.lo & mask.lo },
					(uint8_t)prefix_len };
}

struct dnsblv6_addr dnsblv6_prefix_last(struct dnsblv6_prefix prefix)
{
	struct dnsblv6_addr mask = net_mask(prefix.prefix_len);
	return (struct dnsblv6_addr){ prefix.first.hi | ~mask.hi, prefix.first.lo | ~mask.lo };
}

bool dnsblv6_prefix_contains(struct dnsblv6_prefix prefix, struct dnsblv6_addr addr)
{
	struct dnsblv6_prefix same = dnsblv6_prefix_make(addr, prefix.prefix_len);
	return dnsblv6_addr_compare(same.first, prefix.first) == 0;
}

bool dnsblv6_prefix_is_ipv4(struct dnsblv6_prefix prefix)
{
	return prefix.prefix_len >= DNSBLV6_IPV4_BASE_LEN && dnsblv6_addr_is_ipv4(prefix.first);
}

struct dnsblv6_prefix dnsblv6_prefix_of_range(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	unsigned prefix_len = 128;
	struct dnsblv6_prefix best = { first, 128 };
	while (prefix_len > 0) {
		struct dnsblv6_prefix wider = dnsblv6_prefix_make(first, --prefix_len);
		if (dnsblv6_addr_compare(wider.first, first) != 0 ||
		    dnsblv6_addr_compare(dnsblv6_prefix_last(wider), last) > 0)
			break;
		best = wider;
	}
	return best;
}

bool dnsblv6_prefix_follow(struct dnsblv6_prefix *prefix, struct dnsblv6_addr last)
{
	struct dnsblv6_addr end = dnsblv6_prefix_last(*prefix);
	if (dnsblv6_addr_compare(end, last) >= 0)
		return false;
	*prefix = dnsblv6_prefix_of_range(dnsblv6_addr_next(end), last);
	return true;
}

struct dnsblv6_prefix dnsblv6_block_of(struct dnsblv6_addr addr)
{
	return dnsblv6_prefix_make(addr, dnsblv6_addr_is_ipv4(addr) ? 121 : 57);
}

unsigned dnsblv6_host_index(struct dnsblv6_addr addr)
{
	return (unsigned)(dnsblv6_addr_is_ipv4(addr) ? addr.lo : addr.hi) & 127;
}

struct dnsblv6_prefix dnsblv6_unit_of(struct dnsblv6_addr addr)
{
	return dnsblv6_prefix_make(addr, dnsblv6_addr_is_ipv4(addr) ? 128 : 64);
}
