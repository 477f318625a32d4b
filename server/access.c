/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/access.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

struct dnsblv6_addr access_address(const struct sockaddr *client)
{
	/* Copied: a sockaddr out of a message may lie anywhere. */
	if (client->sa_family == AF_INET) {
		struct sockaddr_in four;
		memcpy(&four, client, sizeof(four));
		return dnsblv6_addr_from_ipv4(ntohl(four.sin_addr.s_addr));
	}
	struct sockaddr_in6 six;
	memcpy(&six, client, sizeof(six));
	return dnsblv6_addr_from_bytes(six.sin6_addr.s6_addr);
}

static bool is_address_of(const struct settings_secondary *secondary, struct dnsblv6_addr client)
{
	for (size_t i = 0; i < secondary->address_count; i++) {
		const struct sockaddr *address = (const struct sockaddr *)&secondary->addresses[i];
		if (dnsblv6_addr_compare(access_address(address), client) == 0)
			return true;
	}
	for (size_t i = 0; i < secondary->allow_count; i++) {
		if (dnsblv6_prefix_contains(secondary->allow[i], client))
			return true;
	}
	return false;
}

enum access access_decide(const struct settings *settings, const struct settings_zone *zone,
			  const struct sockaddr *client, const struct tsig_key *key,
			  const struct settings_secondary **ret_secondary)
{
	enum access best = ACCESS_ADDRESS;
	if (client == NULL || (client->sa_family != AF_INET && client->sa_family != AF_INET6))
		return best;
	struct dnsblv6_addr address = access_address(client);
	for (size_t i = 0; i < zone->secondary_count; i++) {
		const struct settings_secondary *secondary =
			&settings->secondaries[zone->secondaries[i]];
		if (!is_address_of(secondary, address))
			continue;
		if (secondary->key == NULL || secondary->key == key) {
			*ret_secondary = secondary;
			return ACCESS_PERMITTED;
		}
		best = ACCESS_KEY;
	}
	return best;
}

/* ---- questions ---- */

static bool has_rule(const struct settings_rule *rule, const struct dnsblv6_addr *client,
		     const struct tsig_key *key)
{
	if (rule->key != NULL && rule->key != key)
		return false;
	for (size_t i = 0; i < rule->address_count; i++) {
		if (client != NULL && dnsblv6_prefix_contains(rule->addresses[i], *client))
			return true;
	}
	return rule->address_count == 0;
}

enum settings_action access_judge(const struct settings *settings, const struct settings_zone *zone,
				  const struct sockaddr *client, const struct tsig_key *key)
{
	const struct settings_secondary *secondary = NULL;
	enum settings_action otherwise = SETTINGS_ALLOW;
	struct dnsblv6_addr address;
	bool is_known = access_network(client) != 0;
	if (zone->rule_count == 0 ||
	    access_decide(settings, zone, client, key, &secondary) == ACCESS_PERMITTED)
		return SETTINGS_ALLOW;
	if (is_known)
		address = access_address(client);
	for (size_t i = 0; i < zone->rule_count; i++) {
		const struct settings_rule *rule = &settings->rules[zone->rules[i]];
		if (has_rule(rule, is_known ? &address : NULL, key))
			return rule->action;
		if (rule->action == SETTINGS_ALLOW)
			otherwise = SETTINGS_REFUSE;
	}
	return otherwise;
}

/* ---- networks ---- */

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

uint64_t access_network(const struct sockaddr *client)
{
	if (client == NULL)
		return 0;
	if (client->sa_family == AF_INET)
		return network_of_ipv4((const char *)client +
				       offsetof(struct sockaddr_in, sin_addr));
	if (client->sa_family != AF_INET6)
		return 0;
	struct in6_addr six;
	memcpy(&six, (const char *)client + offsetof(struct sockaddr_in6, sin6_addr), sizeof(six));
	if (IN6_IS_ADDR_V4MAPPED(&six))
		return network_of_ipv4(&six.s6_addr[12]);
	uint64_t high = 0;
	memcpy(&high, &six, sizeof(high));
	high = be64toh(high) & NETWORK_MASK;
	return high != 0 ? high : NETWORK_IPV6_0;
}
