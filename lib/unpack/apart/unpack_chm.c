/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_chm.c - compiled help (.chm), which libarchive does not have.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      4   "ITSF"
 *        4      4   version: 2, or 3, which has the last field
 *       72      8   where the directory is: "ITSP", at 8 the size of its head, at 16 that of a page; pages
 *       80      8   its size
 *       88      8   where files are; without it, behind the directory
 *
 *     Of a page of the directory; those with other marks are an index of these:
 *        0      4   "PMGL"
 *        4      4   how many bytes at its end are none of an entry; the last two count entries
 *       20      .   entries: a name behind its size, section, offset, size, in numbers of 7 bits a byte
 *
 * Files of section 0 stand as they are, those of 1 in a stream of LZX, which is a file itself, as is what says how it
 * is compressed. That begins anew every few frames, and a table says where, so that a reader takes what it needs.
 * All pages are read, whatever the index says, and nothing looks at the GUIDs of the header: there readers differ.
 * Files are given in the order in which they are in the stream, and may have bytes of one another.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/content/little.h"
#include "lib/format/array.h"
#include "lib/unpack/apart/unpack_lzx.h"
#include "lib/unpack/unpack_name.h"
#include "lib/unpack/unpack_rows.h"

#define HEAD_SIZE      96
#define DIRECTORY_HEAD 20 /* as much as is looked at */
#define PAGE_HEAD      20
#define PAGE_MIN       64
#define CONTROL_SIZE   20
#define TABLE_HEAD     40
#define PACKED	       "::DataSpace/Storage/MSCompressed/"
#define CONTENT_NAME   PACKED "Content"
#define CONTROL_NAME   PACKED "ControlData"
#define TABLE_NAME     PACKED "Transform/{7FC28940-9D31-11D0-9B27-00A0C91E9C7C}/InstanceData/ResetTable"

struct slice {
	const uint8_t *bytes;
	size_t size;
};

struct chm_file {
	struct slice name;
	uint64_t section;
	uint64_t offset;
	uint64_t size;
};

struct chm {
	struct unpack *unpack;
	struct slice all;
	uint64_t stored_at;
	struct chm_file *files;
	size_t count;
	size_t room;
	bool is_damaged; /* an entry is */

	struct slice stream;
	struct slice control;
	struct slice table;
	struct unpack_lzx *lzx; /* NULL: nothing can be read of the stream */
	uint64_t run;		/* frames, behind which it begins anew */
	uint64_t next;		/* frame; 0: none was decoded */
	const uint8_t *frame;	/* the one before, of which so many bytes are there */
	size_t frame_size;
};

/* An empty one when not all of it is there. */
static struct slice slice_of(struct slice whole, uint64_t offset, uint64_t size)
{
	struct slice slice = { whole.bytes, 0 };
	if (offset <= whole.size && size <= whole.size - offset)
		slice = (struct slice){ whole.bytes + offset, (size_t)size };
	return slice;
}

/* ---- the directory ---- */

/* Of 7 bits a byte, the high ones first. false: it does not end. */
static bool next_number(struct slice *rest, uint64_t *ret_number)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < 9 && rest->size > 0; i++) {
		const uint8_t byte = *rest->bytes++;
		rest->size--;
		number = number << 7 | (byte & 0x7f);
		if ((byte & 0x80) == 0) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

static bool next_file(struct slice *rest, struct chm_file *ret_file)
{
	uint64_t name_size = 0;
	if (!next_number(rest, &name_size) || name_size > rest->size)
		return false;
	ret_file->name = (struct slice){ rest->bytes, (size_t)name_size };
	rest->bytes += name_size;
	rest->size -= (size_t)name_size;
	return next_number(rest, &ret_file->section) && next_number(rest, &ret_file->offset) &&
	       next_number(rest, &ret_file->size);
}

static bool is_named(const struct chm_file *file, const char *name)
{
	return file->name.size == strlen(name) &&
	       strncasecmp((const char *)file->name.bytes, name, file->name.size) == 0;
}

static struct slice stored(const struct chm *chm, const struct chm_file *file)
{
	const struct slice none = { chm->all.bytes, 0 };
	if (file->offset > chm->all.size)
		return none;
	return slice_of(chm->all, chm->stored_at + file->offset, file->size);
}

/* What says how files are packed is none of them. */
static void take_file(struct chm *chm, const struct chm_file *file)
{
	if (file->section == 0 && is_named(file, CONTENT_NAME))
		chm->stream = stored(chm, file);
	else if (file->section == 0 && is_named(file, CONTROL_NAME))
		chm->control = stored(chm, file);
	else if (file->section == 0 && is_named(file, TABLE_NAME))
		chm->table = stored(chm, file);
	else if (file->size > 0 && chm->count <= chm->unpack->budget->members_left) {
		if (array_reserve(chm->files, chm->count + 1, &chm->room))
			chm->files[chm->count++] = *file;
		else
			unpack_stop(chm->unpack, UNPACK_MEMORY);
	}
}

/* Some readers count, some look where the entries end: what either has is taken. */
static void read_page(struct chm *chm, struct slice page)
{
	const unsigned count = little_get16(page.bytes + page.size - 2);
	const uint32_t free_size = little_get32(page.bytes + 4);
	struct slice rest = slice_of(page, PAGE_HEAD, page.size - PAGE_HEAD);
	for (unsigned i = 0; i < count || rest.size > free_size; i++) {
		struct chm_file file;
		if (!next_file(&rest, &file)) {
			chm->is_damaged = true;
			return;
		}
		take_file(chm, &file);
	}
}

/* Not all readers look at the size of the directory: pages that have their mark are of it, too. */
static bool read_directory(struct chm *chm)
{
	const uint64_t at = little_get64(chm->all.bytes + 72);
	const uint64_t size = little_get64(chm->all.bytes + 80);
	const struct slice head = slice_of(chm->all, at, DIRECTORY_HEAD);
	if (head.size == 0 || memcmp(head.bytes, "ITSP", 4) != 0)
		return false;
	const bool has_place = little_get32(chm->all.bytes + 4) >= 3;
	const uint32_t page_size = little_get32(head.bytes + 16);
	chm->stored_at = has_place ? little_get64(chm->all.bytes + 88) : at + size;
	if (page_size < PAGE_MIN || chm->stored_at > chm->all.size)
		return false;
	uint64_t next = at + little_get32(head.bytes + 8);
	while (!chm->unpack->is_over) {
		const struct slice page = slice_of(chm->all, next, page_size);
		if (page.size == 0)
			break;
		if (memcmp(page.bytes, "PMGL", 4) == 0)
			read_page(chm, page);
		else if (memcmp(page.bytes, "PMGI", 4) != 0 && next - at >= size)
			break;
		next += page_size;
	}
	return true;
}

/* ---- the stream ---- */

/* From version 2 on, sizes count what a frame has. */
static void open_stream(struct chm *chm)
{
	const uint8_t *control = chm->control.bytes;
	const uint8_t *table = chm->table.bytes;
	if (chm->control.size < CONTROL_SIZE || chm->table.size < TABLE_HEAD ||
	    little_get32(table + 8) != 8 || little_get64(table + 32) != UNPACK_LZX_FRAME)
		return;
	const unsigned unit = little_get32(control + 8) >= 2 ? UNPACK_LZX_FRAME : 1;
	const uint64_t window_size = (uint64_t)little_get32(control + 16) * unit;
	const size_t lzx_size = unpack_lzx_size(window_size);
	chm->run = (uint64_t)little_get32(control + 12) * unit / UNPACK_LZX_FRAME;
	if (chm->run == 0 || lzx_size == 0)
		return;
	chm->lzx = malloc(lzx_size);
	if (chm->lzx == NULL)
		unpack_stop(chm->unpack, UNPACK_MEMORY);
	else
		unpack_lzx_init(chm->lzx, (uint32_t)window_size);
}

static bool begin_run(struct chm *chm, uint64_t first)
{
	const uint64_t at = little_get32(chm->table.bytes + 12);
	/* So many that they cannot be there would be few again behind the multiplication. */
	const struct slice entry =
		slice_of(chm->table, first < chm->table.size ? at + 8 * first : UINT64_MAX, 8);
	const uint64_t offset = entry.size > 0 ? little_get64(entry.bytes) : UINT64_MAX;
	const bool is_there = offset < chm->stream.size;
	if (is_there)
		unpack_lzx_begin(chm->lzx, chm->stream.bytes + offset,
				 chm->stream.size - (size_t)offset);
	chm->next = is_there ? first : 0;
	return is_there;
}

/*
 * Into chm->frame. What is decoded for nothing is of what may come out: frames before it in a run, and one for each
 * leap, as little may be wanted of each.
 */
static bool find_frame(struct chm *chm, uint64_t number)
{
	if (chm->lzx == NULL)
		return false;
	const uint64_t first = number / chm->run * chm->run;
	if (chm->next == number + 1)
		return true;
	const bool is_within = chm->next > first && chm->next <= number;
	if (!is_within && chm->next != first && !unpack_spend(chm->unpack, UNPACK_LZX_FRAME))
		return false;
	if (!is_within && !begin_run(chm, first))
		return false;
	do {
		chm->frame_size = unpack_lzx_frame(chm->lzx, &chm->frame);
	} while (++chm->next <= number && unpack_spend(chm->unpack, UNPACK_LZX_FRAME));
	return chm->next > number;
}

/* ---- files ---- */

/* Is all there that was said, or is it over? */
static bool give_packed(struct chm *chm, const struct chm_file *file)
{
	uint64_t at = file->offset;
	uint64_t left = file->size;
	while (left > 0) {
		const size_t from = (size_t)(at % UNPACK_LZX_FRAME);
		if (!find_frame(chm, at / UNPACK_LZX_FRAME) || from >= chm->frame_size)
			return false;
		const size_t there = chm->frame_size - from;
		const size_t part = left < there ? (size_t)left : there;
		if (!unpack_pour(chm->unpack, chm->frame + from, part))
			return true;
		at += part;
		left -= part;
	}
	return true;
}

static void give_file(struct chm *chm, const struct chm_file *file)
{
	struct unpack *unpack = chm->unpack;
	const struct slice *name = &file->name;
	const size_t before = name->size > 0 && name->bytes[0] == '/' ? 1 : 0;
	char shown[UNPACK_NAME_SIZE];
	unpack_name(name->bytes + before, name->size - before, UNPACK_NAME_LATIN1, shown);
	if (!unpack_open(unpack, shown))
		return;
	bool is_whole = true;
	if (file->section == 0) {
		const struct slice bytes = stored(chm, file);
		is_whole = bytes.size > 0;
		unpack_pour(unpack, bytes.bytes, bytes.size);
	} else {
		is_whole = give_packed(chm, file);
	}
	if (!is_whole && !unpack->is_over)
		unpack_tell(unpack, UNPACK_DAMAGED);
	unpack_close(unpack, is_whole);
}

static int compare_files(const void *a, const void *b)
{
	const struct chm_file *one = a;
	const struct chm_file *two = b;
	if (one->section != two->section)
		return one->section < two->section ? -1 : 1;
	if (one->offset != two->offset)
		return one->offset < two->offset ? -1 : 1;
	return one->name.bytes < two->name.bytes ? -1 : one->name.bytes > two->name.bytes;
}

/* To sort more than a few, as unpack_cab.c does too, the C library asks once how much memory there is. */
void unpack_chm_prepare(void)
{
	struct chm_file files[256];
	memset(files, 0, sizeof(files));
	qsort(files, sizeof(files) / sizeof(files[0]), sizeof(files[0]), compare_files);
}

void unpack_chm_opened(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct chm chm = { .unpack = unpack, .all = { bytes, size } };
	if (size < HEAD_SIZE || !read_directory(&chm)) {
		unpack_stop(unpack, UNPACK_DAMAGED);
		return;
	}
	if (chm.is_damaged)
		unpack_tell(unpack, UNPACK_DAMAGED);
	open_stream(&chm);
	if (chm.count > 0)
		qsort(chm.files, chm.count, sizeof(*chm.files), compare_files);
	for (size_t i = 0; i < chm.count && !unpack->is_over; i++)
		give_file(&chm, &chm.files[i]);
	if (chm.lzx != NULL && chm.lzx->has_calls)
		unpack_tell(unpack, UNPACK_UNSUPPORTED);
	free(chm.files);
	free(chm.lzx);
}
