/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes as a compound file: streams, macros, files in it and what Excel opens by its own password, within limits.
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
	unpacked_compare(CONTENT_OLE, data[0], data[1], data + 2, size - 2);
	return 0;
}
