/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a stranger sends after STARTTLS: in one piece, and byte by byte, it is refused or not, and
 * what is remembered of it is the same. A message that is believed has at most the size that is
 * allowed.
 */

#include "integration/mail/base/tls/hello.h"

#include <string.h>

#include "tests/fuzz/require.h"

#define SIZE_MAX_ALLOWED 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello whole;
	struct hello pieces;
	memset(&whole, 0, sizeof(whole));
	memset(&pieces, 0, sizeof(pieces));
	bool is_taken = hello_take(&whole, data, size, SIZE_MAX_ALLOWED);
	bool is_taken_too = true;
	for (size_t i = 0; i < size && is_taken_too; i++) {
		is_taken_too = hello_take(&pieces, data + i, 1, SIZE_MAX_ALLOWED);
		require(!is_taken_too || pieces.message_left <= SIZE_MAX_ALLOWED,
			"a message is larger than allowed");
	}
	require(is_taken == is_taken_too, "pieces make a difference");
	if (is_taken) {
		require(whole.is_done == pieces.is_done &&
				whole.record_left == pieces.record_left &&
				whole.message_left == pieces.message_left,
			"pieces are remembered otherwise");
	}
	return 0;
}
