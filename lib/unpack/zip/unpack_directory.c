/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/zip/unpack_directory.h"

#include <string.h>

void unpack_directory_begin(struct unpack_directory *ret_lists)
{
	memset(ret_lists, 0, sizeof(*ret_lists));
	unpack_digest_begin(&ret_lists->locals);
	unpack_digest_begin(&ret_lists->listed);
	ret_lists->start = UINT64_MAX;
	ret_lists->at = UINT64_MAX;
}

/* What stands before the archive is counted by some writers, and by some not. */
static bool is_placed(const struct unpack_directory *lists, uint64_t at, uint64_t offset)
{
	return at == offset || at - offset == lists->start;
}

/*
 * Some readers prefer an end of 64 bits wherever there is one, others only for what the old one
 * cannot say: both must find the same.
 */
static bool is_end64_right(const struct unpack_directory *lists)
{
	if (!lists->has_end64 || !lists->has_locator)
		return lists->has_end64 == lists->has_locator;
	return lists->end64_count == lists->listed.count &&
	       is_placed(lists, lists->end64_at, lists->locator_offset) &&
	       (lists->listed.count == 0 || is_placed(lists, lists->at, lists->end64_offset));
}

bool unpack_directory_is_right(const struct unpack_directory *lists, uint16_t count,
			       uint32_t offset)
{
	const bool is_count64 = lists->has_end64 && count == UINT16_MAX;
	const bool is_offset64 = lists->has_end64 && offset == UINT32_MAX;
	const uint64_t said = is_offset64 ? lists->end64_offset : offset;
	const bool is_empty = lists->listed.count == 0;
	const uint64_t base = is_empty ? 0 : lists->at - said;
	/* Of more members than it can say, a directory of 16 bits says the low ones. */
	return is_end64_right(lists) &&
	       (is_count64 || count == (lists->listed.count & UINT16_MAX)) &&
	       (is_empty || is_placed(lists, lists->at, said)) &&
	       unpack_digest_equal(&lists->locals, &lists->listed, base);
}
