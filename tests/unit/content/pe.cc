// SPDX-License-Identifier: GPL-3.0-or-later
// Headers of programs of Windows, in pieces of any size.
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lib/content/pe.h"

namespace
{

void put(std::string &file, size_t at, uint64_t number, unsigned size)
{
	if (file.size() < at + size)
		file.resize(at + size);
	for (unsigned i = 0; i < size; i++)
		file[at + i] = static_cast<char>(number >> (8 * i));
}

struct Section {
	uint32_t address, size, raw, raw_size;
};

std::string program(uint32_t header, const std::vector<Section> &sections, uint32_t entry,
		    uint32_t file_alignment = 0x200, uint16_t optional_size = 224)
{
	std::string file(64, '\0');
	put(file, header, 0x4550, 4);
	put(file, header + 6, sections.size(), 2);
	put(file, header + 20, optional_size, 2);
	put(file, header + 24, 0x10b, 2);
	put(file, header + 24 + 16, entry, 4);
	put(file, header + 24 + 32, 0x1000, 4);
	put(file, header + 24 + 36, file_alignment, 4);
	put(file, header + 24 + 60, 0x400, 4);
	size_t at = header + 24 + optional_size;
	for (const Section &section : sections) {
		put(file, at + 8, section.size, 4);
		put(file, at + 12, section.address, 4);
		put(file, at + 16, section.raw_size, 4);
		put(file, at + 20, section.raw, 4);
		put(file, at + 36, 0, 4);
		at += 40;
	}
	put(file, 0, 0x5a4d, 2);
	put(file, 60, header, 4);
	return file;
}

struct pe read(const std::string &file, size_t piece)
{
	struct pe pe;
	pe_begin(&pe);
	for (size_t at = 0; at < file.size(); at += piece) {
		const std::string part = file.substr(at, piece);
		const std::vector<uint8_t> bytes(part.begin(), part.end());
		pe_push(&pe, bytes.data(), bytes.size());
	}
	return pe;
}

} // namespace

TEST_CASE("entry and sections are the same in all pieces", "[content][pe]")
{
	const std::string file = program(
		0x80, { { 0x1000, 0x300, 0x400, 0x301 }, { 0x2000, 0, 0x800, 0x200 } }, 0x2010);
	for (const size_t piece : { 1, 2, 3, 7, 63, 64, 65, 4096 }) {
		const struct pe pe = read(file, piece);
		REQUIRE(pe.state == PE_READY);
		CHECK(pe.entry == 0x810);
		REQUIRE(pe.section_count == 2);
		CHECK(pe.sections[0].raw_offset == 0x400);
		CHECK(pe.sections[0].raw_size == 0x400);
		CHECK(pe.sections[0].virtual_size == 0x1000);
		CHECK(pe.sections[1].virtual_size == 0x1000);
	}
	for (size_t size = 0; size < file.size(); size++)
		CHECK(read(file.substr(0, size), 5).state == PE_MORE);
	CHECK(sizeof(struct pe) <= 3072);
}

TEST_CASE("an entry is where ClamAV has it", "[content][pe]")
{
	CHECK(read(program(0x80, { { 0x1000, 1, 0x400, 0x200 } }, 0x40), 64).entry == 0x40);
	CHECK(read(program(0x80, { { 0x1000, 1, 0x400, 0x200 } }, 0x1200), 64).entry ==
	      PE_NO_ENTRY);
	// The last of those that have it.
	CHECK(read(program(0x80, { { 0x1000, 1, 0x400, 0x200 }, { 0x1000, 1, 0x800, 0x200 } },
			   0x1001),
		   64)
		      .entry == 0x801);
	// Sections that are not where the alignment has them.
	CHECK(read(program(0x80, { { 0x1000, 1, 0x600, 0x200 } }, 0x1001, 0x1000), 64).entry ==
	      0x601);
	CHECK(read(program(0x80, { { 0x1000, 1, 0x610, 0x200 } }, 0x1001, 0x1000), 64).entry == 1);
	CHECK(read(program(0x80, { { 0x1000, 1, UINT32_MAX, UINT32_MAX } }, 0x1001), 64).state ==
	      PE_READY);
}

TEST_CASE("a header may lie within that of DOS", "[content][pe]")
{
	for (const uint32_t header : { 4, 16, 36 }) {
		std::string file = program(header, { { 0x1000, 1, 0x400, 0x200 } }, 0x1010);
		// e_lfanew is a field of the header itself, too: at 4 the alignment of sections.
		for (const size_t piece : { 1, 5, 64, 4096 }) {
			const struct pe pe = read(file, piece);
			CHECK(pe.state == PE_READY);
			CHECK(pe.section_count == 1);
		}
	}
}

TEST_CASE("what is broken is no program", "[content][pe]")
{
	const std::vector<Section> one = { { 0x1000, 1, 0x400, 0x200 } };
	CHECK(read(std::string(64, 'x'), 64).state == PE_NOT);
	CHECK(read(program(0x80, {}, 0), 64).state == PE_NOT);
	CHECK(read(program(0x80, std::vector<Section>(97, one[0]), 0), 64).state == PE_NOT);
	CHECK(read(program(0x80, std::vector<Section>(96, one[0]), 0), 64).state == PE_READY);
	CHECK(read(program(0x80, one, 0, 0x200, 223), 64).state == PE_NOT);
	std::string file = program(0x80, one, 0);
	put(file, 60, 0xfffffff0, 4);
	CHECK(read(file, 64).state == PE_NOT);
	put(file, 60, 0xfff0, 4);
	CHECK(read(file, 64).state == PE_NOT);
	file = program(0x80, one, 0);
	file[0x80] = 'N';
	CHECK(read(file, 64).state == PE_NOT);
	file = program(0x80, one, 0);
	put(file, 0x80 + 24, 0x20b, 2); // PE32+ has 240
	CHECK(read(file, 64).state == PE_NOT);
}
