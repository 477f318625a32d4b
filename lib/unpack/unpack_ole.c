/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/content/little.h"
#include "lib/content/unicode.h"
#include "lib/unpack/compound.h"
#include "lib/unpack/office/unpack_package.h"
#include "lib/unpack/office/unpack_workbook.h"
#include "lib/unpack/unpack_name.h"
#include "lib/unpack/unpack_native.h"
#include "lib/unpack/vba.h"

#define PATH_DEPTH   12		  /* of storages within one another that a path names */
#define PATH_SIZE    1024	  /* before it is cut to a name's */
#define HEAD_SIZE    1024	  /* of a stream, to see whether and how it is encrypted */
#define DIR_SIZE_MAX (256 * 1024) /* of a project's list of modules */
#define PROJECTS_MAX 64		  /* of macros; a document has one */
#define LOCKS_MAX    16		  /* keys of what is encrypted that are tried; a document has one */
#define LOOKS_MAX    256	  /* streams that are encrypted, whose keys are looked for */
#define INFO_MAX     (64 * 1024)  /* bytes that say how one is encrypted */
#define ROUND_COST   64		  /* bytes that come out in the time that a round of hashes takes */
#define PACKAGE_HEAD 8

struct ole {
	struct unpack *unpack;
	struct compound compound;
	/* The project whose modules were looked at last. */
	unsigned project_count;
	uint32_t project; /* its storage */
	uint8_t *dir;
	size_t dir_size;
	size_t end; /* behind the last byte that something has */
	/* Of the stream that was looked at last, when Excel's own password opens it. */
	unsigned look_count;
	unsigned lock_count;
	bool has_package;
	bool has_workbook;
	struct office_package package;
	struct office_workbook workbook;
};

/* ---- names ---- */

/* UTF-8; halves of characters, which no program writes, are shown as '?'. */
static size_t put_unit(uint8_t *out, uint32_t unit)
{
	return unicode_put(unit >= 0xd800 && unit < 0xe000 ? '?' : unit, out);
}

/* An installer's names have two characters, of 64 that there are, in one that is Chinese. */
static size_t put_name_unit(uint8_t *out, uint32_t unit)
{
	static const char packed[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._";
	if (unit < 0x3800 || unit > 0x4840)
		return put_unit(out, unit);
	if (unit == 0x4840)
		return put_unit(out, '!');
	if (unit >= 0x4800)
		return put_unit(out, (uint8_t)packed[unit - 0x4800]);
	out[0] = (uint8_t)packed[unit & 0x3f];
	out[1] = (uint8_t)packed[(unit - 0x3800) >> 6 & 0x3f];
	return 2;
}

static size_t put_entry_name(uint8_t *out, const struct compound_entry *entry)
{
	size_t size = 0;
	for (size_t i = 0; i + 1 < entry->name_size; i += 2)
		size += put_name_unit(out + size, little_get16(entry->name + i));
	return size;
}

/* "ObjectPool/_1/Contents". ret_name has UNPACK_NAME_SIZE bytes. */
static void make_path(const struct ole *ole, uint32_t number, char *ret_name)
{
	uint8_t path[PATH_SIZE + 3 * COMPOUND_NAME_SIZE];
	uint32_t steps[PATH_DEPTH];
	size_t depth = 0;
	size_t size = 0;
	while (depth < PATH_DEPTH && number != 0 && number != COMPOUND_NONE) {
		steps[depth++] = number;
		number = ole->compound.parents[number];
	}
	while (depth > 0 && size < PATH_SIZE) {
		struct compound_entry entry;
		if (compound_entry(&ole->compound, steps[--depth], &entry))
			size += put_entry_name(path + size, &entry);
		if (depth > 0)
			path[size++] = '/';
	}
	unpack_name(path, size, UNPACK_NAME_LATIN1, ret_name);
}

/* ---- streams in pieces ---- */

/* All of a head? */
static bool take_all(const struct ole *ole, struct compound_cursor *cursor, uint8_t *ret_head,
		     size_t size)
{
	return compound_take(&ole->compound, cursor, ret_head, size) == size;
}

/* Are there so many bytes? */
static bool pass(const struct ole *ole, struct compound_cursor *cursor, uint64_t size,
		 bool is_given)
{
	const uint8_t *bytes = NULL;
	size_t taken = 0;
	for (; size > 0 && (taken = compound_next(&ole->compound, cursor, size, &bytes)) > 0;
	     size -= taken) {
		if (is_given && !unpack_give(ole->unpack, bytes, taken))
			return true;
	}
	return size == 0;
}

/* ---- what is encrypted ---- */

/* The flags of a document of Word (MS-DOC 2.5.2). */
static bool is_encrypted_word(const uint8_t *head, size_t size)
{
	return size >= 12 && little_get16(head) == 0xa5ec &&
	       (little_get16(head + 10) & 0x0100) != 0;
}

static bool is_workbook(const struct compound_entry *entry)
{
	return compound_is_named(entry, "Workbook") || compound_is_named(entry, "Book");
}

/* FilePass of a workbook, of which Office has it behind a record or two. Returns its size. */
static size_t read_filepass(struct ole *ole, const struct compound_entry *entry,
			    uint8_t ret_record[HEAD_SIZE])
{
	struct compound_cursor cursor;
	compound_begin(&ole->compound, entry, &cursor);
	while (take_all(ole, &cursor, ret_record, OFFICE_RECORD_HEAD)) {
		const size_t size = little_get16(ret_record + 2);
		const size_t room = HEAD_SIZE - OFFICE_RECORD_HEAD;
		if (office_workbook_is_locked(ret_record))
			return OFFICE_RECORD_HEAD + compound_take(&ole->compound, &cursor,
								  ret_record + OFFICE_RECORD_HEAD,
								  size < room ? size : room);
		if (office_workbook_is_past(ret_record))
			return 0;
		pass(ole, &cursor, size, false);
	}
	return 0;
}

static bool is_encrypted(struct ole *ole, const struct compound_entry *entry)
{
	uint8_t head[HEAD_SIZE];
	if (compound_is_named(entry, "EncryptedPackage") ||
	    compound_is_named(entry, "EncryptedSummary"))
		return true;
	if (compound_is_named(entry, "WordDocument"))
		return is_encrypted_word(head,
					 compound_read(&ole->compound, entry, head, HEAD_SIZE));
	if (is_workbook(entry))
		return read_filepass(ole, entry, head) > 0;
	return false;
}

/* The beginning of a stream in memory of its own; NULL when it is empty, or there is none. */
static uint8_t *load(struct ole *ole, const struct compound_entry *entry, size_t *ret_size)
{
	const size_t size =
		entry->size < UNPACK_OLE_MEMORY / 2 ? (size_t)entry->size : UNPACK_OLE_MEMORY / 2;
	uint8_t *bytes = size > 0 ? malloc(size) : NULL;
	if (bytes == NULL && size > 0)
		unpack_stop(ole->unpack, UNPACK_MEMORY);
	if (bytes != NULL)
		*ret_size = compound_read(&ole->compound, entry, bytes, size);
	return bytes;
}

/* A stream of a storage by its name. */
static bool find_stream(const struct ole *ole, uint32_t storage, const char *name,
			struct compound_entry *ret_entry)
{
	for (uint32_t i = 0; compound_entry(&ole->compound, i, ret_entry); i++)
		if (ole->compound.parents[i] == storage && ret_entry->type == COMPOUND_STREAM &&
		    compound_is_named(ret_entry, name))
			return true;
	return false;
}

/* The time that it takes is of the bytes that one mail may make. */
static bool spend_rounds(struct ole *ole, uint32_t rounds)
{
	struct unpack_budget *budget = ole->unpack->budget;
	const uint64_t cost = (uint64_t)rounds * ROUND_COST;
	if (cost > budget->total_left) {
		unpack_stop(ole->unpack, UNPACK_TOTAL);
		return false;
	}
	budget->total_left -= cost;
	return true;
}

/* Keys that it does not open may stand before the one that it does. */
static bool try_keys(struct ole *ole, const uint8_t *info, size_t size)
{
	for (unsigned i = 0; office_package_read(info, size, i, &ole->package); i++) {
		if (++ole->lock_count > LOCKS_MAX || !spend_rounds(ole, ole->package.rounds))
			return false;
		if (office_package_unlock(&ole->package))
			return true;
	}
	return false;
}

static bool unlock_package(struct ole *ole, uint32_t storage)
{
	struct compound_entry entry;
	size_t size = 0;
	if (!find_stream(ole, storage, "EncryptionInfo", &entry) || entry.size > INFO_MAX)
		return false;
	uint8_t *info = load(ole, &entry, &size);
	const bool is_open = info != NULL && try_keys(ole, info, office_package_narrow(info, size));
	free(info);
	return is_open;
}

static bool unlock_workbook(struct ole *ole, const struct compound_entry *entry)
{
	uint8_t head[HEAD_SIZE];
	const size_t size = read_filepass(ole, entry, head);
	return office_workbook_unlock(&ole->workbook, head, size);
}

/* Excel opens it without a question: what is in it follows, then. */
static bool unlock(struct ole *ole, uint32_t number, const struct compound_entry *entry)
{
	if (++ole->look_count > LOOKS_MAX)
		return false;
	if (compound_is_named(entry, "EncryptedPackage"))
		ole->has_package = unlock_package(ole, ole->compound.parents[number]);
	else if (is_workbook(entry))
		ole->has_workbook = unlock_workbook(ole, entry);
	return ole->has_package || ole->has_workbook;
}

/* ---- streams as they are ---- */

static void give_stream(struct ole *ole, uint32_t number, const struct compound_entry *entry)
{
	struct unpack *unpack = ole->unpack;
	struct compound_cursor cursor;
	char name[UNPACK_NAME_SIZE];
	const uint8_t *bytes = NULL;
	size_t size = 0;
	make_path(ole, number, name);
	if (!unpack_open(unpack, name))
		return;
	compound_begin(&ole->compound, entry, &cursor);
	while ((size = compound_next(&ole->compound, &cursor, SIZE_MAX, &bytes)) > 0) {
		const size_t end = (size_t)(bytes - ole->compound.bytes) + size;
		ole->end = end > ole->end ? end : ole->end;
		if (!unpack_give(unpack, bytes, size))
			return;
	}
	if (cursor.is_damaged)
		unpack_tell(unpack, UNPACK_DAMAGED);
	if (is_encrypted(ole, entry) && !unlock(ole, number, entry) && !unpack->is_over)
		unpack_tell(unpack, UNPACK_ENCRYPTED);
	unpack_close(unpack, true);
}

/* A member begins whose name is as the document has it. */
static bool open_part(struct ole *ole, const void *name, size_t name_size)
{
	char shown[UNPACK_NAME_SIZE];
	unpack_name(name, name_size, UNPACK_NAME_LATIN1, shown);
	return unpack_open(ole->unpack, shown);
}

/* ---- files within documents (MS-OLEDS 2.3.6, and what Windows' packager writes) ---- */

/* The bytes of the stream from at on, as many as are said and there. */
static void give_rest(struct ole *ole, const struct compound_entry *entry, uint64_t at,
		      uint64_t said)
{
	struct compound_cursor cursor;
	compound_begin(&ole->compound, entry, &cursor);
	if (said > 0 && !(pass(ole, &cursor, at, false) && pass(ole, &cursor, said, true)))
		unpack_tell(ole->unpack, UNPACK_DAMAGED);
}

/* 4 size of the rest; then what the packager writes, or all is the file. */
static void give_native(struct ole *ole, const struct compound_entry *entry)
{
	uint8_t head[4 + UNPACK_NATIVE_HEAD];
	struct unpack_native native;
	const size_t size = compound_read(&ole->compound, entry, head, sizeof(head));
	if (size <= 4)
		return;
	if (unpack_native(head + 4, size - 4, &native)) {
		if (open_part(ole, native.name, native.name_size))
			give_rest(ole, entry, 4 + native.offset, native.size);
	} else if (open_part(ole, "native", strlen("native"))) {
		give_rest(ole, entry, 4, entry->size - 4);
	}
	unpack_close(ole->unpack, true);
}

/*
 * The records of a presentation (MS-PPT 2.3.1): 2 version and instance, 2 type, 4 size. Objects are
 * compressed with zlib behind 4 bytes of size, when their instance is 1.
 */
static void give_slides_objects(struct ole *ole, const struct compound_entry *entry)
{
	const uint32_t object_type = 0x1011;
	struct compound_cursor cursor;
	uint8_t head[8];
	compound_begin(&ole->compound, entry, &cursor);
	while (!ole->unpack->is_over && take_all(ole, &cursor, head, sizeof(head))) {
		const uint32_t version = little_get16(head);
		const size_t size = little_get32(head + 4);
		const size_t before = (version >> 4) == 1 ? 4 : 0;
		if ((version & 0xf) == 0xf) /* others are in it */
			continue;
		const bool is_object = little_get16(head + 2) == object_type && size > before;
		if (!is_object) {
			pass(ole, &cursor, size, false);
			continue;
		}
		pass(ole, &cursor, before, false);
		if (open_part(ole, "object", strlen("object")))
			pass(ole, &cursor, size - before, true);
		unpack_close(ole->unpack, true);
	}
}

/* ---- what was encrypted ---- */

/* All of a package's blocks but the end of the last one; how many bytes that is, when the size that is said can be. */
static bool package_size(const struct compound_entry *entry, const uint8_t *head, size_t *ret_size)
{
	const uint64_t there = (entry->size - PACKAGE_HEAD) / OFFICE_BLOCK * OFFICE_BLOCK;
	const uint32_t said = little_get32(head);
	const bool is_right = said <= there && there - said <= OFFICE_BLOCK;
	*ret_size = is_right ? said : SIZE_MAX;
	return is_right && little_get32(head + 4) == 0;
}

/* 8 size of what it is without the blocks' rest, of which programs look at 4. */
static void give_package(struct ole *ole, const struct compound_entry *entry)
{
	struct compound_cursor cursor;
	uint8_t head[PACKAGE_HEAD];
	uint8_t segment[OFFICE_SEGMENT];
	uint8_t plain[OFFICE_SEGMENT];
	uint32_t number = 0;
	size_t size = 0;
	size_t left = 0;
	compound_begin(&ole->compound, entry, &cursor);
	if (!open_part(ole, "package", strlen("package")))
		return;
	const bool is_right =
		take_all(ole, &cursor, head, sizeof(head)) && package_size(entry, head, &left);
	while (left > 0 &&
	       (size = compound_take(&ole->compound, &cursor, segment, sizeof(segment))) > 0) {
		size = office_package_open(&ole->package, number++, segment, size, plain);
		size = size < left ? size : left;
		left -= size;
		if (size == 0 || !unpack_give(ole->unpack, plain, size))
			break;
	}
	if (left > 0 || !is_right)
		unpack_tell(ole->unpack, UNPACK_DAMAGED);
	unpack_close(ole->unpack, true);
}

static void give_workbook(struct ole *ole, const struct compound_entry *entry)
{
	struct compound_cursor cursor;
	const uint8_t *bytes = NULL;
	uint8_t plain[OFFICE_SEGMENT];
	size_t size = 0;
	compound_begin(&ole->compound, entry, &cursor);
	if (!open_part(ole, "workbook", strlen("workbook")))
		return;
	while ((size = compound_next(&ole->compound, &cursor, sizeof(plain), &bytes)) > 0) {
		if (!office_workbook_open(&ole->workbook, bytes, size, plain))
			unpack_stop(ole->unpack, UNPACK_MEMORY);
		if (!unpack_give(ole->unpack, plain, size))
			return;
	}
	unpack_close(ole->unpack, true);
}

/* ---- macros ---- */

static bool keep_dir(void *context, const uint8_t *bytes, size_t size)
{
	struct ole *ole = context;
	if (size > DIR_SIZE_MAX - ole->dir_size)
		return false;
	memcpy(ole->dir + ole->dir_size, bytes, size);
	ole->dir_size += size;
	return true;
}

/* The list of modules of a storage: none when it is not there, or not readable. */
static void load_dir(struct ole *ole, uint32_t storage)
{
	struct compound_entry entry;
	size_t size = 0;
	if (ole->project == storage)
		return;
	ole->project = storage;
	ole->dir_size = 0;
	if (ole->dir == NULL)
		ole->dir = malloc(DIR_SIZE_MAX);
	if (ole->dir == NULL || ++ole->project_count > PROJECTS_MAX)
		return;
	if (!find_stream(ole, storage, "dir", &entry))
		return;
	uint8_t *bytes = load(ole, &entry, &size);
	if (bytes != NULL)
		vba_decompress(bytes, size, keep_dir, ole);
	free(bytes);
}

static bool give_text(void *context, const uint8_t *bytes, size_t size)
{
	struct ole *ole = context;
	return unpack_give(ole->unpack, bytes, size);
}

/* The text of a module, when the stream is one. */
static void give_module(struct ole *ole, uint32_t number, const struct compound_entry *entry)
{
	uint8_t name[4 + 3 * COMPOUND_NAME_SIZE] = "vba/";
	uint32_t offset = 0;
	size_t size = 0;
	load_dir(ole, ole->compound.parents[number]);
	uint8_t *bytes = load(ole, entry, &size);
	if (bytes == NULL)
		return;
	const bool is_module =
		vba_find_offset(ole->dir, ole->dir_size, entry->name, entry->name_size, &offset) &&
		offset < size && bytes[offset] == 1;
	if ((is_module || vba_guess_offset(bytes, size, &offset)) &&
	    open_part(ole, name, 4 + put_entry_name(name + 4, entry))) {
		if (!vba_decompress(bytes + offset, size - offset, give_text, ole))
			unpack_tell(ole->unpack, UNPACK_DAMAGED);
		unpack_close(ole->unpack, true);
	}
	free(bytes);
}

/* Is it in a storage "VBA"? */
static bool is_in_project(const struct ole *ole, uint32_t number)
{
	struct compound_entry storage;
	const uint32_t parent = ole->compound.parents[number];
	return parent != COMPOUND_NONE && compound_entry(&ole->compound, parent, &storage) &&
	       compound_is_named(&storage, "VBA");
}

/* ---- what stands behind ---- */

static void pass_chain(struct ole *ole, const struct compound_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		const uint64_t end = ((uint64_t)chain->sectors[i] + 2) << ole->compound.shift;
		if (end <= ole->compound.size && end > ole->end)
			ole->end = (size_t)end;
	}
}

/* Macros read a file there, and some programs an archive. */
static void give_rest_of_file(struct ole *ole)
{
	const size_t sector = (size_t)1 << ole->compound.shift;
	if (ole->compound.tables_end > ole->end)
		ole->end = ole->compound.tables_end;
	pass_chain(ole, &ole->compound.fat);
	pass_chain(ole, &ole->compound.mini_fat);
	pass_chain(ole, &ole->compound.mini);
	pass_chain(ole, &ole->compound.directory);
	const size_t at = (ole->end + sector - 1) / sector * sector;
	if (at >= ole->compound.size || !open_part(ole, "behind", strlen("behind")))
		return;
	unpack_give(ole->unpack, ole->compound.bytes + at, ole->compound.size - at);
	unpack_close(ole->unpack, true);
}

/* ---- all of it ---- */

static void give_special(struct ole *ole, uint32_t number, const struct compound_entry *entry)
{
	if (ole->has_package)
		give_package(ole, entry);
	else if (ole->has_workbook)
		give_workbook(ole, entry);
	else if (is_in_project(ole, number))
		give_module(ole, number, entry);
	else if (compound_is_named(entry, "\1Ole10Native"))
		give_native(ole, entry);
	else if (compound_is_named(entry, "PowerPoint Document"))
		give_slides_objects(ole, entry);
}

void unpack_ole_opened(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct ole ole = { .unpack = unpack, .project = COMPOUND_NONE };
	struct compound_entry entry;
	const int status = compound_open(bytes, size, &ole.compound);
	if (status < 0) {
		unpack_stop(unpack, status == -ENOMEM ? UNPACK_MEMORY : UNPACK_DAMAGED);
		return;
	}
	for (uint32_t i = 1; compound_entry(&ole.compound, i, &entry) && !unpack->is_over; i++) {
		if (entry.type != COMPOUND_STREAM)
			continue;
		ole.has_package = false;
		ole.has_workbook = false;
		give_stream(&ole, i, &entry);
		if (!unpack->is_over)
			give_special(&ole, i, &entry);
		if (unpack_is_dense(unpack, 0))
			unpack_stop(unpack, UNPACK_RATIO);
	}
	if (!unpack->is_over)
		give_rest_of_file(&ole);
	free(ole.dir);
	compound_close(&ole.compound);
}
