/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/vba.h"

#include "lib/content/little.h"
#include "lib/format/ascii.h"

#include <string.h>

/* ---- compression: 1 signature; chunks of a header and of groups of a byte and eight tokens ---- */

#define CONTAINER_SIGNATURE 1
#define CHUNK_SIGNATURE	    3
#define IS_COMPRESSED	    0x8000u

struct chunk {
	size_t size;
	uint8_t bytes[VBA_CHUNK_SIZE];
};

/* How many bits of a token are the offset's: as many as it needs here, and 4. */
static unsigned offset_bits(size_t done)
{
	unsigned bits = 4;
	while (bits < 12 && (size_t)1 << bits < done)
		bits++;
	return bits;
}

/* Bytes of the chunk, again. */
static bool copy_token(struct chunk *chunk, uint32_t token)
{
	const unsigned length_bits = 16 - offset_bits(chunk->size);
	const size_t length = (token & ((1u << length_bits) - 1)) + 3;
	const size_t offset = (token >> length_bits) + 1;
	if (offset > chunk->size || length > VBA_CHUNK_SIZE - chunk->size)
		return false;
	for (size_t i = 0; i < length; i++, chunk->size++)
		chunk->bytes[chunk->size] = chunk->bytes[chunk->size - offset];
	return true;
}

static bool read_tokens(const uint8_t *bytes, size_t size, struct chunk *chunk)
{
	size_t at = 0;
	while (at < size) {
		const unsigned flags = bytes[at++];
		for (unsigned i = 0; i < 8 && at < size; i++) {
			const bool is_copy = (flags >> i & 1) != 0;
			if (!is_copy && chunk->size == VBA_CHUNK_SIZE)
				return false;
			if (!is_copy) {
				chunk->bytes[chunk->size++] = bytes[at++];
				continue;
			}
			if (size - at < 2 || !copy_token(chunk, little_get16(bytes + at)))
				return false;
			at += 2;
		}
	}
	return true;
}

static bool read_chunk(const uint8_t *bytes, size_t size, uint32_t header, struct chunk *chunk)
{
	chunk->size = 0;
	if ((header & IS_COMPRESSED) != 0)
		return read_tokens(bytes, size, chunk);
	chunk->size = size < VBA_CHUNK_SIZE ? size : VBA_CHUNK_SIZE;
	memcpy(chunk->bytes, bytes, chunk->size);
	return true;
}

bool vba_decompress(const uint8_t *bytes, size_t size, vba_take_fn *take, void *context)
{
	struct chunk chunk = { 0 };
	bool is_whole = size > 0 && bytes[0] == CONTAINER_SIGNATURE;
	size_t at = 1;
	while (is_whole && size - at >= 2) {
		const uint32_t header = little_get16(bytes + at);
		if ((header >> 12 & 7) != CHUNK_SIGNATURE)
			return false;
		const size_t said = (header & 0xfff) + 1; /* without the header */
		const size_t there = size - at - 2;
		is_whole =
			read_chunk(bytes + at + 2, said < there ? said : there, header, &chunk) &&
			said <= there;
		if (chunk.size > 0 && !take(context, chunk.bytes, chunk.size))
			return true;
		at += 2 + (said < there ? said : there);
	}
	return is_whole;
}

/* ---- the records of "dir": 2 id, 4 size, its bytes ---- */

#define RECORD_VERSION		   0x09
#define RECORD_STREAM_NAME_UNICODE 0x32
#define RECORD_OFFSET		   0x31
#define VERSION_SIZE		   6 /* whatever its record says */

static bool is_same_name(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	size_t i = 0;
	while (i < a_size && i < b_size && ascii_lower(a[i]) == ascii_lower(b[i]))
		i++;
	return i == a_size && i == b_size;
}

bool vba_find_offset(const uint8_t *dir, size_t dir_size, const uint8_t *name, size_t name_size,
		     uint32_t *ret_offset)
{
	bool is_its = false;
	size_t at = 0;
	while (dir_size - at >= 6) {
		const uint32_t id = little_get16(dir + at);
		const uint32_t size =
			id == RECORD_VERSION ? VERSION_SIZE : little_get32(dir + at + 2);
		at += 6;
		if (size > dir_size - at)
			return false;
		if (id == RECORD_STREAM_NAME_UNICODE)
			is_its = is_same_name(dir + at, size, name, name_size);
		if (id == RECORD_OFFSET && size >= 4 && is_its) {
			*ret_offset = little_get32(dir + at);
			return true;
		}
		at += size;
	}
	return false;
}

/* The signature, a chunk's header, flags of eight bytes as they are, and these. */
bool vba_guess_offset(const uint8_t *stream, size_t size, uint32_t *ret_offset)
{
	static const uint8_t beginning[] = { 0, 'A', 't', 't', 'r', 'i', 'b', 'u', 't' };
	const uint8_t *at = stream;
	while (size > 0 && (at = memmem(at, size - (size_t)(at - stream), beginning,
					sizeof(beginning))) != NULL) {
		const size_t before = (size_t)(at - stream);
		if (before >= 3 && at[-3] == CONTAINER_SIGNATURE) {
			*ret_offset = (uint32_t)(before - 3);
			return true;
		}
		at++;
	}
	return false;
}
