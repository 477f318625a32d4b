/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/dnsblv6.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/format/name.h"

int dnsblv6_ip_parse(const char *text, struct dnsblv6_ip *ret_ip)
{
	struct dnsblv6_addr addr;

	if (text == NULL || ret_ip == NULL ||
	    dnsblv6_addr_parse(text, strlen(text), &addr) != DNSBLV6_OK)
		return -EINVAL;
	dnsblv6_addr_to_bytes(addr, ret_ip->bytes);
	return 0;
}

int dnsblv6_ip_from_sockaddr(const struct sockaddr *address, struct dnsblv6_ip *ret_ip)
{
	if (address == NULL || ret_ip == NULL)
		return -EINVAL;
	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, address, sizeof(in));
		dnsblv6_addr_to_bytes(dnsblv6_addr_from_ipv4(ntohl(in.sin_addr.s_addr)),
				      ret_ip->bytes);
		return 0;
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, address, sizeof(in6));
		memcpy(ret_ip->bytes, &in6.sin6_addr, sizeof(ret_ip->bytes));
		return 0;
	}
	return -EAFNOSUPPORT;
}

size_t dnsblv6_ip_format(const struct dnsblv6_ip *ip, char *ret_text)
{
	_Static_assert(DNSBLV6_IP_TEXT_SIZE == DNSBLV6_ADDR_TEXT_SIZE, "one text, one size");
	if (ip == NULL || ret_text == NULL)
		return 0;
	return dnsblv6_addr_format(dnsblv6_addr_from_bytes(ip->bytes), ret_text);
}

/* The labels of ip in a zone of that kind, relative to it. */
static int make_labels(const struct dnsblv6_ip *ip, const char *kind,
		       struct dnsblv6_labels *ret_labels)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);

	if (strcmp(kind, "classic") == 0) {
		dnsblv6_name_make_classic(addr, ret_labels);
		return 0;
	}
	if (strcmp(kind, "dotted") == 0)
		return dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, dnsblv6_block_of(addr), ret_labels);
	if (strcmp(kind, "flat") == 0)
		return dnsblv6_name_make(DNSBLV6_STYLE_FLAT, dnsblv6_block_of(addr), ret_labels);
	return -EINVAL;
}

int dnsblv6_qname(const struct dnsblv6_ip *ip, const char *kind, const char *zone, char *ret_name,
		  size_t size)
{
	struct dnsblv6_labels labels, apex, whole;
	char text[DNSBLV6_NAME_TEXT_SIZE];

	if (ip == NULL || kind == NULL || zone == NULL || ret_name == NULL ||
	    make_labels(ip, kind, &labels) != 0 ||
	    dnsblv6_name_from_text(zone, &apex) != DNSBLV6_OK ||
	    dnsblv6_name_join(labels.wire, labels.size, apex.wire, apex.size, &whole) != DNSBLV6_OK)
		return -EINVAL;
	size_t length = dnsblv6_name_format(whole.wire, whole.size, text);

	if (length >= size)
		return -ENOSPC;
	memcpy(ret_name, text, length + 1);
	return (int)length;
}

const char *dnsblv6_verdict_name(int verdict)
{
	switch (verdict) {
	case DNSBLV6_CLEAR:
		return "clear";
	case DNSBLV6_LISTED:
		return "listed";
	case DNSBLV6_UNKNOWN:
		return "unknown";
	case DNSBLV6_DEFER:
		return "defer";
	default:
		return "invalid";
	}
}

const char *dnsblv6_zone_state_name(int state)
{
	static const char *const names[] = {
		[DNSBLV6_ZONE_UNPROBED] = "unprobed",
		[DNSBLV6_ZONE_OK] = "ok",
		[DNSBLV6_ZONE_FILTERED] = "filtered",
		[DNSBLV6_ZONE_WILDCARDED] = "wildcarded",
		[DNSBLV6_ZONE_LISTS_WORLD] = "lists-the-world",
		[DNSBLV6_ZONE_UNREACHABLE] = "unreachable",
		[DNSBLV6_ZONE_BLOCKED] = "blocked",
		[DNSBLV6_ZONE_INSECURE] = "insecure",
	};

	if (state < 0 || (size_t)state >= sizeof(names) / sizeof(names[0]))
		return "invalid";
	return names[state];
}

const char *dnsblv6_version(void)
{
	return DNSBLV6_VERSION;
}
