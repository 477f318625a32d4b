/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/selfpack.h"

#include <string.h>
#include <zlib.h>

#include "lib/content/little.h"

/* ---- what begins with a mark, and is an archive by what follows, all of SELFPACK_HEAD_SIZE bytes ---- */

/* 7zFormat.txt: a checksum of what says where its list of files is. */
static bool is_7z(const uint8_t *head)
{
	return little_get32(head + 8) == crc32(0, head + 12, 20);
}

/* The header of the archive, with the low half of a checksum before it. */
static bool is_rar4(const uint8_t *head)
{
	const unsigned size = little_get16(head + 12);
	return head[9] == 0x73 && size >= 13 && size <= SELFPACK_HEAD_SIZE - 7 &&
	       little_get16(head + 7) == (crc32(0, head + 9, size - 2) & 0xffff);
}

/* The same of version 5, or the one that says how it is encrypted, which is longer. */
static bool is_rar5(const uint8_t *head)
{
	const unsigned size = head[12];
	if (head[13] == 4)
		return true;
	return head[13] == 1 && size <= SELFPACK_HEAD_SIZE - 13 &&
	       little_get32(head + 8) == crc32(0, head + 12, size + 1);
}

/*
 * ARJ's TECHNOTE.TXT: the size of the header, that of the part that each header has, two versions, the
 * system, and the type of a main header.
 */
static bool is_arj(const uint8_t *head)
{
	const unsigned size = little_get16(head + 2);
	return head[4] >= 30 && head[4] <= 64 && head[4] < size && size <= 2600 &&
	       head[6] <= head[5] && head[7] <= 11 && head[10] == 2;
}

/*
 * unrar opens the first of its marks, whatever follows; other readers go on to one that is right. PDF's mind no
 * version.
 */
static bool is_any(const uint8_t *head)
{
	(void)head;
	return true;
}

static const struct {
	enum content_kind kind;
	size_t size;
	const char *bytes;
	bool (*is_right)(const uint8_t *head);
} marks[SELFPACK_MARKS] = {
	{ CONTENT_7Z, 6, "7z\xbc\xaf\x27\x1c", is_7z },
	{ CONTENT_CAB, 4, "MSCF", content_is_cab },
	{ CONTENT_RAR, 7, "Rar!\x1a\7\0", is_any },
	{ CONTENT_RAR, 7, "Rar!\x1a\7\0", is_rar4 },
	{ CONTENT_RAR, 8, "Rar!\x1a\7\1\0", is_any },
	{ CONTENT_RAR, 8, "Rar!\x1a\7\1\0", is_rar5 },
	{ CONTENT_ARJ, 2, "\x60\xea", is_arj },
	{ CONTENT_PDF, 5, "%PDF-", is_any },
};

void selfpack_begin(struct selfpack *ret_selfpack, enum content_kind kind)
{
	pe_begin(&ret_selfpack->pe);
	if (kind != CONTENT_PE)
		ret_selfpack->pe.state = PE_NOT;
	ret_selfpack->offset = 0;
	ret_selfpack->begin = 0;
	ret_selfpack->end = UINT64_MAX;
	ret_selfpack->found = 0;
	ret_selfpack->kept_size = 0;
	for (unsigned i = 0; i < SELFPACK_MARKS; i++) {
		if (kind != marks[i].kind)
			continue;
		ret_selfpack->begin = 1;
		/* Its reader looks at all PDFs of a file. */
		if (kind == CONTENT_PDF)
			ret_selfpack->found |= 1U << i;
	}
}

static uint64_t end_of_sections(const struct pe *pe)
{
	uint64_t end = 0;
	for (unsigned i = 0; i < pe->section_count; i++) {
		const struct pe_section *section = &pe->sections[i];
		const uint64_t next = (uint64_t)section->raw_offset + section->raw_size;
		end = next > end ? next : end;
	}
	return end;
}

/* The first of a mark in bytes whose head is there and right; NULL: none. */
static const uint8_t *find_mark(const uint8_t *bytes, size_t size, unsigned number)
{
	if (size < SELFPACK_HEAD_SIZE)
		return NULL;
	const uint8_t *at = bytes;
	const uint8_t *end = bytes + size - SELFPACK_HEAD_SIZE + 1;
	/* The first byte alone is found several times as fast as a mark by memmem(). */
	while (at < end && (at = memchr(at, marks[number].bytes[0], (size_t)(end - at))) != NULL) {
		if (memcmp(at, marks[number].bytes, marks[number].size) == 0 &&
		    marks[number].is_right(at))
			return at;
		at++;
	}
	return NULL;
}

/* One that another mark has found already is passed. */
static bool is_new(const struct selfpack_found *found, unsigned count, size_t before_size,
		   size_t size)
{
	for (unsigned i = 0; i < count; i++)
		if (found[i].size == size && found[i].before_size == before_size)
			return false;
	return true;
}

static unsigned search_mark(struct selfpack *selfpack, const uint8_t *seam, size_t seam_size,
			    const uint8_t *bytes, size_t size, unsigned number,
			    struct selfpack_found *found, unsigned count)
{
	struct selfpack_found *next = &found[count];
	const uint8_t *at = find_mark(seam, seam_size, number);
	const size_t before = at != NULL ? selfpack->kept_size - (size_t)(at - seam) : 0;
	if (at == NULL)
		at = find_mark(bytes, size, number);
	if (at == NULL)
		return count;
	selfpack->found |= 1U << number;
	const size_t left = before > 0 ? size : size - (size_t)(at - bytes);
	if (!is_new(found, count, before, left))
		return count;
	next->kind = marks[number].kind;
	next->before_size = before;
	memcpy(next->before, at, before);
	next->size = left;
	return count + 1;
}

/* The last bytes, in which a mark may have begun whose head is not there yet. */
static void keep(struct selfpack *selfpack, const uint8_t *bytes, size_t size)
{
	const size_t room = sizeof(selfpack->kept);
	const size_t part = size < room ? size : room;
	const size_t left = room - part;
	const size_t stays = selfpack->kept_size < left ? selfpack->kept_size : left;
	memmove(selfpack->kept, selfpack->kept + selfpack->kept_size - stays, stays);
	memcpy(selfpack->kept + stays, bytes + size - part, part);
	selfpack->kept_size = stays + part;
}

/* Across the last cut, then in the piece. */
static unsigned search(struct selfpack *selfpack, const uint8_t *bytes, size_t size,
		       struct selfpack_found *ret_found)
{
	uint8_t seam[2 * SELFPACK_HEAD_SIZE];
	const size_t most = SELFPACK_HEAD_SIZE - 1;
	const size_t begin = selfpack->kept_size == 0 ? 0 : size < most ? size : most;
	unsigned count = 0;
	memcpy(seam, selfpack->kept, selfpack->kept_size);
	memcpy(seam + selfpack->kept_size, bytes, begin);
	for (unsigned i = 0; i < SELFPACK_MARKS; i++) {
		if ((selfpack->found >> i & 1) == 0)
			count = search_mark(selfpack, seam, selfpack->kept_size + begin, bytes,
					    size, i, ret_found, count);
	}
	keep(selfpack, bytes, size);
	return count;
}

/* They end behind the headers at least, so that it is known before the end comes, in all pieces. */
static void read_headers(struct selfpack *selfpack, const uint8_t *bytes, size_t size)
{
	struct pe *pe = &selfpack->pe;
	if (pe_push(pe, bytes, size) != PE_READY)
		return;
	const uint64_t end = end_of_sections(pe);
	selfpack->end = end > pe->position ? end : pe->position;
}

static bool is_searched(const struct selfpack *selfpack)
{
	const uint64_t at = selfpack->offset;
	return (at >= selfpack->begin && at < SELFPACK_ANY) ||
	       (at >= selfpack->end && at - selfpack->end < SELFPACK_SEARCHED);
}

/* How many of the next bytes are all searched, in one go, or all passed. */
static size_t next_part(const struct selfpack *selfpack, size_t size)
{
	const uint64_t end = selfpack->end;
	const uint64_t cuts[] = { selfpack->begin, SELFPACK_ANY, end,
				  end < UINT64_MAX ? end + SELFPACK_SEARCHED : end };
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		if (cuts[i] > selfpack->offset && cuts[i] - selfpack->offset < size)
			size = (size_t)(cuts[i] - selfpack->offset);
	return size;
}

unsigned selfpack_push(struct selfpack *selfpack, const uint8_t *bytes, size_t size,
		       struct selfpack_found *ret_found)
{
	unsigned count = 0;
	if (selfpack->pe.state == PE_MORE)
		read_headers(selfpack, bytes, size);
	while (size > 0) {
		const size_t part = next_part(selfpack, size);
		const unsigned first = count;
		/* What was found before has no say about what is behind the sections. */
		if (selfpack->offset == selfpack->end) {
			selfpack->found = 0;
			selfpack->kept_size = 0;
		}
		if (is_searched(selfpack))
			count += search(selfpack, bytes, part, ret_found + first);
		for (unsigned i = first; i < count; i++)
			ret_found[i].size += size - part;
		selfpack->offset += part;
		bytes += part;
		size -= part;
	}
	return count;
}
