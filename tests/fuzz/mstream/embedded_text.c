/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any text: the files in it, in its addresses, elements, lines and strings are the same in one piece and in pieces.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what the sizes of pieces are made of
 *        1      .   the text
 */

#include "lib/mstream/addresses.h"
#include "lib/mstream/embedded.h"
#include "lib/mstream/inlined.h"
#include "lib/mstream/quoted.h"

#include <string.h>

#include "tests/fuzz/mstream/filelog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void push(void *state, const uint8_t *bytes, size_t size, struct filelog *log)
{
	embedded_push(state, bytes, size, &filelog_files, log);
}

static void push_addresses(void *state, const uint8_t *bytes, size_t size, struct filelog *log)
{
	addresses_push(state, bytes, size, &filelog_files, log);
}

static void compare_addresses(const uint8_t *data, size_t size)
{
	struct addresses addresses;
	struct filelog whole = { 0 };
	struct filelog pieces = { 0 };
	addresses_begin(&addresses);
	addresses_push(&addresses, data + 1, size - 1, &filelog_files, &whole);
	addresses_end(&addresses, data[0] % 2 == 0, &filelog_files, &whole);
	addresses_begin(&addresses);
	filelog_pieces(data + 1, size - 1, data[0], push_addresses, &addresses, &pieces);
	addresses_end(&addresses, data[0] % 2 == 0, &filelog_files, &pieces);
	filelog_compare(&whole, &pieces, "addresses");
}

static void push_inlined(void *state, const uint8_t *bytes, size_t size, struct filelog *log)
{
	inlined_push(state, bytes, size, &filelog_files, log);
}

static void compare_inlined(const uint8_t *data, size_t size)
{
	struct inlined inlined;
	struct filelog whole = { 0 };
	struct filelog pieces = { 0 };
	inlined_begin(&inlined);
	inlined_push(&inlined, data + 1, size - 1, &filelog_files, &whole);
	inlined_end(&inlined, data[0] % 2 == 0, &filelog_files, &whole);
	inlined_begin(&inlined);
	filelog_pieces(data + 1, size - 1, data[0], push_inlined, &inlined, &pieces);
	inlined_end(&inlined, data[0] % 2 == 0, &filelog_files, &pieces);
	filelog_compare(&whole, &pieces, "inlined");
}

static void push_quoted(void *state, const uint8_t *bytes, size_t size, struct filelog *log)
{
	quoted_push(state, bytes, size, &filelog_files, log);
}

static void compare_quoted(const uint8_t *data, size_t size)
{
	struct quoted quoted;
	struct filelog whole = { 0 };
	struct filelog pieces = { 0 };
	quoted_begin(&quoted);
	quoted_push(&quoted, data + 1, size - 1, &filelog_files, &whole);
	quoted_end(&quoted, data[0] % 2 == 0, &filelog_files, &whole);
	quoted_begin(&quoted);
	filelog_pieces(data + 1, size - 1, data[0], push_quoted, &quoted, &pieces);
	quoted_end(&quoted, data[0] % 2 == 0, &filelog_files, &pieces);
	filelog_compare(&whole, &pieces, "quoted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct embedded embedded;
	struct filelog whole = { 0 };
	struct filelog pieces = { 0 };
	if (size < 1)
		return 0;
	embedded_begin(&embedded);
	if (size > 1)
		push(&embedded, data + 1, size - 1, &whole);
	embedded_end(&embedded, data[0] % 2 == 0, &filelog_files, &whole);
	embedded_begin(&embedded);
	filelog_pieces(data + 1, size - 1, data[0], push, &embedded, &pieces);
	embedded_end(&embedded, data[0] % 2 == 0, &filelog_files, &pieces);
	filelog_compare(&whole, &pieces, "embedded_text");
	compare_addresses(data, size);
	compare_inlined(data, size);
	compare_quoted(data, size);
	return 0;
}
