/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * followstatus.h - which serial each secondary has, for the parent.
 *
 * Flow: parent.c makes one in shared memory for each generation of workers -> inquiry.c of worker 0
 *       writes what secondaries answer -> report.c prints.
 *
 * A place for each zone, secondary of it and address of that, in the order of the settings.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct followstatus_place {
	uint64_t serial;
	uint64_t answered_s; /* Unix time of the last answer; 0: none yet */
};

struct followstatus {
	struct followstatus_place *places; /* shared with the workers */
	size_t count;
};

/* 0 or -errno. */
int followstatus_open(struct followstatus *status, size_t count);
/* Takes one that is all zero. */
void followstatus_close(struct followstatus *status);

void followstatus_put(const struct followstatus *status, size_t index,
		      const struct followstatus_place *value);
struct followstatus_place followstatus_get(const struct followstatus *status, size_t index);

#ifdef __cplusplus
}
#endif
