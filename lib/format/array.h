/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * array.h - growing arrays: the one place where their memory is sized.
 *
 * Flow: what is read item by item, or byte by byte: lists, signatures, segments, the mails of a mailbox.
 *
 *     if (!array_reserve(list->items, list->count + 1, &list->capacity))
 *             return -ENOMEM;
 *     list->items[list->count++] = item;
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes room for count items of item_size bytes each, by half as much again as
 * needed. items is the address of the pointer. False when there is no memory;
 * then nothing has changed.
 */
static inline bool array_grow(void *items, size_t item_size, size_t count, size_t *capacity)
{
	if (count <= *capacity)
		return true;
	size_t room = count + count / 2;
	if (room < 16)
		room = 16;
	if (room > SIZE_MAX / item_size)
		return false;
	void *old;
	memcpy(&old, items, sizeof(old)); /* whatever type of pointer it is */
	void *grown = realloc(old, room * item_size);
	if (grown == NULL)
		return false;
	memcpy(items, &grown, sizeof(grown));
	*capacity = room;
	return true;
}

#define array_reserve(items, count, capacity)                                                      \
	array_grow(&(items), sizeof(*(items)), (count), (capacity))
