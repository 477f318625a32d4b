/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes for gzip, with bit 7 of the limits zlib, or with bit 6 ActiveMime: what comes out of it does not depend
 * on how it is cut.
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
	const enum content_kind kind = (data[1] & 0x80) != 0   ? CONTENT_ZLIB
				       : (data[1] & 0x40) != 0 ? CONTENT_MSO
							       : CONTENT_GZIP;
	unpacked_compare(kind, data[0], data[1], data + 2, size - 2);
	return 0;
}
