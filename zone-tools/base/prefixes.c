/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/base/prefixes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUN_FIRST = 8,
	RUN_MAX = 8000, /* less than what malloc() would map by itself */
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
	PART_LENGTH = 8,
};

struct prefixes_run {
	struct prefixes_run *next;
	uint32_t count;
	uint32_t capacity;
	uint64_t items[];
};

void prefixes_deinit(struct prefixes *prefixes)
{
	for (unsigned part = 0; prefixes->parts != NULL && part < PREFIXES_PARTS; part++) {
		struct prefixes_run *run = prefixes->parts[part].first;
		while (run != NULL) {
			struct prefixes_run *next = run->next;
			free(run);
			run = next;
		}
	}
	free(prefixes->parts);
	prefixes->parts = NULL;
}

/* The runs of a part grow by half of what it has, so that a small one takes little. */
static struct prefixes_run *add_run(struct prefixes_part *part)
{
	size_t capacity = part->count / 2;
	if (capacity < RUN_FIRST)
		capacity = RUN_FIRST;
	if (capacity > RUN_MAX)
		capacity = RUN_MAX;
	struct prefixes_run *run = malloc(sizeof(*run) + capacity * sizeof(run->items[0]));
	if (run == NULL)
		return NULL;
	*run = (struct prefixes_run){ .capacity = (uint32_t)capacity };
	if (part->last != NULL)
		part->last->next = run;
	else
		part->first = run;
	part->last = run;
	return run;
}

static int add_packed(struct prefixes_part *part, uint64_t packed)
{
	struct prefixes_run *run = part->last;
	if (run == NULL || run->count == run->capacity)
		run = add_run(part);
	if (run == NULL)
		return -ENOMEM;
	run->items[run->count++] = packed;
	part->count++;
	part->is_sorted = false;
	return 0;
}

int prefixes_add(struct prefixes *prefixes, uint32_t first, unsigned length, uint32_t number)
{
	if (prefixes->parts == NULL)
		prefixes->parts = calloc(PREFIXES_PARTS, sizeof(*prefixes->parts));
	if (prefixes->parts == NULL)
		return -ENOMEM;
	unsigned part = first >> PREFIXES_PART_BITS;
	unsigned count = length < PART_LENGTH ? 1u << (PART_LENGTH - length) : 1;
	uint64_t below = first & ((1u << PREFIXES_PART_BITS) - 1);
	uint64_t packed =
		below << PREFIXES_FIRST_SHIFT | (uint64_t)length << PREFIXES_LENGTH_SHIFT | number;
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < count; i++)
		ret = add_packed(&prefixes->parts[part + i], packed);
	return ret;
}

bool prefixes_next(struct prefixes_walk *walk, uint64_t *ret_packed)
{
	if (!walk->is_begun && walk->prefixes->parts != NULL)
		walk->run = walk->prefixes->parts[walk->part].first;
	walk->is_begun = true;
	while (walk->run != NULL && walk->index == walk->run->count) {
		walk->run = walk->run->next;
		walk->index = 0;
	}
	if (walk->run == NULL)
		return false;
	*ret_packed = walk->run->items[walk->index++];
	return true;
}

void prefixes_renumber(struct prefixes *prefixes, const uint32_t *numbers, uint32_t spared)
{
	for (unsigned part = 0; prefixes->parts != NULL && part < PREFIXES_PARTS; part++) {
		for (struct prefixes_run *run = prefixes->parts[part].first; run != NULL;
		     run = run->next) {
			for (uint32_t i = 0; i < run->count; i++) {
				uint32_t number = prefixes_number(run->items[i]);
				uint64_t rest = run->items[i] - number;
				if (number != spared)
					run->items[i] = rest | numbers[number];
			}
		}
	}
}

/* ---- sorting ---- */

/* Keeps the order of those that are equal in the digit at shift. */
static void sort_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	size_t starts[DIGITS] = { 0 };
	size_t at = 0;
	for (size_t i = 0; i < count; i++)
		starts[from[i] >> shift & (DIGITS - 1)]++;
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		size_t size = starts[digit];
		starts[digit] = at;
		at += size;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static bool is_in_order(const uint64_t *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (items[i - 1] >> PREFIXES_LENGTH_SHIFT > items[i] >> PREFIXES_LENGTH_SHIFT)
			return false;
	}
	return true;
}

/* The number is no part of what is sorted by: the three bytes of the address are, and the length. */
static void sort_items(uint64_t *items, uint64_t *other, size_t count)
{
	for (unsigned shift = PREFIXES_LENGTH_SHIFT; shift < 64; shift += 2 * DIGIT_BITS) {
		sort_digit(items, other, count, shift);
		sort_digit(other, items, count, shift + DIGIT_BITS);
	}
}

static void copy_out(const struct prefixes_part *part, uint64_t *items)
{
	for (const struct prefixes_run *run = part->first; run != NULL; run = run->next) {
		memcpy(items, run->items, run->count * sizeof(*items));
		items += run->count;
	}
}

static void copy_in(struct prefixes_part *part, const uint64_t *items)
{
	for (struct prefixes_run *run = part->first; run != NULL; run = run->next) {
		memcpy(run->items, items, run->count * sizeof(*items));
		items += run->count;
	}
}

int prefixes_sort(struct prefixes *prefixes, unsigned number)
{
	if (prefixes->parts == NULL || prefixes->parts[number].is_sorted)
		return 0;
	struct prefixes_part *part = &prefixes->parts[number];
	uint64_t *items = calloc(part->count * 2 + 1, sizeof(*items));
	if (items == NULL)
		return -ENOMEM;
	copy_out(part, items);
	if (!is_in_order(items, part->count)) {
		sort_items(items, items + part->count, part->count);
		copy_in(part, items);
	}
	part->is_sorted = true;
	free(items);
	return 0;
}
