/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The bytes of a mail, in one piece and in pieces: the same Message-ID is found, it is one line of
 * limited length, and there is none where no field could have that name.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      .   the mail
 */

#include "lib/smtp/messageid.h"

#include <string.h>
#include <strings.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_name(const uint8_t *mail, size_t size)
{
	static const char name[] = "message-id";
	for (size_t i = 0; i + sizeof(name) - 1 <= size; i++) {
		if (strncasecmp((const char *)mail + i, name, sizeof(name) - 1) == 0)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct messageid whole;
	struct messageid pieces;
	if (size < 1)
		return 0;
	const uint8_t *mail = data + 1;
	const size_t piece = data[0] + 1U;
	size--;
	messageid_init(&whole);
	messageid_take(&whole, mail, size);
	messageid_init(&pieces);
	for (size_t at = 0; at < size; at += piece)
		messageid_take(&pieces, mail + at, size - at < piece ? size - at : piece);
	require(memcmp(whole.text, pieces.text, sizeof(whole.text)) == 0, "pieces do not matter");
	require(memchr(whole.text, '\0', sizeof(whole.text)) != NULL, "it ends");
	require(strpbrk(whole.text, "\r\n\t") == NULL, "it is one line");
	require(whole.text[0] == '\0' || has_name(mail, size), "a field has that name");
	return 0;
}
