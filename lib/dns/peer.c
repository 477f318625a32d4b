/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

struct dnsblv6_addr peer_address(const struct sockaddr *peer)
{
	/* Copied: one out of a message need not be aligned for more than its family. */
	if (peer->sa_family == AF_INET) {
		struct sockaddr_in four;
		memcpy(&four, peer, sizeof(four));
		return dnsblv6_addr_from_ipv4(ntohl(four.sin_addr.s_addr));
	}
	struct sockaddr_in6 six;
	memcpy(&six, peer, sizeof(six));
	return dnsblv6_addr_from_bytes(six.sin6_addr.s6_addr);
}

uint16_t peer_format(const struct sockaddr *peer, char *ret_text)
{
	if (peer->sa_family == AF_INET) {
		struct sockaddr_in four;
		memcpy(&four, peer, sizeof(four));
		inet_ntop(AF_INET, &four.sin_addr, ret_text, PEER_TEXT_SIZE);
		return ntohs(four.sin_port);
	}
	struct sockaddr_in6 six;
	memcpy(&six, peer, sizeof(six));
	inet_ntop(AF_INET6, &six.sin6_addr, ret_text, PEER_TEXT_SIZE);
	return ntohs(six.sin6_port);
}

/* No client has a multicast address: room for what is no IPv6 /56. */
#define NETWORK_IPV4   ((uint64_t)0xff00 << 48)
#define NETWORK_IPV6_0 ((uint64_t)0xff01 << 48)
#define NETWORK_MASK   (~(uint64_t)0xff)

static uint64_t network_of_ipv4(const void *ipv4_be)
{
	uint32_t ipv4 = 0;
	memcpy(&ipv4, ipv4_be, sizeof(ipv4));
	return NETWORK_IPV4 | (ntohl(ipv4) & NETWORK_MASK);
}

uint64_t peer_network(const struct sockaddr *peer)
{
	if (peer == NULL)
		return 0;
	if (peer->sa_family == AF_INET)
		return network_of_ipv4((const char *)peer + offsetof(struct sockaddr_in, sin_addr));
	if (peer->sa_family != AF_INET6)
		return 0;
	struct in6_addr six;
	memcpy(&six, (const char *)peer + offsetof(struct sockaddr_in6, sin6_addr), sizeof(six));
	if (IN6_IS_ADDR_V4MAPPED(&six))
		return network_of_ipv4(&six.s6_addr[12]);
	uint64_t high = 0;
	memcpy(&high, &six, sizeof(high));
	high = be64toh(high) & NETWORK_MASK;
	return high != 0 ? high : NETWORK_IPV6_0;
}
