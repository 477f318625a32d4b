/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/followers.h"

#include "lib/common/log.h"

#include <inttypes.h>
#include <sysexits.h>

int followers_await(struct secondaries *secondaries, const struct dnsblv6_labels *zone,
		    uint32_t serial, const char *store)
{
	if (secondaries_wait(secondaries, zone, serial) == 0)
		return EX_OK;
	for (size_t i = 0; i < secondaries->count; i++) {
		const struct secondary *secondary = &secondaries->items[i];
		if (secondary->has_it)
			continue;
		if (secondary->has_answered)
			log_warning(
				store,
				"secondary does not have the version, secondary=%s serial=%" PRIu32
				" wanted=%" PRIu32,
				secondary->text, secondary->serial, serial);
		else
			log_warning(store,
				    "secondary does not answer, secondary=%s wanted=%" PRIu32,
				    secondary->text, serial);
	}
	return EX_UNAVAILABLE;
}
