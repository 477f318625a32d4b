/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * totals.h - counters by name, which survive the generations that counted them.
 *
 * Flow: parent.c adds a generation when its last worker has gone, and at
 *       SIGUSR1 adds the living ones to a copy and logs that.
 *
 * Memory is ours; end with totals_deinit().
 */

#include "server/counts/counters.h"
#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

struct totals_face {
	char *name;
	uint64_t values[COUNTERS_FACE_COUNT];
};

struct totals {
	uint64_t server[COUNTERS_SERVER_COUNT];
	struct totals_face *faces;
	size_t face_count;
};

void totals_init(struct totals *totals);
void totals_deinit(struct totals *totals);

/* Adds all of bank, whose faces are those of settings. 0 or -ENOMEM. */
int totals_add_bank(struct totals *totals, const struct counters_bank *bank,
		    const struct settings *settings);
/* 0 or -ENOMEM. */
int totals_add(struct totals *totals, const struct totals *other);

/* The values of name, or NULL when nothing was counted under it. Borrowed. */
const uint64_t *totals_find(const struct totals *totals, const char *name);

#ifdef __cplusplus
}
#endif
