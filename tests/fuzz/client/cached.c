/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Any packet of a client: what the daemon takes is what cached.h writes, byte for byte. */

#include "client-lib/shared/cached.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cached_request request;
	uint8_t bytes[CACHED_REQUEST_MAX];
	if (cached_decode_request(data, size, &request) != 0)
		return 0;
	if (request.zone_size < 1 || request.zone_size > CACHED_ZONE_MAX ||
	    request.timeout_ms < 1 || request.timeout_ms > CACHED_TIMEOUT_MAX)
		abort();
	int written = cached_encode_request(&request, bytes);
	if (written < 0 || (size_t)written != size || memcmp(bytes, data, size) != 0)
		abort();
	return 0;
}
