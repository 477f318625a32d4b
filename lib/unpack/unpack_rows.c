/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_rows.h"

#define ROW_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* begun: the format whose begin() it has. */
#define BEGUN(kind_, begun, format)                                                                \
	{                                                                                          \
		.kind = kind_, .place = UNPACK_HERE, .state_size = UNPACK_HERE_STATE,              \
		.begin = unpack_##begun##_begin, .push = unpack_##format##_push,                   \
		.end = unpack_##format##_end                                                       \
	}
#define HERE(kind_, format) BEGUN(kind_, format, format)
#define SMALL(kind_, format)                                                                       \
	{                                                                                          \
		.kind = kind_, .place = UNPACK_HERE, .state_size = UNPACK_SMALL_STATE,             \
		.push = unpack_##format##_push, .end = unpack_##format##_end                       \
	}

/* On a fiber, as bytes flow. */
#define STREAMED(kind_, format)                                                                    \
	{                                                                                          \
		.kind = kind_, .place = UNPACK_APART, .state_size = UNPACK_FEED_STATE,             \
		.begin = unpack_##format##_begin, .push = unpack_feed_push, .end = unpack_feed_end \
	}

/* At the end. */
#define SPOOLED(kind_, format)                                                                     \
	{                                                                                          \
		.kind = kind_, .place = UNPACK_APART, .opened = unpack_##format##_opened           \
	}

static const struct unpack_row rows[] = {
	BEGUN(CONTENT_GZIP, gzip, zlib),
	HERE(CONTENT_ZLIB, zlib),
	HERE(CONTENT_ZIP, zip),
	SMALL(CONTENT_RTF, rtf),
	HERE(CONTENT_PDF, pdf),
	HERE(CONTENT_LZFU, lzfu),
	SMALL(CONTENT_CMS, cms),
	SMALL(CONTENT_ONENOTE, onenote),
	BEGUN(CONTENT_MSO, mso, zlib),
	STREAMED(CONTENT_BZIP2, streams),
	STREAMED(CONTENT_XZ, streams),
	STREAMED(CONTENT_LZMA, streams),
	STREAMED(CONTENT_LZIP, streams),
	STREAMED(CONTENT_ZSTD, archive),
	STREAMED(CONTENT_COMPRESS, archive),
	STREAMED(CONTENT_LZ4, archive),
	STREAMED(CONTENT_LZOP, archive),
	STREAMED(CONTENT_TAR, archive),
	STREAMED(CONTENT_CPIO, archive),
	STREAMED(CONTENT_AR, archive),
	STREAMED(CONTENT_CAB, archive),
	STREAMED(CONTENT_LHA, archive),
	STREAMED(CONTENT_ARJ, arj),
	STREAMED(CONTENT_RAR, archive),
	SPOOLED(CONTENT_7Z, archive),
	SPOOLED(CONTENT_ISO9660, archive),
	SPOOLED(CONTENT_XAR, archive),
	SPOOLED(CONTENT_OLE, ole),
	SPOOLED(CONTENT_CHM, chm),
	{ .kind = CONTENT_PDF_SEALED,
	  .place = UNPACK_APART,
	  .state_size = UNPACK_HERE_STATE,
	  .push = unpack_sealed_push,
	  .end = unpack_sealed_end },
};

const struct unpack_row *unpack_find(enum content_kind kind)
{
	for (size_t i = 0; i < ROW_COUNT(rows); i++)
		if (rows[i].kind == kind)
			return &rows[i];
	return NULL;
}
