/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tnef.h - attachments and bodies within winmail.dat (MS-OXTNEF).
 *
 * Flow: the decoded bytes of a part that is application/ms-tnef, in pieces of any size ->
 *       tnef_push(), attribute by attribute, and tnef_properties.h for those of MAPI -> the
 *       functions of files.h.
 *
 *     tnef_begin(&tnef);
 *     tnef_push(&tnef, bytes, size, &files, context);
 *     tnef_end(&tnef, true, &files, context);
 *
 * A file is what attAttachData has, or the property of an attachment that holds its data: of a mail
 * within the mail a TNEF again, of an object of OLE a compound file. Its name is the one that stands
 * before its bytes: the short one, mostly. Bodies are files as well: body.txt, in UTF-8 where it was UTF-16,
 * body.html, and body.rtf as it is there, compressed (MS-OXRTFCP).
 *
 * A checksum that is wrong, a property that cannot be, and bytes that are no TNEF are
 * MSTREAM_BAD_CODING, once; a length that is more than there is, MSTREAM_NO_END.
 *
 * A plain value of less than 1 KiB. No function here keeps a pointer, allocates or logs; the files
 * do not depend on where the bytes are cut.
 */

#include "lib/mstream/files.h"
#include "lib/mstream/tnef_properties.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tnef {
	/* All is tnef.c's own. */
	uint8_t step;
	uint8_t use;
	uint8_t gathered_size;
	bool has_odd;
	bool is_open;
	uint16_t sum;
	uint32_t left; /* of the attribute */
	uint8_t gathered[9];
	/* The name of the attachment that is there now, UTF-8 where it was UTF-16. */
	uint16_t name_size;
	bool is_name_over;
	/* Of UTF-16: the first half of a character, and of two bytes the first. */
	bool is_wide_half;
	uint8_t wide_low;
	uint16_t wide_high;
	char name[MSTREAM_NAME_SIZE];
	struct tnef_properties properties;
};

void tnef_begin(struct tnef *ret_tnef);
void tnef_push(struct tnef *tnef, const uint8_t *bytes, size_t size,
	       const struct mstream_files *files, void *context);
/* is_whole: the part is; otherwise a file that is open was cut with it, and that is not odd. */
void tnef_end(struct tnef *tnef, bool is_whole, const struct mstream_files *files, void *context);

#ifdef __cplusplus
}
#endif
