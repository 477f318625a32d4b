/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_zstd.h"

#include "lib/content/little.h"
#include "lib/unpack/apart/unpack_feed.h"

#define FRAME	    0xfd2fb528
#define SKIPPED	    0x184d2a5 /* and any four bits */
#define BLOCK_RLE   1
#define SUM_SIZE    4
#define MAGIC_SIZE  4
#define BLOCK_SIZE  3
#define SIZE_SHIFT  3
#define FLAG_SUM    0x04
#define FLAG_SINGLE 0x20

static bool has_more(struct unpack_zstd *zstd, struct unpack *unpack)
{
	if (zstd->left == 0)
		zstd->left = unpack_feed_next(unpack, &zstd->at);
	return zstd->left > 0;
}

/* So many bytes of a header, or as many as there are: then false. */
static bool gather(struct unpack_zstd *zstd, struct unpack *unpack, size_t size)
{
	while (zstd->head_size < size && has_more(zstd, unpack)) {
		zstd->head[zstd->head_size++] = *zstd->at++;
		zstd->left--;
	}
	return zstd->head_size == size;
}

static void read_block(struct unpack_zstd *zstd, struct unpack *unpack)
{
	if (!gather(zstd, unpack, BLOCK_SIZE))
		return;
	const uint32_t block =
		zstd->head[0] | (uint32_t)zstd->head[1] << 8 | (uint32_t)zstd->head[2] << 16;
	const bool is_last = (block & 1) != 0;
	zstd->pass = (block >> 1 & 3) == BLOCK_RLE ? 1 : block >> SIZE_SHIFT;
	zstd->pass += is_last && zstd->has_sum ? SUM_SIZE : 0;
	zstd->is_in_frame = !is_last;
}

static void read_frame(struct unpack_zstd *zstd, struct unpack *unpack)
{
	static const uint8_t dictionary_sizes[4] = { 0, 1, 2, 4 };
	static const uint8_t sizes[4] = { 0, 2, 4, 8 };
	if (!gather(zstd, unpack, MAGIC_SIZE + 1))
		return;
	const uint8_t flags = zstd->head[MAGIC_SIZE];
	const bool is_single = (flags & FLAG_SINGLE) != 0;
	const size_t size = sizes[flags >> 6];
	zstd->has_sum = (flags & FLAG_SUM) != 0;
	zstd->is_in_frame = true;
	gather(zstd, unpack,
	       MAGIC_SIZE + 1 + (is_single ? (size == 0) : 1U) + dictionary_sizes[flags & 3] +
		       size);
}

static void read_magic(struct unpack_zstd *zstd, struct unpack *unpack)
{
	const bool is_there = gather(zstd, unpack, MAGIC_SIZE);
	const uint32_t magic = is_there ? little_get32(zstd->head) : 0;
	if (magic == FRAME) {
		read_frame(zstd, unpack);
	} else if (magic >> 4 == SKIPPED) {
		if (gather(zstd, unpack, MAGIC_SIZE + 4))
			zstd->pass = little_get32(zstd->head + MAGIC_SIZE);
	} else {
		if (zstd->head_size > 0 && zstd->is_begun)
			unpack_tell_of(unpack, UNPACK_DAMAGED, "");
		zstd->head_size = 0;
		zstd->is_over = true;
	}
	zstd->is_begun = true;
}

size_t unpack_zstd_next(struct unpack_zstd *zstd, struct unpack *unpack, const uint8_t **ret_bytes)
{
	if (zstd->is_over)
		return 0;
	if (zstd->pass > 0 && has_more(zstd, unpack)) {
		const size_t some = zstd->pass < zstd->left ? (size_t)zstd->pass : zstd->left;
		*ret_bytes = zstd->at;
		zstd->at += some;
		zstd->left -= some;
		zstd->pass -= some;
		return some;
	}
	zstd->head_size = 0;
	if (zstd->is_in_frame)
		read_block(zstd, unpack);
	else
		read_magic(zstd, unpack);
	*ret_bytes = zstd->head;
	return zstd->head_size;
}
