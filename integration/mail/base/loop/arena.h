/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * arena.h - room for a fixed number of sessions, taken from the system once.
 *
 * Flow: edge.c makes one at its start -> accept takes a slot -> the session's last close
 *       callback gives it back.
 *
 * A slot has two parts. The near one is what a session needs while it waits, and lies next to
 * those of others: it decides what a parked session costs. The far one has pages of its own and
 * is for what few sessions need: half a line, a reply that is not taken, the words of a verdict.
 * A page that no session has written to is not resident, and the slot that was given back last
 * is taken first, so that what is resident follows the most that were taken at a time.
 *
 * A handle with memory of its own. Between arena_new() and arena_free() nothing is allocated.
 * What is in a slot that was taken is what the last session has left there, or zeros.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ARENA_SLOTS_MAX 1000000

struct arena; /* opaque */

/* 0, -EINVAL for a count of 0 or above ARENA_SLOTS_MAX or a near_size of 0, or -ENOMEM. */
int arena_new(size_t slot_count, size_t near_size, size_t far_size, struct arena **ret_arena);
/* Takes NULL. */
void arena_free(struct arena *arena);

/* The near part of a slot, aligned as malloc() does; NULL when all are taken. */
void *arena_take(struct arena *arena);
/* The far part of the same slot. */
void *arena_far(const struct arena *arena, const void *slot);
void arena_give_back(struct arena *arena, void *slot);

size_t arena_count(const struct arena *arena); /* of slots that are taken */
size_t arena_room(const struct arena *arena);  /* of all */
/* Bytes between two slots: what one costs at least. */
size_t arena_stride(const struct arena *arena);

#ifdef __cplusplus
}
#endif
