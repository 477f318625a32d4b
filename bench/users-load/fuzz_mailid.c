/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Bytes that a server says are a header: a Message-ID of the load is found in them only when they
 * have its text.
 */

#include "bench/users-load/mailplan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t run;
	uint64_t number;
	char id[64];
	if (!mailplan_find_id((const char *)data, size, &run, &number))
		return 0;
	snprintf(id, sizeof(id), "<users-load.%016" PRIx64 ".%016" PRIx64 "@", run, number);
	if (memmem(data, size, id, strlen(id)) == NULL)
		abort();
	return 0;
}
