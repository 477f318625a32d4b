/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/message/access.h"

#include "lib/dns/peer.h"

static bool is_address_of(const struct settings_secondary *secondary, struct dnsblv6_addr client)
{
	for (size_t i = 0; i < secondary->address_count; i++) {
		const struct sockaddr *address = (const struct sockaddr *)&secondary->addresses[i];
		if (dnsblv6_addr_compare(peer_address(address), client) == 0)
			return true;
	}
	return settings_prefixes_have(&secondary->allow, client);
}

enum access access_decide(const struct settings *settings, const struct settings_zone *zone,
			  const struct sockaddr *client, const struct tsig_key *key,
			  const struct settings_secondary **ret_secondary)
{
	enum access best = ACCESS_ADDRESS;
	if (client == NULL || (client->sa_family != AF_INET && client->sa_family != AF_INET6))
		return best;
	struct dnsblv6_addr address = peer_address(client);
	for (size_t i = 0; i < zone->secondaries.count; i++) {
		const struct settings_secondary *secondary =
			&settings->secondaries[zone->secondaries.indices[i]];
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
	return rule->addresses.count == 0 ||
	       (client != NULL && settings_prefixes_have(&rule->addresses, *client));
}

enum settings_action access_judge(const struct settings *settings, const struct settings_zone *zone,
				  const struct sockaddr *client, const struct tsig_key *key)
{
	const struct settings_secondary *secondary = NULL;
	enum settings_action otherwise = SETTINGS_ALLOW;
	struct dnsblv6_addr address;
	bool is_known = peer_network(client) != 0;
	if (zone->rules.count == 0 ||
	    access_decide(settings, zone, client, key, &secondary) == ACCESS_PERMITTED)
		return SETTINGS_ALLOW;
	if (is_known)
		address = peer_address(client);
	for (size_t i = 0; i < zone->rules.count; i++) {
		const struct settings_rule *rule = &settings->rules[zone->rules.indices[i]];
		if (has_rule(rule, is_known ? &address : NULL, key))
			return rule->action;
		if (rule->action == SETTINGS_ALLOW)
			otherwise = SETTINGS_REFUSE;
	}
	return otherwise;
}
