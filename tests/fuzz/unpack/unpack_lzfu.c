/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes as a compressed body of RTF or, with bit 7 of the limits, as a section of OneNote, or, with bit 6, as a
 * signed message, within limits.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of the cuts
 *        1      1   limits, as in unpack_zip.c
 *        2      .   the object
 */

#include "tests/fuzz/unpack/unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const enum content_kind kind = (data[1] & 0x80) != 0   ? CONTENT_ONENOTE
				       : (data[1] & 0x40) != 0 ? CONTENT_CMS
							       : CONTENT_LZFU;
	unpacked_compare(kind, data[0], data[1], data + 2, size - 2);
	return 0;
}
