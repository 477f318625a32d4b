/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_name.h - names of members, fit to be shown.
 *
 * Flow: a name as an archive has it -> unpack_name() -> the begin event of unpack.h.
 *
 *     unpack_name(raw, raw_size, UNPACK_NAME_CP437, name);
 *
 * What comes out is UTF-8 without controls, and without the characters that turn the direction of
 * what stands beside them: these are '?'. It is no path to be opened.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/unpack/unpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a name that is no UTF-8 is taken for. */
enum unpack_charset { UNPACK_NAME_LATIN1, UNPACK_NAME_CP437 };

/* A NUL ends it. ret_name has UNPACK_NAME_SIZE bytes; what is too long ends with a whole character. */
void unpack_name(const uint8_t *bytes, size_t size, enum unpack_charset charset, char *ret_name);

#ifdef __cplusplus
}
#endif
