/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
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
