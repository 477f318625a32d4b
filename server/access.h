/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * access.h - who may transfer a zone.
 *
 * Flow: answer.c asks when it has the question, the client's address and the
 *       key that the question was signed with.
 *
 * A secondary of the zone may: who asks from one of its addresses or prefixes,
 * and with its key when it has one. Nobody else.
 */

#include "server/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum access {
	ACCESS_PERMITTED,
	ACCESS_ADDRESS, /* of no secondary of this zone */
	ACCESS_KEY,	/* of one that must sign, with its own key */
};

/*
 * client may be NULL: then nobody asks. key is that of a TSIG found good, or
 * NULL. *ret_secondary is written with ACCESS_PERMITTED.
 */
enum access access_decide(const struct settings *settings, const struct settings_zone *zone,
			  const struct sockaddr *client, const struct tsig_key *key,
			  const struct settings_secondary **ret_secondary);

/* The address of an AF_INET or AF_INET6 client; IPv4-mapped ones are IPv4. */
struct dnsblv6_addr access_address(const struct sockaddr *client);

#ifdef __cplusplus
}
#endif
