/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_disc.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR_SIZE	 2048
#define DESCRIPTORS_AT	 16 /* sectors */
#define DESCRIPTORS_MAX	 64 /* that are looked at: those of UDF are behind those of ISO 9660 */
#define DESCRIPTOR_ID_AT 1

/* ECMA-167, 2/9.1: the volume recognition sequence. */
static bool has_udf(const uint8_t *bytes, size_t size)
{
	for (size_t i = DESCRIPTORS_AT; i < DESCRIPTORS_AT + DESCRIPTORS_MAX; i++) {
		if ((i + 1) * SECTOR_SIZE > size)
			return false;
		const uint8_t *id = bytes + i * SECTOR_SIZE + DESCRIPTOR_ID_AT;
		if (memcmp(id, "NSR02", 5) == 0 || memcmp(id, "NSR03", 5) == 0)
			return true;
	}
	return false;
}

bool unpack_disc_begin(struct unpack_disc *ret_disc, const uint8_t *bytes, size_t size)
{
	*ret_disc = (struct unpack_disc){ .bytes = bytes, .size = size };
	ret_disc->has_udf = has_udf(bytes, size);
	ret_disc->sizes = calloc(size / SECTOR_SIZE + 1, sizeof(*ret_disc->sizes));
	return ret_disc->sizes != NULL;
}

void unpack_disc_open(struct unpack_disc *disc, int64_t file_size)
{
	disc->file_size = file_size;
	disc->first = NULL;
	disc->next = NULL;
	disc->is_straight = true;
}

/* NULL: it is not in the image. */
static uint64_t *find_size(const struct unpack_disc *disc, const uint8_t *first)
{
	const uintptr_t at = (uintptr_t)first - (uintptr_t)disc->bytes;
	return first != NULL && at < disc->size ? &disc->sizes[at / SECTOR_SIZE] : NULL;
}

bool unpack_disc_has(const struct unpack_disc *disc, const uint8_t *first)
{
	const uint64_t *size = find_size(disc, first);
	if (disc->file_size <= 0)
		return disc->is_again;
	return size != NULL && *size == (uint64_t)disc->file_size;
}

void unpack_disc_follow(struct unpack_disc *disc, const uint8_t *bytes, uint64_t size)
{
	if (size == 0)
		return;
	if (disc->first == NULL)
		disc->first = bytes;
	disc->is_straight = disc->is_straight && (disc->next == NULL || bytes == disc->next);
	disc->next = bytes + size;
}

void unpack_disc_close(struct unpack_disc *disc)
{
	uint64_t *size = find_size(disc, disc->first);
	if (size != NULL && disc->is_straight && disc->file_size > 0)
		*size = (uint64_t)disc->file_size;
}

void unpack_disc_end(struct unpack_disc *disc)
{
	free(disc->sizes);
}
