/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes for gzip or, with bit 7 of the limits, zlib: what comes out of it does not depend on how it is cut.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of the cuts
 *        1      1   small limits: bit 0 total, 1 ratio, 2 members; bit 3: it was cut elsewhere
 *        2      .   the object
 */

#include "tests/fuzz/unpack/unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	unpacked_compare((data[1] & 0x80) != 0 ? CONTENT_ZLIB : CONTENT_GZIP, data[0], data[1],
			 data + 2, size - 2);
	return 0;
}
