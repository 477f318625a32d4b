/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * selfpack.h - the archive behind a program of Windows, which unpacks itself, or behind anything else.
 *
 * Flow: object.c: the bytes of an object that is no archive -> selfpack_push(): behind the sections
 *       that a program's headers name, or from the begin on, an archive's first bytes are looked for
 *       -> how many bytes of the piece the archive has.
 *
 *     selfpack_begin(&selfpack, is_program);
 *     if (selfpack_push(&selfpack, bytes, size, &tail))
 *             ...                   // tail.mark, and then the last tail.size bytes
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

#ifdef __cplusplus
extern "C" {
#endif

#define SELFPACK_SEARCHED  65536     /* behind sections... */
#define SELFPACK_ANY	   (2 << 20) /* ...and of what has none */
#define SELFPACK_MARK_SIZE 8

struct selfpack {
	struct pe pe;
	uint64_t offset; /* of the next byte */
	uint64_t end;	 /* of the sections, when these are known: where the search begins... */
	uint64_t most;	 /* ...and of how many bytes it is */
	size_t kept_size;
	uint8_t kept[SELFPACK_MARK_SIZE]; /* the bytes before, which may be a mark's first */
};

struct selfpack_tail {
	enum content_kind kind;
	const char *mark; /* the archive's first bytes... */
	size_t mark_size;
	size_t size; /* ...and how many of this piece follow them */
};

/* is_program: it begins as one of Windows. */
void selfpack_begin(struct selfpack *ret_selfpack, bool is_program);
/* Is there an archive? Then nothing more is to be pushed. */
bool selfpack_push(struct selfpack *selfpack, const uint8_t *bytes, size_t size,
		   struct selfpack_tail *ret_tail);

#ifdef __cplusplus
}
#endif
