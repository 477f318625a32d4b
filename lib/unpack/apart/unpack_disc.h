/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_disc.h - which files of an image of a disc have been read.
 *
 * Flow: unpack_archive.c reads the trees of a disc one after another -> unpack_disc_has() tells what an earlier
 *       one has given.
 *
 *     if (unpack_disc_begin(&disc, bytes, size)) {
 *             is_known = unpack_disc_has(&disc, first_bytes, file_size);
 *             unpack_disc_end(&disc);
 *     }
 *
 * A disc of ISO 9660 (ECMA-119) may have its files in three trees, its own, that of Joliet and, by Rock Ridge, its own
 * under other names, and a file may be in one of them alone. Files are the same when they have the same
 * size and begin in the same sector.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct unpack_disc {
	const uint8_t *bytes;
	size_t size;
	uint64_t *sizes; /* of the file that begins in a sector, which is never empty; 0: none */
	bool is_again;	 /* a tree has been read, with all its files of no bytes */
	bool has_udf;	 /* files of ECMA-167, which nothing here reads, besides */
};

/* bytes are borrowed until unpack_disc_end(). false: there is no memory. */
bool unpack_disc_begin(struct unpack_disc *ret_disc, const uint8_t *bytes, size_t size);
/* Has a file of that size begun there already? If not, it has from now on. What first is not of the image is new. */
bool unpack_disc_has(struct unpack_disc *disc, const uint8_t *first, int64_t file_size);
void unpack_disc_end(struct unpack_disc *disc);

#ifdef __cplusplus
}
#endif
