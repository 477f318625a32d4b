/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/selfpack.h"

#include <string.h>

#define MARK_COUNT (sizeof(marks) / sizeof(marks[0]))

static const struct {
	enum content_kind kind;
	size_t size;
	const char *bytes;
} marks[] = {
	{ CONTENT_RAR, 7, "Rar!\x1a\7\0" },
	{ CONTENT_RAR, 8, "Rar!\x1a\7\1\0" },
	{ CONTENT_7Z, 6, "7z\xbc\xaf\x27\x1c" },
	{ CONTENT_CAB, 8, "MSCF\0\0\0\0" },
};

void selfpack_begin(struct selfpack *ret_selfpack, bool is_program)
{
	pe_begin(&ret_selfpack->pe);
	if (!is_program)
		ret_selfpack->pe.state = PE_NOT;
	ret_selfpack->offset = 0;
	ret_selfpack->end = 0;
	ret_selfpack->most = SELFPACK_ANY;
	ret_selfpack->kept_size = 0;
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

/* The first mark in bytes. */
static bool find_mark(const uint8_t *bytes, size_t size, size_t *ret_at,
		      struct selfpack_tail *ret_tail)
{
	const uint8_t *first = NULL;
	for (unsigned i = 0; i < MARK_COUNT; i++) {
		const uint8_t *at = memmem(bytes, size, marks[i].bytes, marks[i].size);
		if (at == NULL || (first != NULL && at >= first))
			continue;
		first = at;
		ret_tail->kind = marks[i].kind;
		ret_tail->mark = marks[i].bytes;
		ret_tail->mark_size = marks[i].size;
	}
	*ret_at = first != NULL ? (size_t)(first - bytes) : 0;
	return first != NULL;
}

/* Across the last cut, then in the piece. */
static bool search(struct selfpack *selfpack, const uint8_t *bytes, size_t size,
		   struct selfpack_tail *ret_tail)
{
	uint8_t seam[2 * SELFPACK_MARK_SIZE];
	const size_t begin = size < SELFPACK_MARK_SIZE ? size : SELFPACK_MARK_SIZE;
	const size_t seam_size = selfpack->kept_size + begin;
	size_t at;
	memcpy(seam, selfpack->kept, selfpack->kept_size);
	memcpy(seam + selfpack->kept_size, bytes, begin);
	if (find_mark(seam, seam_size, &at, ret_tail)) {
		ret_tail->size = size - (at + ret_tail->mark_size - selfpack->kept_size);
		return true;
	}
	if (find_mark(bytes, size, &at, ret_tail)) {
		ret_tail->size = size - at - ret_tail->mark_size;
		return true;
	}
	/* One byte less than a mark, so that no mark is found twice. */
	const size_t wanted = SELFPACK_MARK_SIZE - 1;
	if (size >= wanted) {
		memcpy(selfpack->kept, bytes + size - wanted, wanted);
		selfpack->kept_size = wanted;
	} else {
		const size_t lost = seam_size > wanted ? seam_size - wanted : 0;
		memcpy(selfpack->kept, seam + lost, seam_size - lost);
		selfpack->kept_size = seam_size - lost;
	}
	return false;
}

/* Those that are broken end where that is seen, at the same byte in all pieces. */
static void read_headers(struct selfpack *selfpack, const uint8_t *bytes, size_t size)
{
	struct pe *pe = &selfpack->pe;
	if (pe_push(pe, bytes, size) == PE_READY) {
		selfpack->end = end_of_sections(pe);
		selfpack->most = SELFPACK_SEARCHED;
	} else if (pe->state == PE_NOT) {
		selfpack->end = pe->position;
	}
}

bool selfpack_push(struct selfpack *selfpack, const uint8_t *bytes, size_t size,
		   struct selfpack_tail *ret_tail)
{
	const uint64_t begin = selfpack->offset;
	selfpack->offset += size;
	if (selfpack->pe.state == PE_MORE)
		read_headers(selfpack, bytes, size);
	if (selfpack->pe.state == PE_MORE || selfpack->offset <= selfpack->end ||
	    begin >= selfpack->end + selfpack->most)
		return false;
	const size_t skipped = selfpack->end > begin ? (size_t)(selfpack->end - begin) : 0;
	const uint64_t left = selfpack->end + selfpack->most - (begin + skipped);
	const size_t part = size - skipped < left ? size - skipped : (size_t)left;
	if (!search(selfpack, bytes + skipped, part, ret_tail))
		return false;
	ret_tail->size += size - skipped - part;
	return true;
}
