/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * takeover.h - may new workers take over from those that serve?
 *
 * Flow: a worker of a reload has opened its stores, or could not -> worker.c ->
 *       takeover_find_loss() -> it serves, or tells parent.c, which ends all of them again.
 *
 * A store that was deleted or damaged is served on by the workers that have it open. A new worker
 * would have nothing in its place: no list may be lost by a reload that has another purpose.
 *
 * A zone that is new, or was not served before either, is taken over without a store, as at the
 * start of the server, and named to the one that has ordered the reload.
 */

#include "server/counts/zonestatus.h"
#include "server/settings/settings.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One generation of workers, borrowed. */
struct takeover_side {
	const struct settings *settings;
	const struct zonestatus *zonestatus;
};

/* A zone that would be lost. */
struct takeover_loss {
	const struct settings_zone *zone; /* as the new ones have it; borrowed */
	int status;			  /* why it cannot be opened, for zone_strerror() */
};

/*
 * Is there a zone that a worker of before serves, and one of after cannot open? The first, in
 * *ret_loss. A zone that the configuration has no more is not lost, and one that no worker
 * serves cannot be.
 */
bool takeover_find_loss(const struct takeover_side *before, const struct takeover_side *after,
			struct takeover_loss *ret_loss);

/* Zones of after that no store can be opened for, a line for each, into out. */
void takeover_write_failures(const struct takeover_side *after, FILE *out);

#ifdef __cplusplus
}
#endif
