/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes: the files that TNEF has in them are the same in one piece and in pieces.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what the sizes of pieces are made of
 *        1      .   the text
 */

#include "lib/mstream/tnef.h"

#include <string.h>

#include "tests/fuzz/mstream/filelog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void push(void *state, const uint8_t *bytes, size_t size, struct filelog *log)
{
	tnef_push(state, bytes, size, &filelog_files, log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tnef tnef;
	struct filelog whole = { 0 };
	struct filelog pieces = { 0 };
	if (size < 1)
		return 0;
	tnef_begin(&tnef);
	if (size > 1)
		push(&tnef, data + 1, size - 1, &whole);
	tnef_end(&tnef, data[0] % 2 == 0, &filelog_files, &whole);
	tnef_begin(&tnef);
	filelog_pieces(data + 1, size - 1, data[0], push, &tnef, &pieces);
	tnef_end(&tnef, data[0] % 2 == 0, &filelog_files, &pieces);
	filelog_compare(&whole, &pieces, "tnef");
	return 0;
}
