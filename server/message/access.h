/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * access.h - which clients may transfer a zone, and which may ask it.
 *
 * Flow: answer.c asks when it has the question, the client's address and the
 *       key that the question was signed with.
 *
 * A zone may be transferred by its secondaries alone: by a client that asks from
 * one of the addresses or prefixes of one, and with its key when it has one.
 *
 * A zone may be asked by every client, unless it has rules. Then the first decides
 * that has the client's address and key; when none does, the question is refused
 * if one of them allows anything, and answered if none does: rules that only
 * forbid are exceptions, and rules that allow are the list of clients that may
 * ask. A secondary may always ask.
 */

#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum access {
	ACCESS_PERMITTED,
	ACCESS_ADDRESS, /* of no secondary of this zone */
	ACCESS_KEY,	/* of one that must sign, with its own key */
};

/*
 * client may be NULL: then it is no secondary. key is that of a TSIG found good,
 * or NULL. *ret_secondary is written with ACCESS_PERMITTED.
 */
enum access access_decide(const struct settings *settings, const struct settings_zone *zone,
			  const struct sockaddr *client, const struct tsig_key *key,
			  const struct settings_secondary **ret_secondary);

/*
 * May client ask zone? key as above. A client that is NULL, or of another family,
 * has an address of no rule.
 */
enum settings_action access_judge(const struct settings *settings, const struct settings_zone *zone,
				  const struct sockaddr *client, const struct tsig_key *key);

#ifdef __cplusplus
}
#endif
