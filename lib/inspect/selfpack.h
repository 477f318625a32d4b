/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * selfpack.h - archives and documents behind a program of Windows, which unpacks itself, or behind anything else.
 *
 * Flow: object.c: the bytes of an object -> selfpack_push(): from the begin on, and anew behind the
 *       sections that a program's headers name, the first bytes of archives are looked for -> which
 *       there are, and how many bytes of the piece each has.
 *
 *     selfpack_begin(&selfpack, kind);
 *     count = selfpack_push(&selfpack, bytes, size, found);
 *             ...                   // found[0].before, and then the last found[0].size bytes
 *
 * Of each mark the first is found that has a right header behind it, so that none hides one behind it.
 *
 * Only so many bytes are searched: what unpacks itself has at most some settings before its archive,
 * and unrar opens no file with more before the mark than a program of its own may have. Pure, but for
 * the value; the result does not depend on where the bytes are cut.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/content/kind.h"
#include "lib/content/pe.h"

#define SELFPACK_SEARCHED  65536     /* behind sections... */
#define SELFPACK_ANY	   (2 << 20) /* ...and of any file */
#define SELFPACK_HEAD_SIZE 32	     /* as much as is looked at to know an archive */
#define SELFPACK_MARKS	   8
#define SELFPACK_FOUND	   (2 * SELFPACK_MARKS) /* of one object */

struct selfpack {
	struct pe pe;
	uint64_t offset; /* of the next byte */
	uint64_t begin;	 /* where the search begins... */
	uint64_t end; /* ...and where it does anew: the end of the sections, when these are known */
	unsigned found; /* bits of the marks */
	size_t kept_size;
	uint8_t kept[SELFPACK_HEAD_SIZE - 1]; /* the bytes before, in which a mark may have begun */
};

struct selfpack_found {
	enum content_kind kind;
	/* The archive's bytes that were in pieces before, and how many of this piece follow them. */
	size_t before_size;
	uint8_t before[SELFPACK_HEAD_SIZE - 1];
	size_t size;
};

/* kind: of the object, whose own mark is not one of those that are looked for. */
void selfpack_begin(struct selfpack *ret_selfpack, enum content_kind kind);
/* How many archives begin now. ret_found has SELFPACK_FOUND. */
unsigned selfpack_push(struct selfpack *selfpack, const uint8_t *bytes, size_t size,
		       struct selfpack_found *ret_found);
