/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * compound.h - compound files (MS-CFB): storages and streams in one file, as of doc, xls and msi.
 *
 * Flow: unpack_ole.c has all bytes of an object -> compound_open() -> entries of the directory ->
 *       for each stream compound_begin() and compound_next() -> its bytes.
 *
 *     if (compound_open(bytes, size, &compound) == 0) {
 *             for (uint32_t i = 0; compound_entry(&compound, i, &entry); i++)
 *                     ...
 *             compound_close(&compound);
 *     }
 *
 * The directory is read as a list, so that an entry that no storage has is there as well; parents
 * are found by its trees. Chains that are a loop, that leave the file, or are shorter than a stream
 * says, end there: is_damaged. bytes are borrowed until compound_close(). It allocates less than the
 * file's size. No function here logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPOUND_NAME_SIZE 64
#define COMPOUND_NONE	   UINT32_MAX

enum compound_type {
	COMPOUND_UNUSED = 0,
	COMPOUND_STORAGE = 1,
	COMPOUND_STREAM = 2,
	COMPOUND_ROOT = 5
};

struct compound_chain {
	uint32_t *sectors;
	size_t count;
};

struct compound {
	const uint8_t *bytes;
	size_t size;
	unsigned shift; /* of a sector's size */
	unsigned mini_shift;
	uint32_t mini_below; /* streams of fewer bytes are in the root's */
	uint32_t sector_count;
	uint32_t entry_count;
	bool has_wide_sizes; /* 64 bits: of version 4 */
	size_t tables_end;   /* behind the last sector of those that say where the FAT is */
	struct compound_chain fat;
	struct compound_chain mini_fat;
	struct compound_chain mini; /* the root's stream */
	struct compound_chain directory;
	uint32_t *parents; /* of each entry; COMPOUND_NONE: of none */
};

struct compound_entry {
	uint8_t type;
	uint8_t name_size; /* bytes of UTF-16, without its NUL */
	uint8_t name[COMPOUND_NAME_SIZE];
	uint32_t start;
	uint64_t size;
};

/* Where a stream is read. */
struct compound_cursor {
	bool is_mini;
	bool is_damaged;
	uint32_t sector;
	uint32_t steps_left; /* a chain that is longer is a loop */
	uint64_t left;
	const uint8_t *bytes; /* of the sectors that were met last, those that were not given yet */
	size_t there;
};

/* 0, -EBADMSG for what is none, or -ENOMEM. */
int compound_open(const uint8_t *bytes, size_t size, struct compound *ret_compound);
void compound_close(struct compound *compound);

/* false: there are no more. */
bool compound_entry(const struct compound *compound, uint32_t number,
		    struct compound_entry *ret_entry);
/* Is the name the same, but for case? */
bool compound_is_named(const struct compound_entry *entry, const char *name);

void compound_begin(const struct compound *compound, const struct compound_entry *entry,
		    struct compound_cursor *ret_cursor);
/* How many bytes of the stream, at most so many, are at *ret_bytes; 0 at its end. */
size_t compound_next(const struct compound *compound, struct compound_cursor *cursor, size_t most,
		     const uint8_t **ret_bytes);
/* The next bytes, though they are in several pieces; returns how many. */
size_t compound_take(const struct compound *compound, struct compound_cursor *cursor,
		     uint8_t *ret_bytes, size_t size);
/* The first bytes of a stream; returns how many. */
size_t compound_read(const struct compound *compound, const struct compound_entry *entry,
		     uint8_t *ret_bytes, size_t size);
