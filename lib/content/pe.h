/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pe.h - where a program of Windows begins and what its sections are, read as its bytes flow by.
 *
 * Flow: lib/match: the first bytes of an object of CONTENT_PE -> pe_push() -> .entry and .sections,
 *       for signatures that stand at EP+n and Sx+n, and for hashes of sections.
 *
 *     pe_begin(&pe);
 *     while (pe.state == PE_MORE && (size = next(bytes)) > 0)
 *             pe_push(&pe, bytes, size);
 *     if (pe.state == PE_READY && pe.entry != PE_NO_ENTRY)
 *             ...
 *
 * Headers are looked for in the first PE_HEAD_SIZE bytes, wherever e_lfanew says, also within the
 * first 64 bytes. Rules and roundings are ClamAV's, as its signatures are made for them: an
 * optional header of less than 224 bytes, no section or more than PE_SECTIONS is PE_NOT; places in
 * the file are rounded down, and sizes up, to FileAlignment, which is 512 when a section is not
 * where it would have to be. A size may reach behind the end of the file, which is not known here.
 *
 * A plain value of at most 3 KiB. No function here keeps a pointer, allocates or logs; the result
 * does not depend on where the bytes are cut. Numbers are bytes.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PE_HEAD_SIZE 65536u
#define PE_SECTIONS  96
#define PE_NO_ENTRY  UINT64_MAX

enum pe_state {
	PE_MORE,  /* bytes are missing */
	PE_READY, /* all below is right */
	PE_NOT,	  /* none, or a broken one */
};

struct pe_section {
	uint32_t raw_offset; /* in the file */
	uint32_t raw_size;
	uint32_t virtual_address;
	uint32_t virtual_size;
};

struct pe {
	enum pe_state state;
	uint64_t entry; /* in the file; PE_NO_ENTRY: it is in no section */
	unsigned section_count;
	struct pe_section sections[PE_SECTIONS]; /* in the order of their table */
	/* The rest is pe.c's own. */
	unsigned step;
	unsigned sections_left;
	uint64_t position; /* of the next byte */
	uint64_t wanted;   /* the first byte that the step wants... */
	unsigned wanted_size;
	unsigned have; /* ...and how many of these are in gathered */
	uint32_t optional_size;
	uint32_t entry_address;
	uint32_t header_size;
	uint32_t section_alignment;
	uint32_t file_alignment;
	uint8_t first[64]; /* of the file: headers may lie in the one of DOS */
	uint8_t gathered[64];
};

void pe_begin(struct pe *ret_pe);
/* The bytes behind those of the last call. Returns .state; what is behind PE_MORE is ignored. */
enum pe_state pe_push(struct pe *pe, const uint8_t *bytes, size_t size);

#ifdef __cplusplus
}
#endif
