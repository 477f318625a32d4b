/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_cab.h"

#include <stdlib.h>
#include <string.h>

#include "lib/content/little.h"
#include "lib/format/array.h"

#define HEAD_SIZE    36
#define RESERVED_AT  4 /* what other readers pass, and libarchive wants as zeros */
#define LIST_AT	     16
#define FOLDERS_AT   26
#define FILES_AT     28
#define FLAGS_AT     30
#define FLAG_VOLUMES 3
#define FLAG_RESERVE 4
#define ENTRY_SIZE   16		/* without the name */
#define END_MAX	     0x7fff8000 /* of a folder's bytes */

struct cab_file {
	const uint8_t *entry;
	size_t name_size; /* with its NUL */
	unsigned folder;
	uint32_t offset;
	uint32_t size;
};

/* A head that is being written. */
struct draft {
	uint8_t *bytes;
	size_t size;
	unsigned count;
};

static void put16(uint8_t *bytes, unsigned value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *bytes, uint32_t value)
{
	put16(bytes, value & 0xffff);
	put16(bytes + 2, value >> 16);
}

/* ---- all of the head ---- */

/* Is the list there, up to its end? */
static bool has_list(struct unpack_cab *cab)
{
	if (cab->size < HEAD_SIZE)
		return false;
	if (cab->list_end == 0)
		cab->list_end = little_get32(cab->bytes + LIST_AT);
	while (cab->list_count < little_get16(cab->bytes + FILES_AT)) {
		/* A place near 4 GB and more do not fit into a size_t of 32 bits. */
		if (cab->list_end >= cab->size - ENTRY_SIZE)
			return false;
		const size_t name_at = cab->list_end + ENTRY_SIZE;
		const uint8_t *end = memchr(cab->bytes + name_at, '\0', cab->size - name_at);
		if (end == NULL)
			return false;
		cab->list_end = (size_t)(end - cab->bytes) + 1;
		cab->list_count++;
	}
	return true;
}

static bool keep(struct unpack_cab *cab, const uint8_t *bytes, size_t size)
{
	if (!array_reserve(cab->bytes, cab->size + size, &cab->room))
		return false;
	memcpy(cab->bytes + cab->size, bytes, size);
	cab->size += size;
	return true;
}

/* false: there is none that can be written anew; what there is is kept all the same. */
static bool gather(struct unpack_cab *cab, struct unpack *unpack)
{
	const uint8_t *bytes = NULL;
	while (!has_list(cab)) {
		const size_t size = unpack_feed_next(unpack, &bytes);
		if (size == 0)
			return false;
		if (cab->size >= UNPACK_CAB_HEAD || !keep(cab, bytes, size)) {
			unpack_stop(unpack, UNPACK_MEMORY);
			return false;
		}
	}
	return true;
}

/* ---- the list ---- */

/* Where folders are, and how far one is from the next; false: not before the list. */
static bool find_folders(const struct unpack_cab *cab, size_t *ret_at, size_t *ret_step)
{
	const bool has_reserve = (little_get16(cab->bytes + FLAGS_AT) & FLAG_RESERVE) != 0;
	const size_t list = little_get32(cab->bytes + LIST_AT);
	*ret_at = HEAD_SIZE;
	*ret_step = 8;
	if (has_reserve && cab->size >= HEAD_SIZE + 4) {
		*ret_at += 4 + (size_t)little_get16(cab->bytes + HEAD_SIZE);
		*ret_step += cab->bytes[HEAD_SIZE + 2];
	}
	const size_t count = little_get16(cab->bytes + FOLDERS_AT);
	return list <= cab->size && *ret_at + count * *ret_step <= list;
}

static void read_list(const struct unpack_cab *cab, struct cab_file *ret_files)
{
	const uint8_t *entry = cab->bytes + little_get32(cab->bytes + LIST_AT);
	for (unsigned i = 0; i < cab->list_count; i++) {
		const size_t name_size = strlen((const char *)entry + ENTRY_SIZE) + 1;
		ret_files[i] = (struct cab_file){ entry, name_size, little_get16(entry + 8),
						  little_get32(entry + 4), little_get32(entry) };
		entry += ENTRY_SIZE + name_size;
	}
}

/* Will libarchive take it? */
static bool is_in_order(const struct cab_file *files, unsigned count, unsigned folder_count)
{
	uint64_t next = 0;
	for (unsigned i = 0; i < count; i++) {
		if (i == 0 || files[i].folder != files[i - 1].folder)
			next = 0;
		if (files[i].offset != next || (i > 0 && files[i].folder < files[i - 1].folder))
			return false;
		next += files[i].size;
		if (files[i].folder >= folder_count || next > END_MAX || files[i].name_size < 2)
			return false;
	}
	return true;
}

/* Programs write them so, and libarchive takes no others. */
static bool is_each_behind(const uint8_t *folders, unsigned count, size_t step)
{
	for (unsigned i = 1; i < count; i++)
		if (little_get32(folders + i * step) <= little_get32(folders + (i - 1) * step))
			return false;
	return true;
}

static int compare_files(const void *a, const void *b)
{
	const struct cab_file *one = a;
	const struct cab_file *two = b;
	if (one->folder != two->folder)
		return one->folder < two->folder ? -1 : 1;
	if (one->offset != two->offset)
		return one->offset < two->offset ? -1 : 1;
	return one->entry < two->entry ? -1 : one->entry > two->entry;
}

static void put_file(struct draft *draft, const struct cab_file *file, uint64_t from, uint64_t end,
		     const char *name, size_t name_size)
{
	uint8_t *entry = draft->bytes + draft->size;
	memcpy(entry, file->entry, ENTRY_SIZE);
	put32(entry, (uint32_t)(end - from));
	put32(entry + 4, (uint32_t)from);
	memcpy(entry + ENTRY_SIZE, name, name_size);
	draft->size += ENTRY_SIZE + name_size;
	draft->count++;
}

/* What nothing has is a file as well. false: a file has some bytes of another one, or is nowhere. */
static bool put_files(struct draft *draft, const struct cab_file *files, unsigned count,
		      unsigned folder_count)
{
	const struct cab_file *last = NULL;
	uint64_t next = 0;
	bool is_right = true;
	for (unsigned i = 0; i < count; i++) {
		const struct cab_file *file = &files[i];
		const uint64_t end = (uint64_t)file->offset + file->size;
		const bool is_there = file->folder < folder_count && end <= END_MAX;
		if (last == NULL || last->folder != file->folder)
			next = 0;
		const bool is_again = last != NULL && last->folder == file->folder &&
				      last->offset == file->offset && last->size == file->size;
		is_right = is_right && is_there &&
			   (file->offset >= next || is_again || file->size == 0);
		if (!is_there || end <= next)
			continue;
		if (file->offset > next)
			put_file(draft, file, next, file->offset, "?", 2);
		const bool has_name = file->name_size > 1;
		put_file(draft, file, file->offset > next ? file->offset : next, end,
			 has_name ? (const char *)file->entry + ENTRY_SIZE : "?",
			 has_name ? file->name_size : 2);
		next = end;
		last = file;
	}
	return is_right;
}

/* Folders are as far behind the list as they were, at least. */
static void finish(struct unpack_cab *cab, struct draft *draft, size_t at, size_t step)
{
	const unsigned folder_count = little_get16(cab->bytes + FOLDERS_AT);
	size_t more = 0;
	if (draft->size > cab->list_end)
		more = draft->size - cab->list_end;
	while (draft->size < cab->list_end)
		draft->bytes[draft->size++] = 0;
	put16(draft->bytes + FILES_AT, draft->count);
	for (size_t i = 0; i < folder_count; i++) {
		uint8_t *folder = draft->bytes + at + i * step;
		put32(folder, little_get32(folder) + (uint32_t)more);
	}
	memcpy(draft->bytes + draft->size, cab->bytes + cab->list_end, cab->size - cab->list_end);
	draft->size += cab->size - cab->list_end;
	free(cab->bytes);
	cab->bytes = draft->bytes;
	cab->size = draft->size;
}

static void sort_list(struct unpack_cab *cab, struct unpack *unpack, struct cab_file *files)
{
	struct draft draft = { NULL, little_get32(cab->bytes + LIST_AT), 0 };
	const unsigned count = cab->list_count;
	const unsigned folder_count = little_get16(cab->bytes + FOLDERS_AT);
	size_t at = 0;
	size_t step = 0;
	read_list(cab, files);
	if (!find_folders(cab, &at, &step))
		return;
	if (!is_each_behind(cab->bytes + at, folder_count, step))
		unpack_tell(unpack, UNPACK_LYING);
	if (is_in_order(files, count, folder_count))
		return;
	/* One that nothing has before each of them, and a name where there is none. */
	draft.bytes = malloc(cab->size + (size_t)count * (ENTRY_SIZE + 3));
	if (draft.bytes == NULL) {
		unpack_stop(unpack, UNPACK_MEMORY);
		return;
	}
	memcpy(draft.bytes, cab->bytes, draft.size);
	qsort(files, count, sizeof(*files), compare_files);
	const bool is_right = put_files(&draft, files, count, folder_count);
	if (!is_right || draft.count > UINT16_MAX)
		unpack_tell(unpack, UNPACK_LYING);
	if (draft.count == 0 || draft.count > UINT16_MAX)
		free(draft.bytes);
	else
		finish(cab, &draft, at, step);
}

static void write_head(struct unpack_cab *cab, struct unpack *unpack)
{
	const unsigned flags = little_get16(cab->bytes + FLAGS_AT);
	if (cab->list_count == 0 || (flags & FLAG_VOLUMES) != 0)
		return;
	struct cab_file *files = malloc(cab->list_count * sizeof(*files));
	if (files == NULL)
		unpack_stop(unpack, UNPACK_MEMORY);
	else
		sort_list(cab, unpack, files);
	free(files);
}

size_t unpack_cab_next(struct unpack_cab *cab, struct unpack *unpack, const uint8_t **ret_bytes)
{
	if (cab->is_given)
		return unpack_feed_next(unpack, ret_bytes);
	cab->is_given = true;
	if (gather(cab, unpack))
		write_head(cab, unpack);
	if (cab->size >= RESERVED_AT + 4)
		memset(cab->bytes + RESERVED_AT, 0, 4);
	*ret_bytes = cab->bytes;
	return cab->size;
}
