/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/crew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS   10000
#define LIFE_MIN_MS    2000 /* younger is "dies at once" */

const char *crew_role_name(enum crew_role role)
{
	static const char *const names[CREW_ROLES] = {
		[CREW_KEYHOLDER] = "keyholder",
		[CREW_EDGE] = "edge",
		[CREW_WORKER] = "worker",
	};
	return names[role];
}

int crew_init(struct crew *ret_crew, unsigned keyholders, unsigned edges, unsigned workers)
{
	const unsigned counts[CREW_ROLES] = { keyholders, edges, workers };
	struct crew crew = { .count = keyholders + edges + workers };
	struct crew_slot *slot = calloc(crew.count, sizeof(*slot));
	if (slot == NULL)
		return -ENOMEM;
	crew.slots = slot;
	for (unsigned role = 0; role < CREW_ROLES; role++) {
		crew.kill_ms[role] = CREW_NEVER;
		for (unsigned i = 0; i < counts[role]; i++)
			*slot++ = (struct crew_slot){ .role = (enum crew_role)role, .index = i };
	}
	*ret_crew = crew;
	return 0;
}

void crew_deinit(struct crew *crew)
{
	free(crew->slots);
	memset(crew, 0, sizeof(*crew));
}

void crew_began(struct crew_slot *slot, pid_t pid, uint64_t now_ms)
{
	slot->pid = pid;
	slot->began_ms = now_ms;
}

void crew_not_begun(struct crew_slot *slot, uint64_t now_ms)
{
	slot->due_ms = now_ms + PAUSE_MAX_MS;
}

void crew_ended(struct crew_slot *slot, bool is_retired, uint64_t now_ms)
{
	slot->pid = 0;
	if (is_retired || now_ms - slot->began_ms >= LIFE_MIN_MS) {
		slot->pause_ms = 0;
		slot->due_ms = now_ms;
		return;
	}
	slot->due_ms = now_ms + slot->pause_ms;
	slot->pause_ms = slot->pause_ms == 0 ? PAUSE_FIRST_MS : slot->pause_ms * 2;
	if (slot->pause_ms > PAUSE_MAX_MS)
		slot->pause_ms = PAUSE_MAX_MS;
}

bool crew_is_due(const struct crew *crew, const struct crew_slot *slot, uint64_t now_ms)
{
	return slot->pid == 0 && !crew->is_told[slot->role] && now_ms >= slot->due_ms;
}

bool crew_is_overdue(const struct crew *crew, const struct crew_slot *slot, uint64_t now_ms)
{
	return slot->pid != 0 && now_ms >= crew->kill_ms[slot->role];
}

struct crew_slot *crew_find(struct crew *crew, pid_t pid)
{
	for (unsigned i = 0; i < crew->count; i++) {
		if (crew->slots[i].pid == pid)
			return &crew->slots[i];
	}
	return NULL;
}

unsigned crew_count(const struct crew *crew, enum crew_role role)
{
	unsigned count = 0;
	for (unsigned i = 0; i < crew->count; i++)
		count += crew->slots[i].role == role && crew->slots[i].pid != 0;
	return count;
}

uint64_t crew_next_ms(const struct crew *crew)
{
	uint64_t next = CREW_NEVER;
	for (unsigned i = 0; i < crew->count; i++) {
		const struct crew_slot *slot = &crew->slots[i];
		uint64_t at = slot->pid != 0		  ? crew->kill_ms[slot->role]
			      : crew->is_told[slot->role] ? CREW_NEVER
							  : slot->due_ms;
		next = at < next ? at : next;
	}
	return next;
}

bool crew_tell(struct crew *crew, enum crew_role role, uint64_t kill_ms)
{
	bool is_first = !crew->is_told[role];
	crew->is_told[role] = true;
	if (kill_ms < crew->kill_ms[role])
		crew->kill_ms[role] = kill_ms;
	return is_first;
}
