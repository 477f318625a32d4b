/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_rows.h"

#include "lib/unpack/apart/unpack_windows.h"

#define ROW_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

#define HERE(kind_, name_, format)                                                                 \
	{                                                                                          \
		.kind = kind_, .name = name_, .place = UNPACK_HERE, .memory = UNPACK_HERE_MEMORY,  \
		.state_size = UNPACK_HERE_STATE, .begin = unpack_##format##_begin,                 \
		.push = unpack_##format##_push, .end = unpack_##format##_end                       \
	}

/* On a fiber, as bytes flow: libarchive's buffers, a stack, and what the format keeps. */
#define STREAMED(kind_, name_, format, kept)                                                       \
	{                                                                                          \
		.kind = kind_, .name = name_, .place = UNPACK_APART, .memory = (1 << 20) + (kept), \
		.state_size = UNPACK_FEED_STATE, .begin = unpack_##format##_begin,                 \
		.push = unpack_feed_push, .end = unpack_feed_end                                   \
	}

/* Of libarchive, at the end. */
#define SPOOLED(kind_, name_, kept)                                                                \
	{                                                                                          \
		.kind = kind_, .name = name_, .place = UNPACK_APART, .is_spooled = true,           \
		.memory = (1 << 20) + (kept), .opened = unpack_archive_opened                      \
	}

#define MIB (1 << 20)

static const struct unpack_row rows[] = {
	HERE(CONTENT_GZIP, "gzip", gzip),
	HERE(CONTENT_ZLIB, "zlib", zlib),
	HERE(CONTENT_ZIP, "zip", zip),
	HERE(CONTENT_RTF, "rtf", rtf),
	HERE(CONTENT_PDF, "pdf", pdf),
	HERE(CONTENT_LZFU, "lzfu", lzfu),
	HERE(CONTENT_CMS, "cms", cms),
	STREAMED(CONTENT_BZIP2, "bzip2", streams, 4 * MIB),
	STREAMED(CONTENT_XZ, "xz", streams, UNPACK_WINDOW_MAX),
	STREAMED(CONTENT_LZMA, "lzma", streams, UNPACK_WINDOW_MAX),
	STREAMED(CONTENT_LZIP, "lzip", streams, UNPACK_WINDOW_MAX),
	STREAMED(CONTENT_ZSTD, "zstd", archive, UNPACK_WINDOW_MAX),
	STREAMED(CONTENT_COMPRESS, "compress", archive, MIB),
	STREAMED(CONTENT_LZ4, "lz4", archive, 8 * MIB),
	STREAMED(CONTENT_LZOP, "lzop", archive, MIB),
	STREAMED(CONTENT_TAR, "tar", archive, MIB),
	STREAMED(CONTENT_CPIO, "cpio", archive, MIB),
	STREAMED(CONTENT_AR, "ar", archive, MIB),
	STREAMED(CONTENT_CAB, "cab", archive, 4 * MIB),
	STREAMED(CONTENT_LHA, "lha", archive, MIB),
	STREAMED(CONTENT_ARJ, "arj", arj, 0),
	STREAMED(CONTENT_RAR, "rar", archive, UNPACK_WINDOW_MAX + 8 * MIB),
	SPOOLED(CONTENT_7Z, "7z", UNPACK_WINDOW_MAX + 4 * MIB),
	SPOOLED(CONTENT_ISO9660, "iso9660", 4 * MIB),
	SPOOLED(CONTENT_XAR, "xar", UNPACK_WINDOW_MAX),
	{ .kind = CONTENT_OLE,
	  .name = "ole",
	  .place = UNPACK_APART,
	  .is_spooled = true,
	  .memory = UNPACK_OLE_MEMORY,
	  .opened = unpack_ole_opened },
};

const struct unpack_row *unpack_find(enum content_kind kind)
{
	for (size_t i = 0; i < ROW_COUNT(rows); i++)
		if (rows[i].kind == kind)
			return &rows[i];
	return NULL;
}
