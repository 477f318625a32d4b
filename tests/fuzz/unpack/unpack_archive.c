/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes for the formats of libarchive: what comes out does not depend on how they are cut.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of the cuts
 *        1      1   limits, as in unpack_zip.c
 *        2      1   the kind, from CONTENT_BZIP2 on
 *        3      .   the object
 */

#include "tests/fuzz/unpack/unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	const unsigned kind = CONTENT_BZIP2 + data[2] % (CONTENT_KIND_COUNT - CONTENT_BZIP2);
	const struct unpack_row *row = unpack_find(kind);
	if (row == NULL || unpack_place(row) != UNPACK_APART)
		return 0;
	unpacked_compare(kind, data[0], data[1], data + 3, size - 3);
	return 0;
}
