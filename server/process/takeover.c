/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/takeover.h"

#include <string.h>

#include "server/zone/zone.h"

/* Does a worker serve it? */
static bool is_served(const struct takeover_side *side, const struct settings_name *domain)
{
	struct zonestatus_zone zone;
	for (size_t i = 0; i < side->settings->zone_count; i++) {
		const struct settings_name *name = &side->settings->zones[i].domain;
		if (name->size == domain->size && memcmp(name->wire, domain->wire, name->size) == 0)
			return zonestatus_find(side->zonestatus, i, ZONESTATUS_SERVING, &zone);
	}
	return false;
}

bool takeover_find_loss(const struct takeover_side *before, const struct takeover_side *after,
			struct takeover_loss *ret_loss)
{
	for (size_t i = 0; i < after->settings->zone_count; i++) {
		const struct settings_zone *zone = &after->settings->zones[i];
		struct zonestatus_zone found;
		if (!zonestatus_find(after->zonestatus, i, ZONESTATUS_FAILED, &found) ||
		    !is_served(before, &zone->domain))
			continue;
		*ret_loss = (struct takeover_loss){ zone, (int)(int64_t)found.status };
		return true;
	}
	return false;
}

void takeover_write_failures(const struct takeover_side *after, FILE *out)
{
	for (size_t i = 0; i < after->settings->zone_count; i++) {
		const struct settings_zone *zone = &after->settings->zones[i];
		struct zonestatus_zone found;
		if (zonestatus_find(after->zonestatus, i, ZONESTATUS_FAILED, &found))
			fprintf(out,
				"warning: [%s] store not opened, answering SERVFAIL, path=%s "
				"(%s)\n",
				zone->domain.text, zone->store,
				zone_strerror((int)(int64_t)found.status));
	}
}
