/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/compound.h"

#include "lib/content/little.h"
#include "lib/format/array.h"
#include "lib/format/ascii.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE	 512
#define HEADER_FAT_COUNT 109 /* sectors of the FAT that the header names */
#define ENTRY_SIZE	 128
#define SECTOR_MAX	 0xfffffffa /* what is above means something else */

static const uint8_t signature[8] = { 0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1 };

/* ---- sectors ---- */

/* Where it is, and how much of it, as the last may be cut; 0 when it is not there. */
static size_t find_sector(const struct compound *compound, uint32_t sector, uint64_t *ret_offset)
{
	const uint64_t offset = ((uint64_t)sector + 1) << compound->shift;
	const size_t whole = (size_t)1 << compound->shift;
	if (sector >= compound->sector_count || offset >= compound->size)
		return 0;
	*ret_offset = offset;
	return compound->size - offset < whole ? (size_t)(compound->size - offset) : whole;
}

/* An entry of a table that is in the sectors of a chain; COMPOUND_NONE when it is not there. */
static uint32_t get_link(const struct compound *compound, const struct compound_chain *table,
			 uint32_t number)
{
	const uint64_t at = (uint64_t)number * 4;
	const uint64_t index = at >> compound->shift;
	const uint64_t within = at & (((uint64_t)1 << compound->shift) - 1);
	uint64_t offset = 0;
	if (index >= table->count)
		return COMPOUND_NONE;
	if (find_sector(compound, table->sectors[index], &offset) < within + 4)
		return COMPOUND_NONE;
	return little_get32(compound->bytes + offset + within);
}

static int add_sector(struct compound_chain *chain, size_t *room, uint32_t sector)
{
	if (!array_reserve(chain->sectors, chain->count + 1, room))
		return -ENOMEM;
	chain->sectors[chain->count++] = sector;
	return 0;
}

/* All sectors of a chain, as far as it goes. */
static int read_chain(const struct compound *compound, uint32_t start,
		      struct compound_chain *ret_chain)
{
	size_t room = 0;
	uint64_t offset = 0;
	uint32_t sector = start;
	while (ret_chain->count < compound->sector_count &&
	       find_sector(compound, sector, &offset) > 0) {
		const int status = add_sector(ret_chain, &room, sector);
		if (status < 0)
			return status;
		sector = get_link(compound, &compound->fat, sector);
	}
	return 0;
}

/*
 * The sectors of the FAT: 109 in the header, then in sectors of their own, the last number of each
 * being the next of these.
 */
static int read_fat(struct compound *compound)
{
	const uint32_t each = (uint32_t)1 << (compound->shift - 2);
	const uint32_t needed = compound->sector_count / each + 1;
	size_t room = 0;
	uint64_t offset = 0;
	int status = 0;
	for (uint32_t i = 0; i < HEADER_FAT_COUNT && i < needed && status == 0; i++)
		status = add_sector(&compound->fat, &room,
				    little_get32(compound->bytes + 76 + i * 4));
	uint32_t table = little_get32(compound->bytes + 68);
	for (uint32_t steps = 0; steps < compound->sector_count && status == 0; steps++) {
		if (compound->fat.count >= needed ||
		    find_sector(compound, table, &offset) < each * 4)
			break;
		if (offset + each * 4 > compound->tables_end)
			compound->tables_end = (size_t)offset + each * 4;
		for (uint32_t i = 0; i + 1 < each && compound->fat.count < needed && status == 0;
		     i++)
			status = add_sector(&compound->fat, &room,
					    little_get32(compound->bytes + offset + i * 4));
		table = little_get32(compound->bytes + offset + (each - 1) * 4);
	}
	return status;
}

/* ---- the directory ---- */

static const uint8_t *find_entry(const struct compound *compound, uint32_t number)
{
	const uint64_t at = (uint64_t)number * ENTRY_SIZE;
	const uint64_t index = at >> compound->shift;
	const uint64_t within = at & (((uint64_t)1 << compound->shift) - 1);
	uint64_t offset = 0;
	if (number >= compound->entry_count || index >= compound->directory.count ||
	    find_sector(compound, compound->directory.sectors[index], &offset) <
		    within + ENTRY_SIZE)
		return NULL;
	return compound->bytes + offset + within;
}

bool compound_entry(const struct compound *compound, uint32_t number,
		    struct compound_entry *ret_entry)
{
	const uint8_t *entry = find_entry(compound, number);
	if (entry == NULL)
		return false;
	const uint32_t name_size = little_get16(entry + 64);
	memset(ret_entry, 0, sizeof(*ret_entry));
	memcpy(ret_entry->name, entry, COMPOUND_NAME_SIZE);
	ret_entry->name_size = (uint8_t)(name_size > COMPOUND_NAME_SIZE ? COMPOUND_NAME_SIZE
					 : name_size >= 2		? name_size - 2
									: 0);
	ret_entry->type = entry[66];
	ret_entry->start = little_get32(entry + 116);
	ret_entry->size = little_get32(entry + 120);
	if (compound->has_wide_sizes)
		ret_entry->size |= (uint64_t)little_get32(entry + 124) << 32;
	return true;
}

bool compound_is_named(const struct compound_entry *entry, const char *name)
{
	const size_t size = strlen(name);
	if (entry->name_size != size * 2)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (ascii_lower(entry->name[i * 2]) != ascii_lower((uint8_t)name[i]) ||
		    entry->name[i * 2 + 1] != 0)
			return false;
	}
	return true;
}

/* An entry that was not there before is put on the stack, once. */
static void reach(struct compound *compound, uint32_t number, uint32_t parent, uint32_t *stack,
		  size_t *stack_size)
{
	if (number == 0 || number >= compound->entry_count ||
	    compound->parents[number] != COMPOUND_NONE)
		return;
	compound->parents[number] = parent;
	stack[(*stack_size)++] = number;
}

/* Each storage has a tree of its entries, whose left and right have the same parent. */
static int find_parents(struct compound *compound)
{
	const size_t count = compound->entry_count;
	uint32_t *stack = reallocarray(NULL, count + 1, sizeof(*stack));
	compound->parents = reallocarray(NULL, count + 1, sizeof(*compound->parents));
	if (stack == NULL || compound->parents == NULL) {
		free(stack);
		return -ENOMEM;
	}
	memset(compound->parents, 0xff, (count + 1) * sizeof(*compound->parents));
	size_t stack_size = 0;
	const uint8_t *root = find_entry(compound, 0);
	if (root != NULL)
		reach(compound, little_get32(root + 76), 0, stack, &stack_size);
	while (stack_size > 0) {
		const uint32_t number = stack[--stack_size];
		const uint8_t *entry = find_entry(compound, number);
		if (entry == NULL)
			continue;
		reach(compound, little_get32(entry + 68), compound->parents[number], stack,
		      &stack_size);
		reach(compound, little_get32(entry + 72), compound->parents[number], stack,
		      &stack_size);
		if (entry[66] == COMPOUND_STORAGE)
			reach(compound, little_get32(entry + 76), number, stack, &stack_size);
	}
	free(stack);
	return 0;
}

/* ---- the file ---- */

static int read_tables(struct compound *compound)
{
	int status = read_fat(compound);
	if (status == 0)
		status = read_chain(compound, little_get32(compound->bytes + 48),
				    &compound->directory);
	if (status == 0)
		status = read_chain(compound, little_get32(compound->bytes + 60),
				    &compound->mini_fat);
	if (status < 0)
		return status;
	const uint64_t entries =
		((uint64_t)compound->directory.count << compound->shift) / ENTRY_SIZE;
	compound->entry_count =
		(uint32_t)entries; /* fewer than bytes of a file that is in memory */
	struct compound_entry root;
	if (!compound_entry(compound, 0, &root))
		return -EBADMSG;
	status = read_chain(compound, root.start, &compound->mini);
	return status == 0 ? find_parents(compound) : status;
}

int compound_open(const uint8_t *bytes, size_t size, struct compound *ret_compound)
{
	struct compound compound = { .bytes = bytes, .size = size };
	if (size < HEADER_SIZE || memcmp(bytes, signature, sizeof(signature)) != 0)
		return -EBADMSG;
	compound.has_wide_sizes = little_get16(bytes + 26) >= 4;
	compound.shift = little_get16(bytes + 30);
	compound.mini_shift = little_get16(bytes + 32);
	compound.mini_below = little_get32(bytes + 56);
	if (compound.shift < 7 || compound.shift > 16 || compound.mini_shift < 4 ||
	    compound.mini_shift > compound.shift)
		return -EBADMSG;
	const uint64_t sectors = size >> compound.shift;
	compound.sector_count = sectors < SECTOR_MAX ? (uint32_t)sectors : SECTOR_MAX;
	const int status = read_tables(&compound);
	if (status < 0) {
		compound_close(&compound);
		return status;
	}
	*ret_compound = compound;
	return 0;
}

void compound_close(struct compound *compound)
{
	free(compound->fat.sectors);
	free(compound->mini_fat.sectors);
	free(compound->mini.sectors);
	free(compound->directory.sectors);
	free(compound->parents);
	memset(compound, 0, sizeof(*compound));
}

/* ---- streams ---- */

static uint32_t mini_count(const struct compound *compound)
{
	const uint64_t bytes = (uint64_t)compound->mini.count << compound->shift;
	return (uint32_t)(bytes >> compound->mini_shift);
}

void compound_begin(const struct compound *compound, const struct compound_entry *entry,
		    struct compound_cursor *ret_cursor)
{
	const bool is_mini = entry->size < compound->mini_below && entry->type != COMPOUND_ROOT;
	memset(ret_cursor, 0, sizeof(*ret_cursor));
	ret_cursor->is_mini = is_mini;
	ret_cursor->sector = entry->start;
	ret_cursor->steps_left = is_mini ? mini_count(compound) : compound->sector_count;
	ret_cursor->left = entry->size;
}

static size_t find_mini(const struct compound *compound, uint32_t sector, uint64_t *ret_offset)
{
	const uint64_t at = (uint64_t)sector << compound->mini_shift;
	const uint64_t index = at >> compound->shift;
	const uint64_t within = at & (((uint64_t)1 << compound->shift) - 1);
	const size_t whole = (size_t)1 << compound->mini_shift;
	uint64_t offset = 0;
	if (index >= compound->mini.count)
		return 0;
	const size_t there = find_sector(compound, compound->mini.sectors[index], &offset);
	if (there <= within)
		return 0;
	*ret_offset = offset + within;
	return there - within < whole ? there - (size_t)within : whole;
}

static size_t next_mini(const struct compound *compound, struct compound_cursor *cursor,
			uint64_t *ret_offset)
{
	const size_t size = find_mini(compound, cursor->sector, ret_offset);
	cursor->steps_left--;
	cursor->sector = get_link(compound, &compound->mini_fat, cursor->sector);
	return size;
}

/* Sectors that follow one another in the file are one piece. */
static size_t next_run(const struct compound *compound, struct compound_cursor *cursor,
		       uint64_t *ret_offset)
{
	const size_t whole = (size_t)1 << compound->shift;
	uint64_t ignored = 0;
	size_t last = find_sector(compound, cursor->sector, ret_offset);
	size_t size = last;
	while (last == whole && cursor->steps_left > 0) {
		const uint32_t next = get_link(compound, &compound->fat, cursor->sector);
		const bool is_run = next == cursor->sector + 1 && size < cursor->left;
		cursor->steps_left--;
		cursor->sector = next;
		if (!is_run)
			break;
		last = find_sector(compound, next, &ignored);
		size += last;
	}
	if (last < whole) /* the file ends in it, or before */
		cursor->sector = COMPOUND_NONE;
	return size;
}

static size_t next_piece(const struct compound *compound, struct compound_cursor *cursor,
			 const uint8_t **ret_bytes)
{
	uint64_t offset = 0;
	size_t size = 0;
	if (cursor->left == 0)
		return 0;
	if (cursor->steps_left > 0)
		size = cursor->is_mini ? next_mini(compound, cursor, &offset)
				       : next_run(compound, cursor, &offset);
	if (size == 0) {
		cursor->is_damaged = true;
		cursor->left = 0;
		return 0;
	}
	if (size > cursor->left)
		size = (size_t)cursor->left;
	cursor->left -= size;
	*ret_bytes = compound->bytes + offset;
	return size;
}

size_t compound_next(const struct compound *compound, struct compound_cursor *cursor, size_t most,
		     const uint8_t **ret_bytes)
{
	if (cursor->there == 0)
		cursor->there = next_piece(compound, cursor, &cursor->bytes);
	if (cursor->there == 0)
		return 0;
	const size_t taken = cursor->there < most ? cursor->there : most;
	*ret_bytes = cursor->bytes;
	cursor->bytes += taken;
	cursor->there -= taken;
	return taken;
}

size_t compound_take(const struct compound *compound, struct compound_cursor *cursor,
		     uint8_t *ret_bytes, size_t size)
{
	const uint8_t *bytes = NULL;
	size_t done = 0;
	size_t taken = 0;
	for (; done < size && (taken = compound_next(compound, cursor, size - done, &bytes)) > 0;
	     done += taken)
		memcpy(ret_bytes + done, bytes, taken);
	return done;
}

size_t compound_read(const struct compound *compound, const struct compound_entry *entry,
		     uint8_t *ret_bytes, size_t size)
{
	struct compound_cursor cursor;
	compound_begin(compound, entry, &cursor);
	return compound_take(compound, &cursor, ret_bytes, size);
}
