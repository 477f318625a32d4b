/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/content/pe.h"

#include "lib/content/little.h"

#include <stdbool.h>
#include <string.h>

enum pe_step { STEP_DOS, STEP_FILE, STEP_OPTIONAL, STEP_SECTION };

#define FIRST_SIZE	 64u /* IMAGE_DOS_HEADER */
#define FILE_SIZE	 24u /* "PE", NUL, NUL and IMAGE_FILE_HEADER */
#define OPTIONAL_USED	 64u /* as far as SizeOfHeaders; PE32 and PE32+ are alike there */
#define OPTIONAL_MIN	 224u
#define OPTIONAL_MIN64	 240u
#define SECTION_SIZE	 40u
#define MAGIC_PE32_PLUS	 0x20b
#define FALLBACK_SECTORS 0x200u

static uint32_t round_down(uint32_t number, uint32_t to)
{
	return to > 0 ? number - number % to : number;
}

static uint32_t round_up(uint32_t number, uint32_t to)
{
	if (to == 0 || number % to == 0)
		return number;
	const uint64_t rounded = (uint64_t)number - number % to + to;
	return rounded <= UINT32_MAX ? (uint32_t)rounded : UINT32_MAX;
}

/* What the next step wants; what of it is in .first has gone by already. */
static void want(struct pe *pe, enum pe_step step, uint64_t offset, unsigned size)
{
	pe->step = step;
	pe->wanted = offset;
	pe->wanted_size = size;
	pe->have = 0;
	if (offset + size > PE_HEAD_SIZE) {
		pe->state = PE_NOT;
		return;
	}
	if (offset < FIRST_SIZE && pe->position >= FIRST_SIZE) {
		pe->have =
			FIRST_SIZE - (unsigned)offset < size ? FIRST_SIZE - (unsigned)offset : size;
		memcpy(pe->gathered, pe->first + offset, pe->have);
	}
}

void pe_begin(struct pe *ret_pe)
{
	memset(ret_pe, 0, sizeof(*ret_pe));
	ret_pe->entry = PE_NO_ENTRY;
	want(ret_pe, STEP_DOS, 0, FIRST_SIZE);
}

/* As ClamAV has it, the last section that has the address. */
static uint64_t find_entry(const struct pe *pe)
{
	const uint32_t address = pe->entry_address;
	if (address < round_up(pe->header_size, pe->section_alignment))
		return address;
	for (unsigned i = pe->section_count; i > 0; i--) {
		const struct pe_section *section = &pe->sections[i - 1];
		if (section->raw_size > 0 && section->virtual_address <= address &&
		    address - section->virtual_address < section->raw_size)
			return (uint64_t)address - section->virtual_address + section->raw_offset;
	}
	return PE_NO_ENTRY;
}

static bool is_misaligned(const struct pe *pe)
{
	for (unsigned i = 0; i < pe->section_count; i++) {
		const struct pe_section *section = &pe->sections[i];
		if (pe->file_alignment > 0 && section->raw_size > 0 &&
		    section->raw_offset % pe->file_alignment != 0 &&
		    section->raw_offset % FALLBACK_SECTORS == 0)
			return true;
	}
	return false;
}

static void finish(struct pe *pe)
{
	if (is_misaligned(pe))
		pe->file_alignment = FALLBACK_SECTORS;
	for (unsigned i = 0; i < pe->section_count; i++) {
		struct pe_section *section = &pe->sections[i];
		const uint32_t unrounded = section->raw_size;
		section->raw_offset = round_down(section->raw_offset, pe->file_alignment);
		section->raw_size = round_up(section->raw_size, pe->file_alignment);
		section->virtual_address =
			round_down(section->virtual_address, pe->section_alignment);
		section->virtual_size = round_up(section->virtual_size, pe->section_alignment);
		if (section->virtual_size == 0 && section->raw_size > 0)
			section->virtual_size = round_up(unrounded, pe->section_alignment);
	}
	pe->entry = find_entry(pe);
	pe->state = PE_READY;
}

static void take_file_header(struct pe *pe)
{
	const uint8_t *header = pe->gathered;
	pe->sections_left = little_get16(header + 6);
	pe->optional_size = little_get16(header + 20);
	if (memcmp(header, "PE\0\0", 4) != 0 || pe->sections_left == 0 ||
	    pe->sections_left > PE_SECTIONS || pe->optional_size < OPTIONAL_MIN) {
		pe->state = PE_NOT;
		return;
	}
	want(pe, STEP_OPTIONAL, pe->wanted + FILE_SIZE, OPTIONAL_USED);
}

static void take_optional_header(struct pe *pe)
{
	const uint8_t *header = pe->gathered;
	pe->entry_address = little_get32(header + 16);
	pe->section_alignment = little_get32(header + 32);
	pe->file_alignment = little_get32(header + 36);
	pe->header_size = little_get32(header + 60);
	if (little_get16(header) == MAGIC_PE32_PLUS && pe->optional_size < OPTIONAL_MIN64) {
		pe->state = PE_NOT;
		return;
	}
	want(pe, STEP_SECTION, pe->wanted + pe->optional_size, SECTION_SIZE);
}

static void take_section(struct pe *pe)
{
	const uint8_t *header = pe->gathered;
	struct pe_section *section = &pe->sections[pe->section_count++];
	section->virtual_size = little_get32(header + 8);
	section->virtual_address = little_get32(header + 12);
	section->raw_size = little_get32(header + 16);
	section->raw_offset = little_get32(header + 20);
	if (--pe->sections_left == 0)
		finish(pe);
	else
		want(pe, STEP_SECTION, pe->wanted + SECTION_SIZE, SECTION_SIZE);
}

static void take_step(struct pe *pe)
{
	switch ((enum pe_step)pe->step) {
	case STEP_DOS:
		memcpy(pe->first, pe->gathered, FIRST_SIZE);
		if (memcmp(pe->first, "MZ", 2) != 0 && memcmp(pe->first, "ZM", 2) != 0)
			pe->state = PE_NOT;
		else
			want(pe, STEP_FILE, little_get32(pe->first + 60), FILE_SIZE);
		break;
	case STEP_FILE:
		take_file_header(pe);
		break;
	case STEP_OPTIONAL:
		take_optional_header(pe);
		break;
	case STEP_SECTION:
		take_section(pe);
		break;
	}
}

/* Goes on to what the step wants, and takes of it what is there. Returns how much was used. */
static size_t gather(struct pe *pe, const uint8_t *bytes, size_t size)
{
	const uint64_t next = pe->wanted + pe->have;
	uint64_t skipped = next > pe->position ? next - pe->position : 0;
	if (skipped > size)
		skipped = size;
	const size_t left = size - (size_t)skipped;
	const size_t missing = pe->wanted_size - pe->have;
	const size_t taken = left < missing ? left : missing;
	if (taken > 0)
		memcpy(pe->gathered + pe->have, bytes + skipped, taken);
	pe->have += (unsigned)taken;
	pe->position += skipped + taken;
	return (size_t)skipped + taken;
}

enum pe_state pe_push(struct pe *pe, const uint8_t *bytes, size_t size)
{
	while (pe->state == PE_MORE && size > 0) {
		const size_t used = gather(pe, bytes, size);
		bytes += used;
		size -= used;
		while (pe->state == PE_MORE && pe->have == pe->wanted_size)
			take_step(pe);
	}
	return pe->state;
}
