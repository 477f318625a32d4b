/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_disc.h - which files of an image of a disc have been read.
 *
 * Flow: unpack_archive.c reads the trees of a disc one after another -> unpack_disc_has() tells what an earlier
 *       one may have given: the caller sees to it that the file's bytes follow one another this time, too.
 *
 *     unpack_disc_open(&disc, file_size);
 *     if (!unpack_disc_has(&disc, bytes)) {
 *             unpack_disc_follow(&disc, bytes, size);
 *             unpack_disc_close(&disc);
 *     }
 *
 * A disc of ISO 9660 (ECMA-119) may have its files in three trees, its own, that of Joliet and, by Rock Ridge, its own
 * under other names, and a file may be in one of them alone. Two are the same when they have the same size,
 * begin in the same sector, and their bytes follow one another in the image.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack_disc {
	const uint8_t *bytes;
	size_t size;
	/* By sectors: bytes of the file that begins there, was given, and is in one run; 0: none. */
	uint64_t *sizes;
	bool is_again; /* a tree has been read, with all its files of no bytes */
	bool has_udf;  /* files of ECMA-167, which nothing here reads, besides */
	/* Of the file that is open. */
	int64_t file_size; /* bytes */
	const uint8_t *first;
	const uint8_t *next;
	bool is_straight; /* its bytes are in one run of the image, as far as they have come */
};

/* bytes are borrowed until unpack_disc_end(). false: there is no memory. */
bool unpack_disc_begin(struct unpack_disc *ret_disc, const uint8_t *bytes, size_t size);
/* A file begins, of that many bytes. */
void unpack_disc_open(struct unpack_disc *disc, int64_t file_size);
/* Has such a file begun there already? What is not of the image is new. */
bool unpack_disc_has(const struct unpack_disc *disc, const uint8_t *first);
/* The file's bytes, from the first to the last; and its end, behind which it is known. */
void unpack_disc_follow(struct unpack_disc *disc, const uint8_t *bytes, uint64_t size);
void unpack_disc_close(struct unpack_disc *disc);
void unpack_disc_end(struct unpack_disc *disc);
