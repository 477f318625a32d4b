/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tally.h - counters by name, which survive the generations that counted them.
 *
 * Flow: parent.c adds a generation when its last worker has gone, and at
 *       SIGUSR1 adds the living ones to a copy and logs that.
 *
 * Memory is ours; end with tally_deinit().
 */

#include "server/counts/counters.h"
#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tally_face {
	char *name;
	uint64_t values[COUNTERS_FACE_COUNT];
};

struct tally {
	uint64_t server[COUNTERS_SERVER_COUNT];
	struct tally_face *faces;
	size_t face_count;
};

void tally_init(struct tally *tally);
void tally_deinit(struct tally *tally);

/* Adds all of bank, whose faces are those of settings. 0 or -ENOMEM. */
int tally_add_bank(struct tally *tally, const struct counters_bank *bank,
		   const struct settings *settings);
/* 0 or -ENOMEM. */
int tally_add(struct tally *tally, const struct tally *other);

/* The values of name, or NULL when nothing was counted under it. Borrowed. */
const uint64_t *tally_find(const struct tally *tally, const char *name);

#ifdef __cplusplus
}
#endif
