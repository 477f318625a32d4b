/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * outward.h - sockets by which a server asks its secondaries.
 *
 * Flow: notify.c and inquiry.c -> outward_open() for each address and question.
 */

#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A UDP socket that is connected, so that only that address and port can answer, from an address
 * that the server listens at: secondaries know it by that. Negative when there is none, or no way.
 */
int outward_open(const struct settings *settings, const struct sockaddr_storage *address);

/* One of them: of a zone, a secondary of it, and an address of that, in the order of the settings. */
struct outward_address {
	size_t zone;
	const struct settings_secondary *secondary;
	const struct sockaddr_storage *address;
};
/* False behind the last. */
bool outward_find(const struct settings *settings, size_t index, struct outward_address *ret_found);

/* How many addresses the secondaries of all zones have together. */
size_t outward_count(const struct settings *settings);

#ifdef __cplusplus
}
#endif
