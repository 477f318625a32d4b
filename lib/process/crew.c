/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/crew.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct crew_pace usual = { .first_ms = 100, .most_ms = 10000, .life_ms = 2000 };

static const struct crew_pace *pace_of(const struct crew_slot *slot)
{
	return slot->pace != NULL ? slot->pace : &usual;
}

int crew_init(struct crew *ret_crew, const unsigned *counts, unsigned role_count,
	      const struct crew_pace *pace)
{
	struct crew crew = { .count = 0 };
	assert(role_count <= CREW_ROLES_MAX);
	for (unsigned role = 0; role < role_count; role++)
		crew.count += counts[role];
	struct crew_slot *slot = calloc((size_t)crew.count + 1, sizeof(*slot));
	if (slot == NULL)
		return -ENOMEM;
	crew.slots = slot;
	for (unsigned role = 0; role < role_count; role++) {
		crew.kill_ms[role] = CREW_NEVER;
		for (unsigned i = 0; i < counts[role]; i++)
			*slot++ = (struct crew_slot){ .role = role, .index = i, .pace = pace };
	}
	*ret_crew = crew;
	return 0;
}

void crew_deinit(struct crew *crew)
{
	free(crew->slots);
	memset(crew, 0, sizeof(*crew));
}

/* ---- a slot ---- */

void crew_began(struct crew_slot *slot, pid_t pid, uint64_t now_ms)
{
	slot->pid = pid;
	slot->began_ms = now_ms;
}

void crew_not_begun(struct crew_slot *slot, uint64_t now_ms)
{
	slot->due_ms = now_ms + pace_of(slot)->most_ms;
}

void crew_ended(struct crew_slot *slot, bool is_retired, uint64_t now_ms)
{
	const struct crew_pace *pace = pace_of(slot);
	slot->pid = 0;
	if (is_retired || now_ms - slot->began_ms >= pace->life_ms) {
		slot->pause_ms = 0;
		slot->due_ms = now_ms;
		return;
	}
	slot->due_ms = now_ms + slot->pause_ms;
	slot->pause_ms = slot->pause_ms == 0 ? pace->first_ms : slot->pause_ms * 2;
	if (slot->pause_ms > pace->most_ms)
		slot->pause_ms = pace->most_ms;
}

bool crew_slot_is_due(const struct crew_slot *slot, uint64_t now_ms)
{
	return slot->pid == 0 && now_ms >= slot->due_ms;
}

uint64_t crew_slot_pause_ms(const struct crew_slot *slot, uint64_t now_ms)
{
	return slot->due_ms > now_ms ? slot->due_ms - now_ms : 0;
}

/* ---- all of them ---- */

struct crew_slot *crew_find_due(struct crew *crew, uint64_t now_ms)
{
	for (unsigned i = 0; i < crew->count; i++) {
		struct crew_slot *slot = &crew->slots[i];
		if (!crew->is_told[slot->role] && crew_slot_is_due(slot, now_ms))
			return slot;
	}
	return NULL;
}

struct crew_slot *crew_find(struct crew *crew, pid_t pid)
{
	for (unsigned i = 0; i < crew->count; i++) {
		if (crew->slots[i].pid == pid)
			return &crew->slots[i];
	}
	return NULL;
}

unsigned crew_count(const struct crew *crew, unsigned role)
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

bool crew_tell(struct crew *crew, unsigned role, uint64_t kill_ms)
{
	bool is_first = !crew->is_told[role];
	crew->is_told[role] = true;
	if (kill_ms < crew->kill_ms[role])
		crew->kill_ms[role] = kill_ms;
	return is_first;
}
