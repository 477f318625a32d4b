/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_rows.h"

#define ROW_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct unpack_row rows[] = {
	{ .kind = CONTENT_GZIP,
	  .name = "gzip",
	  .place = UNPACK_HERE,
	  .memory = UNPACK_HERE_MEMORY,
	  .state_size = UNPACK_HERE_STATE,
	  .begin = unpack_gzip_begin,
	  .push = unpack_zlib_push,
	  .end = unpack_zlib_end },
	{ .kind = CONTENT_ZLIB,
	  .name = "zlib",
	  .place = UNPACK_HERE,
	  .memory = UNPACK_HERE_MEMORY,
	  .state_size = UNPACK_HERE_STATE,
	  .begin = unpack_zlib_begin,
	  .push = unpack_zlib_push,
	  .end = unpack_zlib_end },
	{ .kind = CONTENT_ZIP,
	  .name = "zip",
	  .place = UNPACK_HERE,
	  .memory = UNPACK_HERE_MEMORY,
	  .state_size = UNPACK_HERE_STATE,
	  .begin = unpack_zip_begin,
	  .push = unpack_zip_push,
	  .end = unpack_zip_end },
};

const struct unpack_row *unpack_row_of(enum content_kind kind)
{
	for (size_t i = 0; i < ROW_COUNT(rows); i++)
		if (rows[i].kind == kind)
			return &rows[i];
	return NULL;
}
