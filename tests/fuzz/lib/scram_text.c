/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Any word for the keys of SCRAM: what is taken is written again as it came. */

#include "lib/pop3/scram_text.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scram_keys keys;
	char again[SCRAM_TEXT_SIZE];
	const char *reason = scram_text_parse((const char *)data, size, &keys);
	if (reason != NULL) {
		require(reason[0] != '\0', "a refusal has its reason");
		return 0;
	}
	require(!keys.is_mock, "keys of a user are no mock");
	require(scram_text_print(&keys, again) == size && memcmp(again, data, size) == 0,
		"keys have one spelling");
	return 0;
}
