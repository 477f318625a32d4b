/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * vba.h - macros of Visual Basic as Office keeps them, compressed (MS-OVBA 2.3.4 and 2.4.1).
 *
 * Flow: unpack_ole.c: the stream "dir" of a storage "VBA" -> vba_decompress() -> vba_find_offset(),
 *       for each other stream of the storage -> vba_decompress() of what is from there on.
 *
 *     if (vba_find_offset(dir, dir_size, name, name_size, &offset))
 *             vba_decompress(stream + offset, stream_size - offset, take, context);
 *
 * A piece is at most VBA_CHUNK_SIZE bytes, and refers to none before it. No function here keeps a
 * pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBA_CHUNK_SIZE 4096

/* false: no more is wanted. */
typedef bool vba_take_fn(void *context, const uint8_t *bytes, size_t size);

/* false: it is damaged. What was before that has been given. */
bool vba_decompress(const uint8_t *bytes, size_t size, vba_take_fn *take, void *context);

/* Where the text of the module begins in the stream of this name, UTF-16. dir is decompressed. */
bool vba_find_offset(const uint8_t *dir, size_t dir_size, const uint8_t *name, size_t name_size,
		     uint32_t *ret_offset);
/*
 * The same by what each text begins with, "Attribute", for a stream that dir does not have. false:
 * it has none.
 */
bool vba_guess_offset(const uint8_t *stream, size_t size, uint32_t *ret_offset);

#ifdef __cplusplus
}
#endif
